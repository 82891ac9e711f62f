/** Exit codes and output of `a2a-gateway test`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { HEAD, one, runFiles } from './kit.js'

const HI = '{message: {parts: [{text: hi}]}}'
const TWO = `${HEAD}tests:
  - {name: 'who asks for nothing # is refused', request: ${HI}, expect: {decision: reject}}
  - {name: and so is this, versions: ['0.3'], request: ${HI}, expect: {decision: forward}}
`

t.test('TAP: one point for each version and binding, with what failed', async t => {
  const { code, out } = runFiles(t, { 'a.test.yaml': TWO }, { format: 'tap' })
  t.equal(code, 1)
  t.equal(
    out.split('  violations:')[0],
    `TAP version 14
1..3
ok 1 - a.test.yaml > who asks for nothing \\# is refused (0.3 JSONRPC)
ok 2 - a.test.yaml > who asks for nothing \\# is refused (1.0 JSONRPC)
not ok 3 - a.test.yaml > and so is this (0.3 JSONRPC)
  ---
  at: a.test.yaml:23:5
  mismatches:
    - key: decision
      expected: forward
      got: reject
  refusal:
    rule: orders/required
    reason: EXTENSION_SUPPORT_REQUIRED
    message: 'This agent requires an extension that the request does not activate: https://e.test/orders. Send the header "X-A2A-Extensions: https://e.test/orders" with the request.'
`
  )
  t.match(out, /\n {2}violations:\n {4}- "orders\/required \(enforce\) .*\n(?: {4}- .*\n)+ {2}\.\.\.\n$/)
})

t.test('TAP: a file that cannot be used is a failed point, and the others are run', async t => {
  const { code, out } = runFiles(t, { 'a.test.yaml': 'tests: 1\n', 'b.test.yaml': one(HI, '{decision: reject}') }, { format: 'tap' })
  t.equal(code, 2)
  t.match(out, /not ok 1 - a\.test\.yaml can be used\n {2}---\n {2}problems:\n {4}- "?a\.test\.yaml:1:8: tests must be a list/)
  t.match(out, /\nok 2 - b\.test\.yaml > it \(1\.0 JSONRPC\)\n$/)
})

t.test('pretty on a terminal, else TAP', async t => {
  t.match(runFiles(t, { 'a.test.yaml': TWO }, { format: undefined, terminal: true }).out, /2 passed, 1 failed\n$/)
  t.match(runFiles(t, { 'a.test.yaml': TWO }, { format: undefined, terminal: false }).out, /^TAP version 14\n/)
})

t.test('--only runs the tests whose name contains the text; no test is an error', async t => {
  const some = runFiles(t, { 'a.test.yaml': TWO }, { only: 'asks for nothing' })
  t.equal(some.code, 0)
  t.match(some.out, /\n2 passed\n$/)
  t.same(runFiles(t, { 'a.test.yaml': TWO }, { only: 'nobody' }), {
    code: 2,
    out: '',
    err: 'a2a-gateway test: no test has a name that contains "nobody" [A2AGW_ERR_USAGE]\n'
  })
})

t.test('the command line', async t => {
  t.match(runFiles(t, {}), { code: 2, out: '', err: /name test files/ })
  t.match(runFiles(t, { 'a.test.yaml': TWO }, { format: 'xunit' }), {
    code: 2,
    out: '',
    err: /there is no format "xunit"; formats are tap, pretty/
  })
  t.match(runFiles(t, { 'a.test.yaml': TWO, 'gateway.yaml': 'version: 1\nagent: []\n' }), {
    code: 2,
    out: '',
    err: /gateway\.yaml:2:1: unknown key "agent" \(did you mean "agents"\?\)/
  })
})

const CONFIG = `version: 1
agents:
  - {name: shop, path: /shop, upstream: {url: 'http://127.0.0.1:9/base'}, extensions: [orders]}
extensions:
  orders: {uri: 'https://e.test/orders', activation: {required: always}}
`
const CARD = 'card: {url: https://real.test/base/rpc, capabilities: {extensions: [{uri: https://e.test/orders}]}}\n'

t.test('an agent of the configuration is tested with its configuration', async t => {
  const text = `${CARD}agent: shop\ntests:\n  - {name: it, versions: ['0.3'], request: ${HI}, expect: {decision: reject, rule: orders/required}}\n`
  const { code, out } = runFiles(t, { 'a.test.yaml': text, 'gateway.yaml': CONFIG })
  t.equal(code, 0, out)
  t.match(
    runFiles(t, { 'b.test.yaml': text.replace('agent: shop', 'agent: ship'), 'gateway.yaml': CONFIG }).out,
    'b.test.yaml:2:8: the configuration has no agent "ship" (its agents: shop)'
  )
})

t.test('an agent in the test file can use and override the policies of the configuration', async t => {
  const tests = `tests:\n  - {name: it, versions: ['0.3'], request: ${HI}, expect: {decision: forward, violations: [orders/required]}}\n`
  const { code, out } = runFiles(t, {
    'a.test.yaml': `${CARD}agent: {extensions: [{orders: {mode: observe}}]}\n${tests}`,
    'gateway.yaml': CONFIG
  })
  t.equal(code, 0, out)
})

t.test('a test can have its own card and agent', async t => {
  const text = `${HEAD}tests:
  - {name: theirs, request: ${HI}, expect: {decision: reject}}
  - {name: its own agent, agent: {mode: observe, extensions: [orders]}, request: ${HI}, expect: {decision: forward, violations: [orders/required, orders/polite]}}
  - {name: its own card, card: {}, agent: {}, request: ${HI}, expect: {decision: forward, declared: []}}
`
  const { code, out } = runFiles(t, { 'a.test.yaml': text })
  t.equal(code, 0, out)
})

t.test('a recorded request is evaluated unchanged', async t => {
  const recorded = `### polite\nPOST http://gateway.test/shop/rpc\nContent-Type: application/json\nX-A2A-Extensions: https://e.test/orders\n
{"jsonrpc": "2.0", "id": 7, "method": "message/send", "params": {"message": {"kind": "message", "messageId": "m", "role": "user", "parts": []}}}
### twice\nPOST http://agent.test/base/rpc\nContent-Type: application/json\nContent-Type: text/plain\n\n{}\n`
  const files = (expect: string, which: string): Record<string, string> => ({
    'gateway.yaml': CONFIG,
    'a.http': recorded,
    'a.test.yaml': `${CARD}agent: shop\ntests:\n  - {name: it, request: {http: 'a.http${which}'}, expect: ${expect}}\n`
  })
  const forwarded = runFiles(t, files('{decision: forward, requested: [https://e.test/orders], unchanged: true}', '#polite'))
  t.equal(forwarded.code, 0, forwarded.out)
  t.match(forwarded.out, 'it (0.3 JSONRPC)')
  const guarded = runFiles(t, files('{decision: reject, rule: gateway/duplicate-header, status: 400}', '#2'))
  t.equal(guarded.code, 0, guarded.out)
  t.match(runFiles(t, files('{decision: forward}', '')).out, /a\.http contains 2 requests; choose one, as in a\.http#1/)
})

t.test('the built command', async t => {
  const main = join(packageRoot(), 'dist', 'src', 'main.js')
  const example = join(packageRoot(), 'examples', 'policy-tests')
  const out = execFileSync(process.execPath, [main, 'test', '--config', join(example, 'gateway.yaml'), join(example, 'orders.test.yaml')], {
    encoding: 'utf8'
  })
  t.match(out, /^TAP version 14\n1\.\.12\n/)
  const { status, stderr } = spawnSync(process.execPath, [main, 'schema', 'file.yaml'], { encoding: 'utf8' })
  t.equal(status, 2, 'other commands take no files')
  t.match(stderr, 'a2a-gateway schema:')
})
