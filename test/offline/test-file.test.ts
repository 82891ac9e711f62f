/** Every fault in a file of tests is reported with its place and exit code 2. A file with a fault never passes. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { OPERATION_NAMES, testFileSchema } from '#offline/policy-test/test-schema.js'
import { methodOfOperation } from '#a2a/operations.js'
import { HEAD, one, runFiles } from './kit.js'

const HI = '{message: {parts: [{text: hi}]}}'
const OK = '{decision: reject}'

const FORWARD = '{decision: forward, answer: {decision: forward}}'

function exchanged (answer: string, expect: string, request = HI): string {
  return one(request, expect).replace('    expect:', `    answer: ${answer}\n    expect:`)
}

/** What is wrong, the file, what is printed. */
const BROKEN: readonly (readonly [what: string, text: string, printed: string])[] = [
  ['an empty file', '', 'a.test.yaml: the file is empty (it contains card, agent and tests)'],
  ['no tests', `${HEAD}tests: []\n`, 'a.test.yaml:21:8: tests must have at least 1 entry'],
  ['no key tests', HEAD, 'a.test.yaml:1:1: tests is required'],
  [
    'YAML that cannot be read',
    'tests: [',
    'a.test.yaml:1:9: the "[" is not closed, or a line before its "]" is not indented'
  ],
  [
    'an unknown key of a test',
    one(HI, OK, '    expects: {}\n'),
    'a.test.yaml:24:5: unknown key "expects" in tests[0] (did you mean "expect"?)'
  ],
  [
    'an unknown expectation',
    one(HI, '{decision: reject, rules: x}'),
    'a.test.yaml:25:32: unknown key "rules" in tests[0].expect (did you mean "rule"?)'
  ],
  [
    'an unknown key of a request',
    one('{mesage: {}}', OK),
    'a.test.yaml:24:15: unknown key "mesage" in tests[0].request (did you mean "message"?)'
  ],
  [
    'an unknown key of a part',
    one('{message: {parts: [{txt: hi}]}}', OK),
    'a.test.yaml:24:34: unknown key "txt" in tests[0].request.message.parts[0] (did you mean "text"?)'
  ],
  ['no decision', one(HI, '{rule: x}'), 'a.test.yaml:25:13: tests[0].expect.decision is required'],
  [
    'a decision that is none',
    one(HI, '{decision: allow}'),
    'a.test.yaml:25:24: tests[0].expect.decision must be one of forward, reject, pause, not "allow"'
  ],
  [
    'a version that is none',
    one(HI, OK).replace("['1.0']", "['1.1']"),
    'a.test.yaml:23:16: tests[0].versions[0] must be one of 0.3, 1.0, not "1.1" (did you mean "1.0"?)'
  ],
  [
    "a refusal's key of a forwarded request",
    one(HI, '{decision: forward, rule: x}'),
    'a.test.yaml:25:33: tests[0].expect.rule applies to a rejection, and the decision is forward (remove one of them)'
  ],
  [
    "a forwarded request's key of a refusal",
    one(HI, '{decision: reject, unchanged: true}'),
    'a.test.yaml:25:32: tests[0].expect.unchanged applies to a forwarded request, and the decision is reject (remove one of them)'
  ],
  [
    'a pointer that is none',
    one(HI, '{decision: forward, body: {message: 1}}'),
    'a.test.yaml:25:40: "message" is not a JSON Pointer (it begins with a slash)'
  ],
  [
    'two tests of one name',
    `${one(HI, OK)}  - {name: it, request: ${HI}, expect: ${OK}}\n`,
    'a.test.yaml:26:12: tests[0] and tests[1] have the same name'
  ],
  [
    'message and params',
    one('{message: {}, params: {}}', OK),
    'a.test.yaml:24:15: tests[0].request has both params and message (params is the whole request object)'
  ],
  [
    'metadata and params',
    one('{metadata: {}, params: {}}', OK),
    'a.test.yaml:24:15: tests[0].request has both params and metadata (params is the whole request object)'
  ],
  [
    'operation and method',
    one('{method: a.b, operation: GetTask}', OK),
    'a.test.yaml:24:28: tests[0].request has both method and operation (method is for methods that are not operations of A2A)'
  ],
  [
    'a method over HTTP+JSON',
    one('{method: a.b}', OK, '    bindings: [HTTP+JSON]\n'),
    'a.test.yaml:25:15: tests[0].request.method is a method of JSON-RPC, and bindings names HTTP+JSON (leave HTTP+JSON out)'
  ],
  [
    'a message of an operation without',
    one('{operation: GetTask, message: {}}', OK),
    'a.test.yaml:24:35: tests[0].request.message: GetTask carries no message (write params)'
  ],
  [
    'a part of two kinds',
    one('{message: {parts: [{text: a, data: 1}]}}', OK),
    'a.test.yaml:24:33: tests[0].request.message.parts[0] must have exactly one of text, raw, url, data (a malformed message is written with params)'
  ],
  [
    'a recording and more',
    one('{http: a.http, extensions: []}', OK).replace("    versions: ['1.0']\n", ''),
    'a.test.yaml:23:29: tests[0].request has both http and extensions (a recorded request is sent unchanged)'
  ],
  [
    'a recording in versions',
    one('{http: a.http}', OK),
    'a.test.yaml:23:5: tests[0].versions has no effect on a recorded request (the recording determines version and binding)'
  ],
  [
    'a recording that is not there',
    one('{http: a.http}', OK).replace("    versions: ['1.0']\n", ''),
    'a.test.yaml:23:14: tests[0].request cannot be sent: a.http: there is no such file'
  ],
  [
    'no agent',
    one(HI, OK).replace(/agent: .*\n/, ''),
    'a.test.yaml:21:5: tests[0] has no agent (write agent beside tests, with the keys of an agent or the name of one in the configuration)'
  ],
  [
    'an agent of a configuration that was not given',
    one(HI, OK).replace(/agent: .*\n/, 'agent: shop\n'),
    'a.test.yaml:4:8: the agent "shop" belongs to a configuration (give the configuration with --config)'
  ],
  [
    'an unknown key of the agent',
    one(HI, OK).replace('agent: {', 'agent: {mod: enforce, '),
    'a.test.yaml:4:9: unknown key "mod" in agent (did you mean "mode"?)'
  ],
  [
    'an unknown policy of the agent',
    one(HI, OK).replace('[orders, other]', '[order]'),
    'a.test.yaml:4:22: no policy is named "order" (did you mean "orders"?)'
  ],
  [
    "an agent of a test's own",
    one(HI, OK, '    agent: {mode: of}\n'),
    'a.test.yaml:24:19: tests[0].agent.mode must be one of enforce, observe, off, not "of" (did you mean "off"?)'
  ],
  [
    'a policy that is wrong',
    one(HI, OK).replace('count: {min: 1}', 'count: {mim: 1}'),
    'a.test.yaml:16:17: unknown key "mim" in extensions.orders.request[1].count (did you mean "min"?)'
  ],
  [
    'a schema that cannot be used',
    one(HI, OK).replace('type: integer', 'type: integr'),
    'a.test.yaml:13:84: extensions.orders.request[0].schema cannot be used: /properties/quantity/type: '
  ],
  [
    'no card',
    one(HI, OK).replace(/^card:\n(?: .*\n)+/, ''),
    'a.test.yaml:1:1: there is no card (write card beside tests: a JSON file, or the card itself)'
  ],
  [
    'a card that is not there',
    one(HI, OK).replace(/^card:\n(?: .*\n)+/, 'card: card.json\n'),
    'a.test.yaml:1:7: cannot read the card card.json: no such file'
  ],
  ['a card that is none', one(HI, OK, '    card: {url: 17}\n'), 'a.test.yaml:24:11: card does not contain a usable card: '],
  [
    'a binding that the card lacks',
    one(HI, OK, '    bindings: [HTTP+JSON]\n    card: {url: https://a.test}\n'),
    'a.test.yaml:26:14: tests[0].request cannot be sent: the card has no HTTP+JSON interface (in 1.0 over HTTP+JSON)'
  ],
  [
    'an address without its id',
    one('{operation: GetTask, params: {}}', OK, '    bindings: [HTTP+JSON]\n'),
    'a.test.yaml:25:14: tests[0].request cannot be sent: request.params needs id, which the path of GetTask contains in HTTP+JSON'
  ],
  [
    'an answer of two kinds',
    exchanged('{task: {}, message: {}}', FORWARD),
    'a.test.yaml:25:13: tests[0].answer must have exactly one of task, message, tasks, events, result, error, http (remove the others)'
  ],
  [
    'an answer of no kind',
    exchanged('{extensions: []}', FORWARD),
    "a.test.yaml:25:13: tests[0].answer must have exactly one of task, message, tasks, events, result, error, http (write the agent's response)"
  ],
  [
    'an unknown key of an answer',
    exchanged('{tusk: {}}', FORWARD),
    'a.test.yaml:25:14: unknown key "tusk" in tests[0].answer (did you mean "task"?)'
  ],
  [
    'events of a send',
    exchanged('{events: []}', FORWARD),
    'a.test.yaml:25:14: tests[0].answer.events: SendMessage returns a task or a message (use result for invalid responses)'
  ],
  [
    'a message of a stream',
    exchanged('{message: {}}', FORWARD, '{operation: SendStreamingMessage, message: {}}'),
    'a.test.yaml:25:14: tests[0].answer.message: SendStreamingMessage returns events (use result for invalid responses)'
  ],
  [
    'an event of two kinds',
    exchanged('{events: [{task: {}, message: {}}]}', FORWARD, '{operation: SendStreamingMessage, message: {}}'),
    'a.test.yaml:25:23: tests[0].answer.events[0] must have exactly one of task, message, statusUpdate, artifactUpdate, result, error (each event is one of them)'
  ],
  [
    'a state that is none',
    exchanged('{task: {status: {state: done}}}', FORWARD),
    'a.test.yaml:25:37: tests[0].answer.task.status.state is not a state of A2A (use result for invalid responses)'
  ],
  [
    'a part of an answer without content',
    exchanged('{message: {parts: [{}]}}', FORWARD),
    'a.test.yaml:25:32: tests[0].answer.message.parts[0] must have exactly one of text, raw, url, data (use result for invalid responses)'
  ],
  [
    'a recorded answer and more',
    exchanged('{http: a.http, status: 200}', FORWARD),
    'a.test.yaml:25:28: tests[0].answer has both http and status (a recorded response is used unchanged)'
  ],
  [
    'a recorded answer that is not there',
    exchanged('{http: a.http}', FORWARD, "{extensions: ['https://e.test/orders'], message: {}}"),
    'a.test.yaml:25:13: tests[0].answer cannot be sent: a.http: there is no such file'
  ],
  [
    'nothing expected of an answer',
    exchanged('{task: {}}', '{decision: forward}'),
    'a.test.yaml:25:5: tests[0].answer is given, but expect has no expectation about it (write expect.answer)'
  ],
  [
    'an expectation of no answer',
    one(HI, FORWARD),
    'a.test.yaml:25:33: tests[0].expect.answer applies to a response, and the test has none (write answer beside request)'
  ],
  [
    'an answer to what is refused',
    exchanged('{task: {}}', '{decision: reject, answer: {decision: forward}}'),
    'a.test.yaml:26:32: tests[0].expect.answer applies to a response, and a rejected request gets none from the agent (remove it, or expect the request to be forwarded)'
  ],
  [
    "a refusal's key of an answer",
    exchanged('{task: {}}', '{decision: forward, answer: {decision: forward, rule: x}}'),
    'a.test.yaml:26:61: tests[0].expect.answer.rule applies to a rejection, and the decision is forward (remove one of them)'
  ],
  [
    "a forwarded answer's key of a refusal",
    exchanged('{task: {}}', '{decision: forward, answer: {decision: reject, edited: []}}'),
    'a.test.yaml:26:60: tests[0].expect.answer.edited applies to a forwarded response, and the decision is reject (remove one of them)'
  ],
  [
    'an event of what is no stream',
    exchanged('{task: {}}', '{decision: forward, answer: {decision: reject, event: 1}}'),
    'a.test.yaml:26:60: tests[0].expect.answer.event is for a stream, and the response is not one (remove it)'
  ],
  [
    'an event that is not there',
    exchanged(
      '{events: [{task: {}}]}',
      '{decision: forward, answer: {decision: reject, event: 2}}',
      '{operation: SendStreamingMessage, message: {}}'
    ),
    'a.test.yaml:26:67: tests[0].expect.answer.event is 2, and the stream has 1 events (events count from 1)'
  ],
  [
    'a pointer into no event',
    exchanged(
      '{events: [{task: {}}]}',
      '{decision: forward, answer: {decision: forward, body: {/task/id: 1}}}',
      '{operation: SendStreamingMessage, message: {}}'
    ),
    'a.test.yaml:26:68: "/task/id" does not begin with the number of an event (for a stream, write it as in /1/task/id; events count from 1)'
  ],
  [
    'memory and before',
    one(HI, OK, `    memory: unknown\n    before: [{request: ${HI}, answer: {task: {}}}]\n`),
    'a.test.yaml:24:5: tests[0] has both before and memory (the exchanges in before define the state that the gateway remembers)'
  ],
  [
    'memory of no task',
    one(HI, OK, '    memory: {state: working}\n'),
    'a.test.yaml:24:5: tests[0].memory applies to a task, and the request names none (write taskId in the message)'
  ],
  [
    'memory that is none',
    one(HI, OK, '    memory: nothing\n'),
    'a.test.yaml:24:13: tests[0].memory must be unknown, or contain the state of the task (write {state: input-required})'
  ],
  [
    'a state of memory that is none',
    one(HI, OK, '    memory: {state: done}\n'),
    'a.test.yaml:24:21: tests[0].memory.state must be one of submitted, '
  ],
  [
    'a broken exchange before',
    one(HI, OK, `    before: [{request: ${HI}, answer: {events: []}}]\n`),
    'a.test.yaml:24:67: tests[0].before[0].answer.events: SendMessage returns a task or a message (use result for invalid responses)'
  ]
]

for (const [what, text, printed] of BROKEN) {
  t.test(what, async t => {
    const { code, out, err } = runFiles(t, { 'a.test.yaml': text })
    t.equal(code, 2, out + err)
    t.ok(out.includes(`  ${printed}`), out + err)
    t.match(out, /\n0 passed, 1 file could not be used\n$/)
  })
}

t.test('an unknown operation is reported once', async t => {
  const { out } = runFiles(t, { 'a.test.yaml': one('{operation: SendMesage, message: {parts: [{text: a}]}}', OK) })
  t.equal(out.match(/a\.test\.yaml:\d+:\d+: /g)?.length, 1, out)
  t.match(out, 'did you mean "SendMessage"?')
})

t.test('a file that is not there', async t => {
  const { code, out } = runFiles(t, {}, { files: ['/nowhere/a.test.yaml'] })
  t.equal(code, 2)
  t.match(out, '/nowhere/a.test.yaml: cannot read the file: no such file')
})

t.test('problems of all tests are reported at once, each once', async t => {
  const { out } = runFiles(t, {
    'a.test.yaml': `${HEAD}tests:\n  - {name: a, request: {http: x.http}, expect: ${OK}}\n  - {name: b, agent: {mode: x}, request: ${HI}, expect: ${OK}}\n  - {name: c, card: none.json, request: ${HI}, expect: ${OK}}\n`
  })
  t.equal(out.match(/a\.test\.yaml:\d+:\d+: /g)?.length, 3, out)
})

t.test('the schema of the file is JSON Schema 2020-12', async t => {
  const ajv = new Ajv2020({ strict: false })
  t.equal(ajv.validateSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...testFileSchema }), true)
})

t.test('every operation has a method in both versions', async t => {
  for (const name of OPERATION_NAMES) {
    for (const version of ['0.3', '1.0'] as const) t.type(methodOfOperation(name, version), 'string', `${name} ${version}`)
  }
})
