/** The formats for machines of `check` and `test`. */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { runCheck } from '#cli/check.js'
import { annotations } from '#cli/reports/github.js'
import { junit } from '#cli/reports/junit.js'
import { commandLine } from '../helpers/command-line.js'
import type { Ran } from '../helpers/command-line.js'
import { one, runFiles } from '../offline/kit.js'

const BAD = 'version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"}, pathh: /}\n'
const WARNS = `version: 1
agents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [p]}]
extensions:
  p: {uri: "urn:p", request: [{id: r, select: {part: {dataKey: x}}, schema: {type: object}}]}
`

async function check (t: Test, text: string, format: string): Promise<{ readonly code: number, readonly out: string }> {
  const directory = t.testdir({ 'g.yaml': text })
  let out = ''
  const code = await runCheck({ config: join(directory, 'g.yaml'), format, env: {} }, { out: part => { out += part }, err: part => { out += part } })
  return { code, out: out.replaceAll(directory, '') }
}

t.test('check --format json', async t => {
  const bad = await check(t, BAD, 'json')
  t.equal(bad.code, 1)
  t.same(JSON.parse(bad.out), {
    format: 1,
    ok: false,
    file: '/g.yaml',
    problems: [{
      file: '/g.yaml', line: 3, col: 54, severity: 'error', message: 'unknown key "pathh" in agents[0]', hint: 'did you mean "path"?', code: 'A2AGW_ERR_CONFIG_UNKNOWN_KEY'
    }]
  })
  const warns = await check(t, WARNS, 'json')
  t.equal(warns.code, 0)
  t.match(JSON.parse(warns.out), { ok: true, agents: 1, policies: 1, problems: [{ severity: 'warning', line: 4, message: /^(?!warning: )/ }] })
})

t.test('check --format junit and github', async t => {
  const bad = await check(t, BAD, 'junit')
  t.equal(bad.code, 1)
  t.match(bad.out, /<testsuite name="\/g\.yaml" tests="1" failures="1" errors="0">/)
  t.match(bad.out, /<testcase name="[^"]*&quot;pathh&quot;[^"]*" classname="\/g\.yaml" file="\/g\.yaml" line="3">/)
  t.match(bad.out, /<failure message="[^"]*" type="A2AGW_ERR_CONFIG_UNKNOWN_KEY">/)
  const warns = await check(t, WARNS, 'junit')
  t.match(warns, { code: 0, out: /tests="1" failures="0" errors="0"/ }, 'warnings fail nothing')
  t.match(await check(t, BAD, 'github'), { code: 1, out: /^::error file=\/g\.yaml,line=3,col=54,title=A2AGW_ERR_CONFIG_UNKNOWN_KEY::[^\n]*"pathh"[^\n]*\(did you mean "path"\?\)\n$/ })
  t.match(await check(t, WARNS, 'github'), { code: 0, out: /^::warning file=\/g\.yaml,line=4,col=\d+::.*\n\/g\.yaml: ok: 1 agent, 1 policy\n$/ })
  t.match(await check(t, WARNS, 'yaml'), { code: 2, out: /there is no format "yaml"; formats are text, json, junit, github/ })
})

const ORDER = '{extensions: ["https://e.test/orders"], message: {parts: [{data: {order: {quantity: none}}}]}}'
const FILES = { 'a.test.yaml': one(ORDER, '{decision: forward}'), 'b.test.yaml': one(ORDER, '{decision: reject}'), 'c.test.yaml': 'tests: 1\n' }

t.test('test --format json, junit and github', async t => {
  const json = runFiles(t, FILES, { format: 'json' })
  t.equal(json.code, 2)
  t.match(JSON.parse(json.out), {
    format: 1,
    ok: false,
    unusable: 1,
    files: [
      { file: 'a.test.yaml', tests: [{ name: 'it', version: '1.0', file: 'a.test.yaml', ok: false, mismatches: [{ key: 'decision', got: 'reject' }] }] },
      { file: 'b.test.yaml', tests: [{ name: 'it', ok: true }] },
      { file: 'c.test.yaml', problems: [{ severity: 'error', line: /\d/ }] }
    ]
  })
  const { out } = runFiles(t, FILES, { format: 'junit' })
  t.match(out, /<testsuite name="a\.test\.yaml" tests="1" failures="1" errors="0">/)
  t.match(out, /<testcase name="it \(1\.0 JSONRPC\)" classname="a\.test\.yaml" file="a\.test\.yaml" line="\d+">\n +<failure message="[^"]*decision[^"]*">/)
  t.match(out, /<testcase name="it \(1\.0 JSONRPC\)" classname="b\.test\.yaml" file="b\.test\.yaml" line="\d+"\/>/)
  t.match(out, /<testcase name="c\.test\.yaml can be used"[^>]*>\n +<error /)
  const github = runFiles(t, FILES, { format: 'github' })
  t.match(github.out, /::error file=a\.test\.yaml,line=\d+,col=\d+,title=it \(1\.0 JSONRPC\)::decision%0A {2}expected {2}"forward"%0A/)
  t.match(github.out, /::error file=c\.test\.yaml,line=1/)
  t.match(github.out, /\n1 passed, 1 failed\n$/)
})

t.test('escapes', async t => {
  const failure = { kind: 'failure' as const, message: '"<&>"\n', text: '\0\x1b\ud800 é😀' }
  t.match(junit('x', [{ name: 'a"b', cases: [{ name: '<c>', failure }] }]), /<testsuite name="a&quot;b".*\n.*name="&lt;c&gt;".*\n.*message="&quot;&lt;&amp;&gt;&quot;&#10;">\ufffd\ufffd\ufffd é😀</)
  t.equal(
    annotations([{ severity: 'error', file: 'a,b:c', line: 1, col: 2, message: '100%\nx', title: 't' }, { severity: 'warning', file: 'agent a', line: 0, col: 0, message: 'm' }]),
    '::error file=a%2Cb%3Ac,line=1,col=2,title=t::100%25%0Ax\n::warning::agent a: m\n'
  )
})

t.test('as commands: --json', async t => {
  const directory = t.testdir({ 'gateway.yaml': WARNS, 'a.test.yaml': FILES['b.test.yaml'] })
  const run = (...args: string[]): Promise<Ran> => commandLine(args, { cwd: directory })
  t.match(JSON.parse((await run('check', '--json')).out), { ok: true })
  t.match(JSON.parse((await run('test', '--json', '.')).out), { ok: true })
  t.match(await run('test', '--json', '--format', 'tap', '.'), { code: 2, err: '', out: /--json and --format name two formats/ })
})
