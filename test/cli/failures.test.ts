/** Failures of every command: exit codes, JSON on stdout with `--json`, and messages for files of another kind. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { commandLine } from '../helpers/command-line.js'
import type { Ran } from '../helpers/command-line.js'
import { MAIN } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { one } from '../offline/kit.js'

const GOOD = 'version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}}]\n'
const BAD = 'version: 2\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}}]\n'
const CARD = '{"name": "a", "url": "http://127.0.0.1:1/", "capabilities": {}, "skills": []}'
const FILES = {
  'good.yaml': GOOD,
  'bad.yaml': BAD,
  'card.json': CARD,
  'no-card.json': '[]',
  'a.test.yaml': one('{message: {parts: [{text: hi}]}}', '{decision: reject}'),
  'fails.test.yaml': one('{message: {parts: [{text: hi}]}}', '{decision: forward}'),
  'bad.test.yaml': 'tests: 1\n',
  'call.http': 'POST http://127.0.0.1:1/\nA2A-Version: 1.0\nContent-Type: application/json\n\n{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}\n',
  'page.http': 'GET http://127.0.0.1:1/.well-known/agent-card.json\n',
  'broken.http': 'hello there\n',
  'error.json': '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x"}}',
  'taken.yaml': ''
}

/** Exit 2: the command could not be run as given. Exit 1: it was run and found a problem. */
const ROWS: ReadonlyArray<readonly [code: number, args: readonly string[], env?: NodeJS.ProcessEnv]> = [
  [2, []],
  [2, ['dance']],
  [2, ['check', '--dance']],
  [2, ['check', 'a', 'b']],
  // The configuration: check and serve.
  [0, ['check', 'good.yaml']],
  [1, ['check', 'bad.yaml']],
  [1, ['check', 'call.http']],
  [2, ['check']],
  [2, ['check', 'none.yaml']],
  [2, ['check', '.']],
  [2, ['check'], { A2A_GATEWAY_CONFIG: 'none.yaml' }],
  [2, ['check', 'good.yaml'], { A2A_GATEWAY_LISTEN: 'x' }],
  [1, ['check', 'bad.yaml'], { A2A_GATEWAY_LISTEN: 'x' }],
  [2, ['check'], { A2A_GATEWAY_UPSTREAM: 'foo' }],
  [1, ['check', 'good.yaml', '--live']],
  [2, ['check', 'good.yaml', '--format', 'xml']],
  [1, ['serve', 'bad.yaml']],
  [2, ['serve']],
  [2, ['serve', 'none.yaml']],
  [2, ['serve', '--upstream', 'foo']],
  [2, ['serve', 'good.yaml', '--listen', 'foo']],
  [2, ['serve'], { A2A_GATEWAY_UPSTREAM: 'foo' }],
  // Without a verdict, explain and test exit with 2.
  [0, ['explain', '--card', 'card.json', 'page.http']],
  [1, ['explain', '--card', 'card.json', 'call.http']],
  [1, ['explain', 'error.json']],
  [2, ['explain', '--config', 'bad.yaml', 'call.http']],
  [2, ['explain', '--config', 'none.yaml', 'call.http']],
  [2, ['explain', '--card', 'none.json', 'call.http']],
  [2, ['explain', '--card', 'no-card.json', 'call.http']],
  [2, ['explain', '--card', 'card.json', 'none.http']],
  [2, ['explain', '--card', 'card.json', 'broken.http']],
  [2, ['explain', '--card', 'card.json']],
  [0, ['test', 'a.test.yaml']],
  [1, ['test', 'fails.test.yaml']],
  [2, ['test', 'bad.test.yaml']],
  [2, ['test', 'none.test.yaml']],
  [2, ['test', '--config', 'bad.yaml', 'a.test.yaml']],
  [2, ['test', '--config', 'none.yaml', 'a.test.yaml']],
  [2, ['test', '--only', 'zzz', 'a.test.yaml']],
  [2, ['test']],
  [2, ['test', '--watch', '--json', 'a.test.yaml']],
  [2, ['test', '--watch', '--format', 'junit', 'a.test.yaml']],
  [0, ['init', '--card', 'card.json']],
  [1, ['init', '--card', 'no-card.json']],
  [1, ['init', 'http://127.0.0.1:1']],
  [1, ['init', '--card', 'card.json', '--output', 'taken.yaml']],
  [1, ['init', '--from', 'broken.http']],
  [2, ['init', '--card', 'none.json']],
  [2, ['init', '--from', 'none.har']],
  [2, ['init', 'notaurl']],
  [2, ['init']],
  [0, ['key', '--id', 'a', '--expires', '2999-01-01']],
  [2, ['key', '--id', 'a', '--expires', '2020-01-01']],
  [2, ['key', '--id', 'a', '--expires', 'soon']],
  [2, ['key']],
  [0, ['schema']],
  [2, ['schema', 'x']],
  [1, ['health', '--admin', '127.0.0.1:1']],
  [2, ['health', '--admin', 'foo']],
  [2, ['health', '--admin', 'http://127.0.0.1:1']],
  [2, ['health'], { A2A_GATEWAY_ADMIN: 'foo' }],
  [2, ['completion', 'csh']],
  [2, ['help', 'dance']]
]

t.test('exit codes', async t => {
  const cwd = t.testdir(FILES)
  const found: unknown[] = []
  for (const [, args, env] of ROWS) {
    // `serve` starts threads and signal handlers: it needs a process of its own.
    const code = args[0] === 'serve'
      ? spawnSync(process.execPath, [MAIN, ...args], { cwd, env: { PATH: process.env.PATH, ...env } }).status
      : (await commandLine(args, { cwd, env: env ?? {} })).code
    found.push([code, args, ...(env === undefined ? [] : [env])])
  }
  t.strictSame(found, ROWS)
})

interface Report {
  readonly format: number
  readonly ok: boolean
  readonly problems?: readonly { readonly severity: string, readonly file: string, readonly line: number, readonly message: string }[]
}

t.test('--json: every failure is one object on stdout', async t => {
  const cwd = t.testdir(FILES)
  const failed: string[] = []
  for (const [code, args, env] of ROWS) {
    const [command = ''] = args
    if (command === '' || command === 'serve' || args.includes('--format') || (code === 1 && command === 'test')) continue
    const ran = await commandLine([...args.filter(arg => arg !== '--json'), '--json'], { cwd, env: env ?? {} })
    if (['completion', 'help', 'dance'].includes(command)) t.equal(ran.code, 2)
    else t.equal(ran.code, code, args.join(' '))
    const value = JSON.parse(ran.out) as Report
    if (command === 'schema' && code === 0) continue
    if (value.format !== 1 || value.ok !== (ran.code === 0) || ran.err !== '') failed.push(`${args.join(' ')}: ${ran.out}${ran.err}`)
    const list = value.problems
    const explained = command === 'explain' && ran.code === 1
    const ofFiles = command === 'test' && 'files' in value
    if (value.ok || explained || ofFiles) continue
    const fine = list?.every(one => typeof one.message === 'string' && typeof one.file === 'string' && typeof one.line === 'number') ?? false
    if (!fine || list?.some(one => one.severity === 'error') !== true) failed.push(`${args.join(' ')}: ${ran.out}`)
  }
  t.same(failed, [])
  t.match(JSON.parse((await commandLine(['explain', '--card', 'card.json', 'page.http', '--json'], { cwd })).out), { ok: true })
  t.equal(JSON.parse((await commandLine(['schema', '--json'], { cwd })).out).$schema, 'https://json-schema.org/draft/2020-12/schema')
  t.match(await commandLine(['explain', '--config', 'good.yaml', 'curl', 'http://h/', '--json', '{}', '-Q', 'x'], { cwd }), { code: 2, out: '' }, "curl's own --json")
})

t.test('--format junit and github: problems of the configuration and of the command line', async t => {
  const cwd = t.testdir(FILES)
  const run = (...args: string[]): Promise<Ran> => commandLine(args, { cwd })
  t.match(await run('test', '--config', 'bad.yaml', 'a.test.yaml', '--format', 'junit'), {
    code: 2, err: '', out: /<testsuite name="bad\.yaml" tests="1" failures="0" errors="1">\n.* file="bad\.yaml" line="1">\n +<error message="version must be 1/
  })
  t.match(await run('test', '--config', 'bad.yaml', 'a.test.yaml', '--format', 'github'), { code: 2, err: '', out: /^::error file=bad\.yaml,line=1,col=10,title=A2AGW_ERR_CONFIG_VALUE::version/ })
  t.match(await run('test', '--only', 'zzz', 'a.test.yaml', '--format', 'junit'), { code: 2, out: /<error message="no test has a name that contains &quot;zzz&quot;" type="A2AGW_ERR_USAGE">/ })
  t.match(await run('test', '--only', 'zzz', 'a.test.yaml', '--format', 'github'), { code: 2, out: /^::error title=A2AGW_ERR_USAGE::command line: no test has/ })
  t.match(await run('check', '--format', 'junit'), { code: 2, err: '', out: /<failure message="nothing to check: / })
  t.match(await run('check', '--format', 'github'), { code: 2, err: '', out: /^::error title=A2AGW_ERR_USAGE::command line: nothing to check: / })
})

t.test('a file of another kind is named, with its command', async t => {
  const cwd = t.testdir(FILES)
  const run = async (...args: string[]): Promise<string> => {
    const { out, err } = await commandLine(args, { cwd })
    return out + err
  }
  t.match(await run('check', 'a.test.yaml'), /^a\.test\.yaml: this is a policy test file, not a configuration \(run it with "a2a-gateway test a\.test\.yaml"\) \[A2AGW_ERR_CONFIG_UNREADABLE\]\n$/)
  t.match(await run('check', 'call.http'), /^call\.http: this is a recording of requests, not a configuration \(explain it with/)
  t.match(await run('check', 'card.json'), /^card\.json: this is an agent card, not a configuration \(create a configuration with/)
  t.match(await run('test', 'good.yaml'), /good\.yaml: this is a configuration, not a policy test file \(check it with "a2a-gateway check good\.yaml"\)/)
  t.match(await run('test', 'call.http'), /call\.http: this is a recording of requests, not a policy test file/)
  t.match(await run('test', '--config', 'a.test.yaml', 'a.test.yaml'), /a\.test\.yaml: this is a policy test file, not a configuration/)
  t.match(await run('explain', '--card', 'card.json', 'good.yaml'), /good\.yaml: this is a configuration, not a recording of requests/)
  t.match(await run('explain', 'card.json'), /card\.json: this is an agent card, not a recording of requests \(name it with "--card card\.json"\)/)
  t.match(await run('check', 'bad.yaml'), /^bad\.yaml:1:10: version/, 'a wrong configuration is one')
  t.match(await run('test', 'bad.test.yaml'), /bad\.test\.yaml:1:8: tests must be a list/)
})

t.test('wrong arguments, in own words', async t => {
  const cwd = t.testdir(FILES)
  const rows: ReadonlyArray<readonly [args: readonly string[], message: string]> = [
    [['check', '--live=foo'], 'a2a-gateway check: the flag --live takes no value (a2a-gateway check --help) [A2AGW_ERR_USAGE]\n'],
    [['check', 'a', 'b'], 'a2a-gateway check: unexpected argument "b"; it takes one FILE (a2a-gateway check --help) [A2AGW_ERR_USAGE]\n'],
    [['completion', 'a', 'b'], 'a2a-gateway completion: unexpected argument "b"; it takes one of bash, zsh, fish (a2a-gateway completion --help) [A2AGW_ERR_USAGE]\n'],
    [['key', 'a'], 'a2a-gateway key: unexpected argument "a"; the command takes only flags (a2a-gateway key --help) [A2AGW_ERR_USAGE]\n'],
    [['serve', '--listen'], 'a2a-gateway serve: the flag --listen needs a value (a2a-gateway serve --help) [A2AGW_ERR_USAGE]\n'],
    [['-V'], 'a2a-gateway: there is no flag -V; did you mean -v? (a2a-gateway --help) [A2AGW_ERR_USAGE]\n'],
    [['health', '--admin', 'foo'], 'a2a-gateway health: "foo" is not HOST:PORT, such as 127.0.0.1:9901 [A2AGW_ERR_USAGE]\n']
  ]
  const found: unknown[] = []
  for (const [args] of rows) {
    const { out, err } = await commandLine(args, { cwd })
    found.push([args, out + err])
  }
  t.strictSame(found, rows)
  const none = await commandLine([], { cwd })
  t.match(none, { code: 2, out: '', err: /^a2a-gateway \d[^]*help COMMAND/ }, 'the usage of no command is an error')
})

t.test('explain: what the input is', async t => {
  const cwd = t.testdir(FILES)
  const explain = async (args: readonly string[], input = ''): Promise<string> => {
    const { code, out, err } = await commandLine(['explain', ...args], { cwd, input })
    t.same([code, out], [2, ''], args.join(' '))
    return err
  }
  t.match(await explain(['-'], 'HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<html>secret</html>'),
    /^a2a-gateway explain: stdin: this is a response with status 502 and a body that is not JSON, but no error of A2A \(.*a proxy in front/)
  t.match(await explain(['-'], 'HTTP/1.1 200 OK\n\n{"a": 1}'), /status 200, but no error of A2A \(explain the request, and give the response with --answer FILE\)/)
  t.match(await explain(['-'], '{"error": "invalid_token"}'), /this is an error, but not one of A2A, /)
  t.match(await explain(['-'], '{"log": {"entries": []}}'), /the HAR file has no entries/)
  t.match(await explain(['-'], ''), /stdin: there is no request in it/)
  t.match(await explain(['hello']), /hello: there is no such file \(name an \.http file, /)
  t.match(await explain(['http://127.0.0.1:1/rpc']), /this is a URL, not a recording \(write the call as a curl command: /)
})

t.test('explain curl: flags of explain behind it, and files of the body', async t => {
  const { url } = await fakeAgent(t)
  const cwd = t.testdir(FILES)
  const explain = async (args: readonly string[], input = ''): Promise<string> => (await commandLine(['explain', ...args], { cwd, input })).err
  t.match(await explain(['curl', url, '-d', '{}', '--config', 'good.yaml']),
    /--config is a flag of explain, but stands behind "curl" \(write "a2a-gateway explain --config \.\.\. curl \.\.\."\)/)
  t.match(await explain([`curl ${url} --card=card.json`]), /--card is a flag of explain/)
  t.match(await explain(['curl', url, '--dance']), /curl's flag --dance is not supported/)
  t.match(await explain(['curl', url, '--json', '@none.json']), /the file of the body, none\.json, does not exist \(its path is relative to the working directory\)/)
  t.match(await explain(['-'], `curl ${url} --json @none.json\n`), /none\.json, does not exist \(its path is relative to the working directory\)/)
})
