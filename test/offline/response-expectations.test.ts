/** Each key of `expect.answer` passes when it should, and fails when it should, with the actual value. */
import t from 'tap'
import { answered, PAY } from './response-kit.js'
import { runFiles } from './kit.js'

const ASK = `{extensions: ['${PAY}'], message: {parts: [{text: hi}]}}`
const STREAM = `{operation: SendStreamingMessage, extensions: ['${PAY}'], message: {parts: [{text: hi}]}}`
const GOOD = `{message: {parts: [{text: ok}], metadata: {receipt: {total: 3}, thanks: 1}}, extensions: ['${PAY}']}`
const LARGE = '{message: {parts: [{text: ok}], metadata: {receipt: {total: 300}}}}'
const BAD = '{task: {status: {state: completed}, metadata: {receipt: {total: -1}}}}'
const TRACED = '{message: {parts: [{text: ok}], metadata: {trace: x, thanks: 1}}}'
const EVENTS =
  '{events: [{task: {status: {state: submitted}}}, {statusUpdate: {status: {state: working}, metadata: {trace: 1}}}, {statusUpdate: {status: {state: completed}, metadata: {receipt: {}}}}]}'
const FINE = '{events: [{task: {status: {state: submitted}, metadata: {trace: 1}}}, {statusUpdate: {status: {state: completed}}}]}'

const CASES: readonly (readonly [key: string, request: string, answer: string, holds: string, fails: string, got: string])[] = [
  ['decision', ASK, GOOD, 'decision: forward', 'decision: reject', '"forward"'],
  ['rule', ASK, BAD, 'decision: reject, rule: pay/receipt', 'decision: reject, rule: pay/other', '"pay/receipt"'],
  ['reason', ASK, BAD, 'decision: reject, reason: INVALID_AGENT_RESPONSE', 'decision: reject, reason: OTHER', '"INVALID_AGENT_RESPONSE"'],
  [
    'path',
    ASK,
    BAD,
    'decision: reject, path: result.task.metadata.receipt.total',
    'decision: reject, path: result',
    '"result.task.metadata.receipt.total"'
  ],
  ['message', ASK, BAD, 'decision: reject, message: must be', 'decision: reject, message: nonsense', '"'],
  ['status', ASK, BAD, 'decision: reject, status: 200', 'decision: reject, status: 500', '200'],
  ['event', STREAM, EVENTS, 'decision: reject, event: 3', 'decision: reject, event: 2', '3'],
  [
    'violations',
    ASK,
    LARGE,
    'decision: forward, violations: [pay/large, pay/polite]',
    'decision: forward, violations: []',
    '["pay/polite","pay/large"]'
  ],
  ['annotations', ASK, LARGE, 'decision: forward, annotations: [pay/large]', 'decision: forward, annotations: []', '["pay/large"]'],
  ['edited', ASK, TRACED, 'decision: forward, edited: [pay/private]', 'decision: forward, edited: []', '["pay/private"]'],
  ['unchanged', ASK, TRACED, 'decision: forward, unchanged: false', 'decision: forward, unchanged: true', 'false'],
  [
    'body /message/metadata/trace',
    ASK,
    TRACED,
    'decision: forward, body: {/message/metadata/trace: null}',
    'decision: forward, body: {/message/metadata/trace: x}',
    '(absent)'
  ],
  [
    'body /1/task/metadata',
    STREAM,
    FINE,
    'decision: forward, body: {/1/task/metadata: {}}',
    'decision: forward, body: {/1/task/metadata: {trace: 1}}',
    '{}'
  ],
  ['confirmed', ASK, GOOD, `decision: forward, confirmed: ['${PAY}']`, 'decision: forward, confirmed: []', `["${PAY}"]`],
  ['absent', ASK, TRACED.replace('trace: x, ', ''), `decision: forward, absent: ['${PAY}']`, 'decision: forward, absent: []', `["${PAY}"]`],
  [
    'unexpected',
    '{message: {parts: [{text: hi}]}}',
    GOOD,
    `decision: forward, unexpected: ['${PAY}']`,
    'decision: forward, unexpected: []',
    `["${PAY}"]`
  ],
  ['shown', ASK, GOOD, `decision: forward, shown: ['${PAY}']`, 'decision: forward, shown: []', `["${PAY}"]`],
  [
    'attributes pay.total',
    ASK,
    GOOD,
    'decision: forward, attributes: {pay.total: 3}',
    'decision: forward, attributes: {pay.total: 4}',
    '3'
  ],
  ['measures pay/paid', ASK, GOOD, 'decision: forward, measures: {pay/paid: 3}', 'decision: forward, measures: {pay/paid: null}', '3']
]

for (const [key, request, answer, holds, fails, got] of CASES) {
  t.test(`expect.answer.${key}`, async t => {
    const versions = "    versions: ['1.0']\n"
    const passed = runFiles(t, { 'a.test.yaml': answered(request, answer, `{${holds}}`, versions) })
    t.equal(passed.code, 0, passed.out + passed.err)
    const failed = runFiles(t, { 'b.test.yaml': answered(request, answer, `{${fails}}`, versions) })
    t.equal(failed.code, 1, failed.out + failed.err)
    t.ok(failed.out.includes(`        answer.${key}\n`), failed.out)
    t.ok(failed.out.includes(`          got       ${got}`), failed.out)
  })
}

t.test('one response has one decision in every version and binding', async t => {
  const everywhere = '    bindings: [JSONRPC, HTTP+JSON]\n'
  for (const [request, answer, expect] of [
    [ASK, GOOD, `{decision: forward, violations: [], unchanged: true, confirmed: ['${PAY}'], shown: ['${PAY}']}`],
    [ASK, BAD, '{decision: reject, rule: pay/receipt}'],
    [ASK, TRACED, '{decision: forward, edited: [pay/private]}'],
    [STREAM, EVENTS, '{decision: reject, rule: pay/receipt, event: 3}'],
    [
      '{operation: GetTask, params: {id: t1}}',
      '{task: {status: {state: completed}, metadata: {receipt: {total: x}}}}',
      '{decision: reject, rule: pay/receipt}'
    ],
    ['{operation: ListTasks, params: {}}', '{tasks: [{}, {metadata: {receipt: {}}}]}', '{decision: reject, rule: pay/receipt}'],
    [ASK, '{error: {code: -32603}}', '{decision: forward, violations: [], unchanged: true}'],
    [ASK, '{message: {parts: []}, headers: {content-type: text/plain}}', '{decision: reject, rule: gateway/response-type}'],
    [ASK, '{message: {parts: []}, headers: {content-encoding: br}}', '{decision: reject, rule: gateway/response-encoding}']
  ] as const) {
    const ran = runFiles(t, { 'a.test.yaml': answered(request, answer, expect, everywhere) })
    t.equal(ran.code, 0, ran.out + ran.err)
    t.match(ran.out, /\n4 passed\n$/)
  }
})

t.test('a failure shows the rule that rejected the response, and all violations', async t => {
  const { out } = runFiles(t, { 'a.test.yaml': answered(ASK, BAD, '{decision: forward}', "    versions: ['1.0']\n") })
  t.match(out, /the response is rejected by pay\/receipt: .*result\.task\.metadata\.receipt\.total/)
  t.match(out, /violations\n +pay\/receipt \(enforce\) result/)
})

t.test('exchanges in before are remembered; memory replaces them', async t => {
  const later = "{message: {taskId: t1, parts: [{text: hi}], metadata: {receipt: 1}}, extensions: ['https://e.test/pay']}"
  const file = (more: string, decision: string): string =>
    answered(later, GOOD, '{decision: forward}', more).replace(/answer: .*\n.*expect: .*\n/, `expect: {decision: ${decision}}\n`)
  const before = (state: string, metadata = ''): string =>
    `    before:\n      - request: ${ASK}\n        answer: {task: {id: t1, status: {state: ${state}}${metadata}}}\n`
  for (const [more, decision] of [
    [before('completed'), 'reject, rule: pay/while-asked'],
    [before('TASK_STATE_WORKING'), 'forward'],
    ['    memory: unknown\n', 'forward'],
    ['', 'forward'],
    ['    memory: {state: completed}\n', 'reject, rule: pay/while-asked'],
    ['    memory: {state: working}\n', 'forward']
  ] as const) {
    const ran = runFiles(t, { 'a.test.yaml': file(more, decision) })
    t.equal(ran.code, 0, more + ran.out + ran.err)
  }
  const broken = runFiles(t, { 'a.test.yaml': file(before('completed', ', metadata: {receipt: 1}'), 'forward') })
  t.equal(broken.code, 1)
  t.match(broken.out, /before\[0\]\n +expected {2}"forward"\n +got {7}"reject, of the response by pay\/receipt: /)
})

t.test('a recorded response is evaluated unchanged', async t => {
  const body = '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[],"metadata":{"receipt":1}}}}'
  const text = answered(ASK, '{http: answer.http}', '{decision: reject, rule: pay/receipt}', "    versions: ['1.0']\n")
  for (const answer of [body, `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n${body}`]) {
    const ran = runFiles(t, { 'a.test.yaml': text, 'answer.http': answer })
    t.equal(ran.code, 0, ran.out + ran.err)
  }
  const missing = runFiles(t, { 'a.test.yaml': text })
  t.equal(missing.code, 2)
  t.match(missing.out, 'tests[0].answer cannot be sent: answer.http: there is no such file')
})
