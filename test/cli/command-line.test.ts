/** What every command has in common: files, help, wrong arguments, exit codes, closed pipes. Each command runs once as a process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import type { Test } from 'tap'
import { STEPS } from '#call/steps.js'
import { COMMANDS } from '#cli/commands.js'
import { commandLine } from '../helpers/command-line.js'
import type { Ran } from '../helpers/command-line.js'
import { rpc, until } from '../helpers/http.js'
import { MAIN } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'

const run = (cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> => commandLine(args, { cwd, env })

async function asProcess (cwd: string, args: readonly string[]): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => { out += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { err += chunk.toString() })
  const [code] = await once(child, 'close') as [number]
  return { code, out, err }
}

const GOOD = 'version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}}]\n'
const BAD = 'version: 2\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}}]\n'

t.test('the configuration: an argument, a flag, the environment, ./gateway.yaml', async t => {
  const directory = t.testdir({ 'gateway.yaml': GOOD, 'other.yaml': GOOD, 'bad.yaml': BAD, empty: {} })
  t.match(await run(directory, ['check', 'other.yaml']), { code: 0, out: /^other\.yaml: ok/, err: '' })
  t.match(await run(directory, ['check', '--config', 'other.yaml']), { code: 0, out: /^other\.yaml: ok/ })
  t.match(await run(directory, ['check'], { A2A_GATEWAY_CONFIG: 'other.yaml' }), { code: 0, out: /^other\.yaml: ok/ })
  t.match(await run(directory, ['check']), { code: 0, out: /^gateway\.yaml: ok/ })
  t.match(await run(directory, ['check', 'other.yaml'], { A2A_GATEWAY_CONFIG: 'bad.yaml' }), { code: 0, out: /^other\.yaml: ok/ })
  t.match(await run(directory, ['check'], { A2A_GATEWAY_UPSTREAM: 'http://127.0.0.1:1' }), { out: /^defaults: ok/ }, 'an agent is enough')
  t.match(await run(directory, ['check', 'bad.yaml']), { code: 1, out: /^bad\.yaml:1:10: / })
  t.match(await asProcess(directory, ['serve', 'bad.yaml']), { code: 1, err: /^bad\.yaml:1:10: / })
  t.match(await run(directory, ['check', 'none.yaml']), { code: 2, out: /^none\.yaml: / })
  t.match(await run(directory, ['check', 'other.yaml', '--config', 'bad.yaml']), {
    code: 2,
    err: 'a2a-gateway check: the configuration is named twice: other.yaml and --config bad.yaml [A2AGW_ERR_USAGE]\n'
  })
  for (const command of ['check', 'serve']) {
    t.match(await asProcess(`${directory}/empty`, [command]), { code: 2, out: '', err: /^a2a-gateway \w+: nothing to .*there is no \.\/gateway\.yaml/ })
  }
})

t.test('serve takes the file as an argument', async t => {
  const agent = await fakeAgent(t)
  const directory = t.testdir({ 'mine.yaml': GOOD.replace('http://127.0.0.1:1"}', `${agent.url}"}`) })
  const child = spawn(process.execPath, [MAIN, 'serve', 'mine.yaml'], { cwd: directory, env: { PATH: process.env.PATH } })
  t.teardown(() => { child.kill('SIGKILL') })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  await until(() => output.includes('"msg":"listening"'), 'the gateway to listen', 30_000)
  const line = output.split('\n').find(one => one.includes('"msg":"listening"')) ?? ''
  const { url } = JSON.parse(line) as { url: string }
  await until(async () => (await rpc(`${url}/rpc`)).status === 200, 'a forwarded call')

  // The reader of the log goes away. The gateway must go on.
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => { errors += chunk.toString() })
  child.stdout.destroy()
  for (let i = 0; i < 20; i++) t.equal((await rpc(`${url}/nothing-here`)).status, 404)
  t.equal((await rpc(`${url}/rpc`)).status, 200)
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
  t.equal(errors, '')
})

t.test('did you mean: commands and flags', async t => {
  const directory = t.testdir({})
  const error = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await run(directory, args)
    t.equal(code, 2, args.join(' '))
    t.equal(out, '')
    t.notMatch(err, /^ +at /m, 'no stack')
    return err
  }
  t.match(await error('chekc'), /^a2a-gateway: there is no command "chekc"; did you mean "check"\? \(a2a-gateway --help\) \[A2AGW_ERR_USAGE\]\n$/)
  t.match(await error('validate'), /did you mean "check"\?/)
  t.match(await error('dance'), /commands are serve, check, init/)
  t.match(await error('help', 'explian'), /did you mean "explain"\?/)
  t.match(await error('--config', 'x', 'serve'), /the command comes first/)
  t.match(await error('serve', '--upstraem', 'x'), /^a2a-gateway serve: there is no flag --upstraem; did you mean --upstream\? \(a2a-gateway serve --help\) \[A2AGW_ERR_USAGE\]\n$/)
  t.match(await error('explain', '--jsno', 'x'), /there is no flag --jsno; did you mean --json\?/)
  t.match(await error('check', '--zzzzzz'), /there is no flag --zzzzzz; its flags are --config, /)
  t.match(await error('serve', '--listen'), /--listen/)
  t.match(await error('init'), /URL of an agent is required/)
  t.match(await error('health', '--admin', 'nonsense::x'), /is not HOST:PORT/)
})

t.test('help COMMAND is COMMAND --help, with examples', async t => {
  const directory = t.testdir({})
  t.match(await run(directory, ['help']), { code: 0, out: (await run(directory, ['--help'])).out })
  t.match(await run(directory, ['version']), { code: 0, out: /^\d+\.\d+\.\d+\n$/ })
  for (const [command, { examples }] of Object.entries(COMMANDS)) {
    const help = await run(directory, ['help', command])
    t.match(help, { code: 0, err: '', out: `\nExamples\n  # ${examples[0]?.[1] ?? '?'}\n  ` }, command)
    t.equal((await run(directory, [command, '--help'])).out, help.out)
  }
})

t.test('explain --steps prints the list that runs', async t => {
  const directory = t.testdir({})
  const { code, out, err } = await run(directory, ['explain', '--steps'])
  t.same([code, err], [0, ''])
  const operation = out.split('\n\n').find(text => text.startsWith('operation:')) ?? ''
  t.same([...operation.matchAll(/^ +\d+ {2}(\w+) /gm)].map(([, step]) => step), STEPS.operation.map(({ name }) => name))
  const { steps } = JSON.parse((await run(directory, ['explain', '--steps', '--json'])).out) as { steps: { list: string }[] }
  t.same(steps.map(({ list }) => list), Object.keys(STEPS))
  t.match(await run(directory, ['explain', '--steps', 'x.http']), { code: 2, err: /--steps prints the steps of every call, and takes no recording/ })
})

t.test('every example uses flags that its command has', async t => {
  for (const [command, { examples, flags }] of Object.entries(COMMANDS)) {
    for (const [line] of examples) {
      t.match(line, `a2a-gateway ${command}`)
      const [, own = ''] = line.split('a2a-gateway ')
      for (const [, flag = ''] of own.matchAll(/ --([a-z]+)/g)) t.ok(Object.hasOwn(flags, flag), line)
    }
  }
})

t.test('each command as a process', async t => {
  const directory = t.testdir({ 'gateway.yaml': GOOD, 'a.test.yaml': 'tests: 1\n', 'card.json': '{}', 'x.http': 'GET /x\n' })
  const lines: ReadonlyArray<readonly string[]> = [
    [], ['--version'], ['check'], ['check', '--format', 'xml'], ['init', 'nonsense'], ['explain', '--card', 'card.json', 'x.http'], ['test', '.'],
    ['key', '--id', ''], ['schema'], ['health', '--admin', '127.0.0.1:1'], ['completion', 'fish'], ['help', 'serve'],
    ['external', 'ask', 'x.http'], ['agents', 'unlock'], ['conform', '--direct', 'nonsense']
  ]
  await Promise.all(lines.map(async args => { t.strictSame(await asProcess(directory, args), await run(directory, args), args.join(' ')) }))
  t.same(Object.keys(COMMANDS).filter(name => name !== 'serve' && !lines.some(([first]) => first === name)), [])
})

/** Runs a command whose reader closes the pipe before the command writes. */
async function withoutReader (t: Test, args: readonly string[]): Promise<{ readonly code: number | null, readonly err: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: t.testdirName, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let err = ''
  child.stderr.on('data', (chunk: Buffer) => { err += chunk.toString() })
  const [code] = await once(child, 'close') as [number | null]
  return { code, err }
}

t.test('a closed pipe is no error', async t => {
  t.testdir({ 'gateway.yaml': GOOD, 'bad.yaml': BAD })
  await Promise.all([['schema'], ['--help'], ['--version'], ['check']].map(async args => {
    t.same(await withoutReader(t, args), { code: 0, err: '' }, args.join(' '))
  }))
  t.same(await withoutReader(t, ['check', 'bad.yaml']), { code: 1, err: '' }, 'the exit code stays')
})
