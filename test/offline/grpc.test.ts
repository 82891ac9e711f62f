/** Policy tests in the binding GRPC: the same tests, the same decisions, as bytes of protobuf. */
import t from 'tap'
import { HEAD, one, runFiles } from './kit.js'

const EVERYWHERE = '    bindings: [JSONRPC, HTTP+JSON, GRPC]\n'
const GRPC = '    bindings: [GRPC]\n'
const ORDERED = 'extensions: [https://e.test/orders]'

/** @param tests lines of `tests`, indented by two */
function all (tests: string, head = HEAD): string {
  return `${head}tests:\n${tests}`
}

t.test('requests: the decision is that of the other bindings, in both versions', async t => {
  const run = runFiles(t, {
    'a.test.yaml': all(`
  - name: accepted
${EVERYWHERE}    request: {${ORDERED}, message: {parts: [{data: {order: {quantity: 1}}}], metadata: {polite: true}}}
    expect: {decision: forward, active: [https://e.test/orders, https://e.test/other], violations: [], unchanged: true, headers: {A2A-Extensions: 'https://e.test/orders, https://e.test/other'}}
  - name: without the required extension
${EVERYWHERE}    request: {message: {parts: [{text: hi}]}}
    expect: {decision: reject, reason: EXTENSION_SUPPORT_REQUIRED, rule: orders/required}
  - name: bad data
${EVERYWHERE}    request: {${ORDERED}, message: {parts: [{text: a}, {data: {order: {}}}]}}
    expect: {decision: reject, rule: orders/order, message: quantity}
  - name: with its status and path
    versions: ['1.0']
${GRPC}    request: {${ORDERED}, message: {parts: [{text: a}, {data: {order: {}}}]}}
    expect: {decision: reject, rule: orders/order, path: 'message.parts[1].data.order.quantity', grpcStatus: INVALID_ARGUMENT}
  - name: with its status in 0.3
    versions: ['0.3']
${GRPC}    request: {message: {parts: [{text: a}]}}
    expect: {decision: reject, grpcStatus: FAILED_PRECONDITION}
`)
  })
  t.match(run.out, '20 passed', run.out)
  t.equal(run.code, 0)
})

t.test('edits change the message, and nothing else of it', async t => {
  const head = `card: {capabilities: {extensions: [{uri: 'https://e.test/passport'}, {uri: 'https://e.test/given'}]}}
agent: {extensions: [passport, given]}
extensions:
  passport: {uri: https://e.test/passport, owns: {metadata: [passport], dataKeys: [secret]}, inactive: {request: strip}}
  given: {uri: https://e.test/given, activation: {default: inject}, inject: [{metadata: given, value: {a: [1, null]}}]}
`
  const run = runFiles(t, {
    'a.test.yaml': all(`
  - name: v1
    versions: ['1.0']
    bindings: [HTTP+JSON, GRPC]
    request: {message: {parts: [{text: ä}, {data: {secret: 1, other: 2.5}}], metadata: {passport: 1, kept: x}}, metadata: {m: [true]}}
    expect: {decision: forward, unchanged: false, body: {/message/parts/0/text: ä, /message/parts/1/data: {other: 2.5}, /message/metadata/kept: x, /message/metadata/given: {a: [1, null]}, /message/metadata/passport: null, /metadata: {m: [true]}}}
  - name: v03
    versions: ['0.3']
    bindings: [HTTP+JSON, GRPC]
    request: {message: {parts: [{text: ä}, {data: {secret: 1, other: 2.5}}], metadata: {passport: 1, kept: x}}}
    expect: {decision: forward, unchanged: false, body: {/message/content/0/text: ä, /message/content/1/data: {data: {other: 2.5}}, /message/metadata/kept: x, /message/metadata/passport: null}}
`, head)
  })
  t.match(run.out, '4 passed', run.out)
})

t.test('every operation has its message', async t => {
  const operations: readonly (readonly [string, string])[] = [
    ['GetTask', '{id: t1, historyLength: 2}'],
    ['CancelTask', '{id: t1}'],
    ['SubscribeToTask', '{id: t1}'],
    ['SendStreamingMessage', '{message: {messageId: m, role: ROLE_USER}}'],
    ['GetExtendedAgentCard', '{}']
  ]
  const push: Readonly<Record<string, string>> = {
    CreateTaskPushNotificationConfig: '{taskId: t1, url: "https://e.test/hook"}',
    GetTaskPushNotificationConfig: '{taskId: t1, id: c}',
    ListTaskPushNotificationConfigs: '{taskId: t1}',
    DeleteTaskPushNotificationConfig: '{taskId: t1, id: c}'
  }
  const old: Readonly<Record<string, string>> = {
    CreateTaskPushNotificationConfig: '{taskId: t1, pushNotificationConfig: {url: "https://e.test/hook"}}',
    GetTaskPushNotificationConfig: '{taskId: t1, pushNotificationConfigId: c}',
    ListTaskPushNotificationConfigs: '{taskId: t1}',
    DeleteTaskPushNotificationConfig: '{taskId: t1, pushNotificationConfigId: c}'
  }
  const test = (operation: string, params: string, versions: string): string =>
    `  - {name: "${operation} ${versions}", versions: [${versions}], bindings: [GRPC], request: {operation: ${operation}, params: ${params}}, expect: {decision: forward, unchanged: true}}\n`
  const run = runFiles(t, {
    'a.test.yaml': all([
      ...operations.map(([operation, params]) => test(operation, params, "'0.3', '1.0'")),
      ...Object.entries(push).map(([operation, params]) => test(operation, params, "'1.0'")),
      ...Object.entries(old).map(([operation, params]) => test(operation, params, "'0.3'")),
      test('ListTasks', '{contextId: c, pageSize: 3, status: TASK_STATE_WORKING}', "'1.0'")
    ].join(''), 'card: {}\nagent: {}\n')
  })
  t.match(run.out, '19 passed', run.out)
})

t.test('the task of a call is remembered', async t => {
  const head = `card: {capabilities: {extensions: [{uri: 'urn:steps'}]}}
agent: {extensions: [steps], responses: enforce}
extensions:
  steps:
    uri: urn:steps
    mode: enforce
    owns: {metadata: [step]}
    state: {from: {metadata: {in: [message, status], key: step}}, transitions: {'': [one], one: [two], two: []}}
`
  const ask = (step: string): string => `{extensions: ['urn:steps'], message: {taskId: t1, parts: [{text: a}], metadata: {step: ${step}}}}`
  const test = (name: string, step: string, expect: string): string => `  - name: ${name}
    bindings: [JSONRPC, HTTP+JSON, GRPC]
    before: [{request: ${ask('one')}, answer: {task: {id: t1, status: {state: working, message: {parts: [{text: a}], metadata: {step: one}}}}}}]
    request: ${ask(step)}
    expect: ${expect}
`
  const run = runFiles(t, { 'a.test.yaml': all(test('next', 'two', '{decision: forward}') + test('not next', 'three', '{decision: forward, violations: [steps/state]}'), head) })
  t.match(run.out, '12 passed', run.out)
})

const RESPONSES = `card: {capabilities: {streaming: true, extensions: [{uri: 'urn:notes'}]}}
agent: {extensions: [notes], responses: enforce}
extensions:
  notes:
    uri: urn:notes
    mode: enforce
    owns: {metadata: [note, bad]}
    response:
      - {id: note, select: {metadata: {key: note}}, count: {max: 0}, verdict: strip}
      - {id: bad, select: {metadata: {key: bad}}, count: {max: 0}, verdict: reject}
    observe: {spanAttributes: {notes.kind: {metadata: {key: kind}}}}
`

t.test('responses: forwarded, edited and rejected as in the other bindings', async t => {
  const asked = "extensions: ['urn:notes'], message: {parts: [{text: a}]}"
  const run = runFiles(t, {
    'a.test.yaml': all(`
  - name: a message
${EVERYWHERE}    request: {${asked}}
    answer: {extensions: ['urn:notes'], message: {parts: [{text: b}], metadata: {kind: x}}}
    expect: {decision: forward, answer: {decision: forward, confirmed: ['urn:notes'], shown: ['urn:notes'], unchanged: true, attributes: {notes.kind: x}}}
  - name: a task, edited
    versions: ['1.0']
    bindings: [HTTP+JSON, GRPC]
    request: {${asked}}
    answer: {task: {status: {state: completed}, metadata: {note: n, kept: 1}}}
    expect: {decision: forward, answer: {decision: forward, edited: [notes/note], unchanged: false, body: {/task/metadata: {kept: 1}, /task/status/state: TASK_STATE_COMPLETED}}}
  - name: rejected
${EVERYWHERE}    request: {${asked}}
    answer: {message: {parts: [{text: b}], metadata: {bad: 1}}}
    expect: {decision: forward, answer: {decision: reject, rule: notes/bad, violations: [notes/bad]}}
  - name: its status
${GRPC}    request: {${asked}}
    answer: {message: {parts: [{text: b}], metadata: {bad: 1}}}
    expect: {decision: forward, answer: {decision: reject, grpcStatus: INTERNAL}}
  - name: a stream
${EVERYWHERE}    request: {operation: SendStreamingMessage, ${asked}}
    answer: {events: [{task: {status: {state: working}}}, {statusUpdate: {status: {state: working}, metadata: {note: n}}}, {statusUpdate: {status: {state: completed}, metadata: {bad: 1}}}]}
    expect: {decision: forward, answer: {decision: reject, event: 3, rule: notes/bad}}
  - name: the stream as the client gets it
    versions: ['1.0']
    bindings: [HTTP+JSON, GRPC]
    request: {operation: SendStreamingMessage, ${asked}}
    answer: {events: [{task: {status: {state: working}}}, {statusUpdate: {status: {state: completed}, metadata: {note: n, kept: 1}}}]}
    expect: {decision: forward, answer: {decision: forward, body: {/1/task/status/state: TASK_STATE_WORKING, /2/statusUpdate/metadata: {kept: 1}, /3: null}}}
  - name: an error of the agent
${GRPC}    request: {${asked}}
    answer: {error: {code: -32001, message: "no täsk"}, extensions: ['urn:notes']}
    expect: {decision: forward, answer: {decision: forward, grpcStatus: NOT_FOUND, unchanged: true}}
  - name: an error after events
${GRPC}    request: {operation: SendStreamingMessage, ${asked}}
    answer: {events: [{task: {status: {state: working}}}, {error: {code: -32603}}]}
    expect: {decision: forward, answer: {decision: forward, grpcStatus: INTERNAL}}
  - name: a list of tasks
    versions: ['1.0']
    bindings: [HTTP+JSON, GRPC]
    request: {operation: ListTasks, params: {}}
    answer: {tasks: [{id: a}, {id: b, metadata: {note: n}}]}
    expect: {decision: forward, answer: {decision: forward, edited: [notes/note], body: {/tasks/1/id: b}}}
`, RESPONSES)
  })
  t.match(run.out, '30 passed', run.out)
  t.equal(run.code, 0)
})

t.test('a recorded call and a recorded response', async t => {
  const run = runFiles(t, {
    'call.json': JSON.stringify({
      rpc: 'SendMessage',
      metadata: { 'a2a-extensions': 'urn:notes' },
      body: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a' }] } }
    }),
    'answer.json': JSON.stringify({ message: { messageId: 'n', role: 'ROLE_AGENT', parts: [{ text: 'b' }], metadata: { note: 'n' } } }),
    'a.test.yaml': all('  - name: it\n    request: {http: call.json}\n    answer: {http: answer.json}\n    expect: {decision: forward, requested: [urn:notes], answer: {decision: forward, edited: [notes/note], grpcStatus: OK}}\n', RESPONSES)
  })
  t.match(run.out, 'it (1.0 GRPC)', run.out)
  t.match(run.out, '1 passed')
})

t.test('what gRPC cannot carry, and statuses of another binding, are problems of the file', async t => {
  const problem = (text: string): string => runFiles(t, { 'a.test.yaml': text }).out
  t.match(
    problem(one('{method: a.b}', '{decision: forward}', GRPC)),
    'tests[0].request.method is a method of JSON-RPC, and bindings names GRPC (leave GRPC out)'
  )
  t.match(
    problem(one('{message: {parts: []}}', '{decision: reject, status: 400}', GRPC)),
    'tests[0].expect.status is an HTTP status, and bindings names GRPC (write grpcStatus for GRPC, and a separate test for HTTP)'
  )
  t.match(
    problem(one('{message: {parts: []}}', '{decision: reject, grpcStatus: INTERNAL}')),
    'tests[0].expect.grpcStatus is a status of gRPC, and bindings does not name GRPC (add GRPC to bindings)'
  )
  t.match(
    problem(one('{message: {parts: []}}', '{decision: forward, answer: {decision: forward, status: 200}}', `${GRPC}    answer: {status: 200, message: {parts: []}}\n`)),
    /tests\[0\]\.answer\.status is an HTTP status(?:.|\n)*tests\[0\]\.expect\.answer\.status is an HTTP status/
  )
  t.match(
    problem(one('{params: {message: {role: 7, nope: 1}}}', '{decision: forward}', GRPC)),
    /tests\[0\]\.request cannot be sent: the message cannot be written as protobuf: .*message.*\(in 1\.0 over GRPC\)/
  )
  t.match(
    problem(one('{operation: ListTasks, params: {}}', '{decision: forward}', GRPC).replace("['1.0']", "['0.3']")),
    'tests[0].request cannot be sent: gRPC of A2A 0.3 has no ListTasks (in 0.3 over GRPC)'
  )
  t.match(
    problem(one('{message: {parts: []}}', '{decision: forward}', `${GRPC}    card: {url: 'https://a.test'}\n`)),
    'the card has no GRPC interface'
  )
})
