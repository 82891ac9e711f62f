import t from 'tap'
import fc from 'fast-check'
import { normaliseResult } from '#a2a/message/normalise-result.js'
import type { Operation } from '#a2a/operations.js'
import { viewResponse } from '#a2a/message/read-result.js'
import type { ResponseOptions } from '#a2a/message/read-result.js'
import type { ResponseView, ResultView } from '#a2a/message/result.js'
import type { Binding, Version } from '#a2a/versions.js'
import { check } from '../helpers/seed.js'

type Json = Record<string, unknown>
interface Style { readonly version: Version, readonly binding: Binding }

const STYLES: readonly Style[] = [
  { version: '0.3', binding: 'JSONRPC' },
  { version: '0.3', binding: 'HTTP+JSON' },
  { version: '1.0', binding: 'JSONRPC' },
  { version: '1.0', binding: 'HTTP+JSON' }
]
const [OLD, OLD_REST, NEW, NEW_REST] = STYLES as [Style, Style, Style, Style]
const said = ({ version, binding }: Style): string => `${version} ${binding}`

// Through JSON, as answers come: `__proto__` is then an ordinary member.
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const body = (style: Style, result: unknown): unknown => style.binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 7, result } : result
const raw = (style: Style, operation: Operation, value: unknown, options: Partial<ResponseOptions> = {}): ResponseView =>
  viewResponse(json(value), { ...style, operation, id: 7, stream: false, ...options })
const answer = (style: Style, operation: Operation, result: unknown, options: Partial<ResponseOptions> = {}): ResponseView =>
  raw(style, operation, body(style, result), options)
const root = ({ binding }: Style): string => binding === 'JSONRPC' ? 'result' : ''
const under = (style: Style, path: string): string => style.binding === 'JSONRPC' ? `result${path.startsWith('[') ? '' : '.'}${path}` : path
const only = (view: ResponseView): ResultView => {
  t.same(
    { fault: view.fault, problems: view.problems, isError: view.isError, count: view.results.length },
    { fault: null, problems: [], isError: false, count: 1 }
  )
  return view.results[0] as ResultView
}

// ---- The same results as each generation and binding writes them ----

const part = (style: Style, text: string): Json => style === OLD ? { kind: 'text', text } : { text }
const data = (style: Style, value: unknown): Json =>
  style === OLD
    ? { kind: 'data', data: value, metadata: { mimeType: 'a/b' } }
    : style === OLD_REST
      ? { data: { data: value } }
      : { data: value, mediaType: 'a/b' }
const message = (style: Style, by: 'agent' | 'user', parts: Json[]): Json => {
  const rest = { messageId: 'm', taskId: 't', contextId: 'c', extensions: ['urn:message'], metadata: { on: 'message' } }
  if (style === OLD) return { kind: 'message', role: by, parts, ...rest }
  return { role: by === 'agent' ? 'ROLE_AGENT' : 'ROLE_USER', [style === OLD_REST ? 'content' : 'parts']: parts, ...rest }
}
const artifact = (style: Style): Json => ({
  artifactId: 'a',
  name: 'n',
  extensions: ['urn:artifact'],
  metadata: { on: 'artifact' },
  parts: [part(style, 'x'), data(style, { data: 1 })]
})
const state = (style: Style, name: string): string =>
  style === OLD
    ? name
    : style === OLD_REST && name === 'canceled'
      ? 'TASK_STATE_CANCELLED'
      : `TASK_STATE_${name.toUpperCase().replaceAll('-', '_')}`
const kind = (style: Style, name: string): Json => style === OLD ? { kind: name } : {}
const task = (style: Style): Json => ({
  ...kind(style, 'task'),
  id: 't',
  contextId: 'c',
  status: { state: state(style, 'canceled'), timestamp: 'now', message: message(style, 'agent', [part(style, 'done')]) },
  artifacts: [artifact(style), { artifactId: 'b', parts: [] }],
  history: [message(style, 'user', [data(style, { a: 1 })]), message(style, 'agent', [])],
  metadata: { on: 'task' }
})
const statusUpdate = (style: Style): Json => ({
  ...kind(style, 'status-update'),
  taskId: 't',
  contextId: 'c',
  status: { state: state(style, 'input-required'), message: message(style, 'agent', [part(style, 'more')]) },
  metadata: { on: 'event' }
})
const artifactUpdate = (style: Style): Json => ({
  ...kind(style, 'artifact-update'),
  taskId: 't',
  contextId: 'c',
  artifact: artifact(style),
  append: true,
  lastChunk: true,
  metadata: { on: 'event' }
})
const wrap = (style: Style, member: string, value: Json): Json => style === OLD ? value : { [member]: value }
const inside = (style: Style, member: string, path = ''): string =>
  style === OLD ? (path === '' ? root(style) : under(style, path)) : under(style, path === '' ? member : `${member}.${path}`)

for (const style of STYLES) {
  const parts = style === OLD_REST ? 'content' : 'parts'
  t.test(`${said(style)}: a Message`, async t => {
    const view = only(
      answer(style, 'SendMessage', wrap(style, 'message', message(style, 'agent', [part(style, 'x'), data(style, { data: 1 })])))
    )
    t.match(view, {
      kind: 'message',
      path: inside(style, 'message'),
      taskId: 't',
      contextId: 'c',
      state: null,
      status: null,
      artifacts: [],
      append: false,
      history: []
    })
    t.same(view.message?.listed, ['urn:message'])
    t.same(view.message?.parts.map(one => [one.isData, one.data, one.path, one.ambiguity]), [
      [false, undefined, inside(style, 'message', `${parts}[0]`), null],
      [true, { data: 1 }, inside(style, 'message', `${parts}[1]`), null]
    ])
    const { length } = answer(style, 'SendMessage', wrap(style, 'message', message(style, 'user', []))).results
    t.equal(length, 1, 'one of the client is a result too')
    t.ok(only(answer(style, 'SendMessage', wrap(style, 'message', message(style, 'user', [])))).message, 'whatever role it says')
  })

  t.test(`${said(style)}: a Task, of every operation`, async t => {
    const check = (view: ResultView, path: string): void => {
      const at = (rest: string): string => path === '' ? rest : `${path}.${rest}`
      t.match(view, { kind: 'task', path, taskId: 't', contextId: 'c', state: 'canceled', message: null, append: false })
      t.match(view.status, { path: at('status.message'), listed: ['urn:message'], parts: [{ path: at(`status.message.${parts}[0]`) }] })
      t.same(
        view.artifacts.map(one => [one.path, one.listed, one.list]),
        [
          [at('artifacts[0]'), ['urn:artifact'], { key: 'parts', length: 2 }],
          [at('artifacts[1]'), [], { key: 'parts', length: 0 }]
        ]
      )
      t.same(
        view.artifacts[0]?.parts.map(one => [one.isData, one.data, one.path, one.ambiguity]),
        [
          [false, undefined, at('artifacts[0].parts[0]'), null],
          [true, { data: 1 }, at('artifacts[0].parts[1]'), null]
        ]
      )
      t.same(
        view.history.map(one => [one.path, one.parts.map(part => part.data), one.fields.get('metadata')]),
        [
          [at('history[0]'), [{ a: 1 }], { on: 'message' }],
          [at('history[1]'), [], { on: 'message' }]
        ]
      )
      t.equal(view.history, view.history, 'is read once')
    }
    check(only(answer(style, 'SendMessage', wrap(style, 'task', task(style)))), inside(style, 'task'))
    for (const operation of ['SendStreamingMessage', 'SubscribeToTask'] as const) {
      check(only(answer(style, operation, wrap(style, 'task', task(style)), { stream: true })), inside(style, 'task'))
    }
    for (const operation of ['GetTask', 'CancelTask'] as const) check(only(answer(style, operation, task(style))), root(style))
    const list = answer(style, 'ListTasks', { tasks: [task(style), task(style)], nextPageToken: '' })
    t.equal(list.results.length, 2)
    list.results.forEach((view, i) => check(view, under(style, `tasks[${i}]`)))
    check(only(answer(style, 'Other', wrap(style, 'task', task(style)))), inside(style, 'task'))
    check(only(answer(style, 'Extension', task(style))), root(style))
  })

  t.test(`${said(style)}: updates of a Task`, async t => {
    for (const operation of ['SendStreamingMessage', 'SubscribeToTask', 'SendMessage', 'Other'] as const) {
      const status = only(answer(style, operation, wrap(style, 'statusUpdate', statusUpdate(style)), { stream: true }))
      t.match(
        status,
        {
          kind: 'statusUpdate',
          path: inside(style, 'statusUpdate'),
          taskId: 't',
          contextId: 'c',
          state: 'input-required',
          message: null,
          artifacts: [],
          append: false,
          history: [],
          status: { parts: [{ isData: false }] }
        },
        operation
      )
      const chunk = only(answer(style, operation, wrap(style, 'artifactUpdate', artifactUpdate(style)), { stream: true }))
      t.match(
        chunk,
        {
          kind: 'artifactUpdate',
          path: inside(style, 'artifactUpdate'),
          taskId: 't',
          state: null,
          status: null,
          append: true,
          artifacts: [{ path: inside(style, 'artifactUpdate', 'artifact'), parts: [{}, { data: { data: 1 } }] }]
        },
        operation
      )
    }
    t.equal(
      only(answer(style, 'SubscribeToTask', wrap(style, 'statusUpdate', { ...statusUpdate(style), append: true }))).append,
      false,
      'only artifacts are added to'
    )
    t.match(
      answer(style, 'SendMessage', wrap(style, 'statusUpdate', statusUpdate(style))),
      { results: [], fault: { path: root(style) } },
      'are no whole answer'
    )
  })

  t.test(`${said(style)}: operations without results, and methods outside of A2A`, async t => {
    for (const operation of [
      'CreateTaskPushNotificationConfig',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
      'DeleteTaskPushNotificationConfig',
      'GetExtendedAgentCard'
    ] as const) {
      for (const result of [null, {}, [], 'x', { id: 't', taskId: 't', url: 'https://a' }]) {
        t.same(answer(style, operation, result), { results: [], isError: false, fault: null, problems: [], unwrapped: null }, operation)
      }
    }
    for (const operation of ['Other', 'Extension'] as const) {
      for (const result of [
        null,
        7,
        'x',
        [],
        {},
        { message: 'hello' },
        { message: { text: 'x' }, Message: 1 },
        { task: { id: 'x' }, task_id: 1 },
        { tasks: [] },
        { tasks: ['x'] },
        { kind: 'message', Kind: 1 },
        { id: 't', status: 'ok' },
        { id: 't', status: { state: 'on' } }
      ]) {
        const { methodResult, ...read } = answer(style, operation, result)
        t.same(read, { results: [], isError: false, fault: null, problems: [], unwrapped: null }, JSON.stringify(result))
        t.same(methodResult?.value, operation === 'Other' ? result : undefined, 'rules read the result of a method, whatever its shape')
      }
      t.equal(answer(style, operation, { tasks: [task(style)] }).results[0]?.path, under(style, 'tasks[0]'))
    }
  })

  t.test(`${said(style)}: steps and paths refer to the same value`, async t => {
    const whole: readonly unknown[] = [
      wrap(style, 'task', task(style)),
      wrap(style, 'message', message(style, 'agent', [])),
      wrap(style, 'statusUpdate', statusUpdate(style)),
      wrap(style, 'artifactUpdate', artifactUpdate(style))
    ]
    for (const result of whole) {
      const value = json(body(style, result))
      const { results: [view] } = viewResponse(value, { ...style, operation: 'SubscribeToTask', id: 7, stream: true })
      if (view === undefined) throw new Error('no result')
      for (const holder of [view, view.message, view.status, ...view.artifacts, ...view.history]) {
        if (holder !== null) {
          t.equal(
            holder.steps.reduce<unknown>((at, step) => (at as Json)[step], value),
            holder.fields.object,
            holder.path
          )
        }
      }
    }
  })
}

t.test('a missing result is a fault if the operation has results', async t => {
  for (const style of STYLES) {
    for (const [operation, words] of [
      ['SendMessage', /is neither a Task nor a Message/],
      ['SendStreamingMessage', /is not a Task, a Message or an update of a Task/],
      ['SubscribeToTask', /or an update/],
      ['GetTask', /is not a Task/],
      ['CancelTask', /is not a Task/]
    ] as const) {
      for (const result of [null, 7, 'x', [], {}, { foo: 1 }, { task: 'x' }, { message: [] }]) {
        const view = answer(style, operation, result)
        t.match(
          view,
          { results: [], isError: false, fault: { path: root(style), message: words } },
          `${said(style)} ${operation} ${JSON.stringify(result)}`
        )
      }
    }
    for (const result of [null, 'x', []]) {
      t.match(answer(style, 'ListTasks', result), { fault: { path: root(style), message: 'is not a list of Tasks' } })
    }
    t.match(answer(style, 'ListTasks', { tasks: 7 }), { fault: { path: under(style, 'tasks'), message: 'is not a list of Tasks' } })
    t.match(answer(style, 'ListTasks', { tasks: [task(style), 'x'] }), {
      results: [],
      fault: { path: under(style, 'tasks[1]'), message: 'is not a Task' }
    })
    for (const result of [{}, { tasks: null }, { tasks: [], totalSize: 0 }]) {
      t.same(
        answer(style, 'ListTasks', result),
        { results: [], isError: false, fault: null, problems: [], unwrapped: null },
        'an empty list may be left out'
      )
    }
  }
  t.match(
    answer(NEW, 'SendMessage', { x: 1 }),
    { fault: { message: 'is neither a Task nor a Message: it has none of "task" and "message"' } },
    '1.0 wraps'
  )
  t.match(
    answer(OLD, 'SendMessage', { kind: 'Task', id: 't', status: { state: 'working' } }),
    { fault: { path: 'result' } },
    'a kind that nobody knows'
  )
  t.match(answer(OLD, 'GetTask', message(OLD, 'agent', [])), { fault: { message: 'is not a Task' } })
})

t.test('bare results of 1.0 are read, and noted', async t => {
  for (const style of [NEW, NEW_REST]) {
    const bare = [
      ['task', task(style), 'SendMessage'],
      ['message', message(style, 'agent', [part(style, 'x'), data(style, { a: 1 })]), 'SendMessage'],
      ['task', task(style), 'SendStreamingMessage'],
      ['message', message(style, 'agent', []), 'SendStreamingMessage'],
      ['statusUpdate', statusUpdate(style), 'SendStreamingMessage'],
      ['artifactUpdate', artifactUpdate(style), 'SubscribeToTask']
    ] as const
    for (const [kind, value, operation] of bare) {
      const view = answer(style, operation, value)
      const note = `is not wrapped in the member "${kind}", as A2A 1.0 requires; official clients do not find it`
      t.strictSame(view.unwrapped, { path: root(style), message: note }, `${said(style)} ${kind}`)
      const wrapped = answer(style, operation, { [kind]: value })
      t.equal(wrapped.unwrapped, null)
      t.strictSame(normaliseResult(only(view)), normaliseResult(only(wrapped)), 'and read like the wrapped result')
    }
    const old = answer(style, 'SendMessage', { ...(task(OLD) as object), status: { state: 'input-required' } })
    t.match(only(old), { kind: 'task', taskId: 't', state: 'input-required' }, 'an object of 0.3')
    t.match(old.unwrapped, { path: root(style) })
    t.match(answer(style, 'SendMessage', statusUpdate(style)), { results: [], fault: { path: root(style) } }, 'no update of a unary call')
    t.match(
      answer(style, 'SendMessage', { id: 't', status: {}, parts: [] }).problems,
      [{ path: root(style), message: /do not determine the kind of result; wrap it/ }],
      'of two kinds'
    )
    // Some readers find the wrapped result, others the bare one.
    for (const [more, path] of [[{}, 'task'], [{ kind: 'task' }, 'task']] as const) {
      t.match(
        answer(style, 'SendMessage', { ...task(style), ...more, task: task(style) }).problems,
        [{ path: under(style, path), message: /looks like a Task itself/ }]
      )
    }
    t.match(
      answer(style, 'SendMessage', { ...task(OLD), Task: task(style) }).problems,
      [{ path: under(style, 'Task'), message: /is read as "task"/ }],
      'a wrapper that only some readers find'
    )
    t.equal(answer(style, 'GetTask', task(style)).unwrapped, null, 'GetTask has no wrapper')
    t.equal(answer(style, 'ListTasks', { tasks: [task(style)] }).unwrapped, null)
  }
  for (const style of [OLD, OLD_REST]) t.equal(answer(style, 'SendMessage', task(OLD)).unwrapped, null, 'only 1.0 wraps everywhere')
})

t.test('roles, states and members that A2A does not define', async t => {
  for (const style of STYLES) {
    const unknown = (value: Json, operation: Operation = 'GetTask'): unknown[] => {
      const member = operation === 'SendMessage' ? 'message' : 'statusUpdate'
      const view = answer(style, operation, operation === 'GetTask' ? value : wrap(style, member, value))
      t.strictSame(view.problems, [], said(style))
      return view.results.flatMap(one => one.unknown.map(({ path, message }) => `${path} ${message}`))
    }
    t.strictSame(unknown(task(style)), [])
    t.strictSame(unknown(statusUpdate(style), 'SubscribeToTask'), [])
    t.strictSame(unknown(message(style, 'agent', []), 'SendMessage'), [])

    const members = (name: string): string => `is not a member that A2A defines for ${name}; extensions add data to metadata`
    const status = { state: state(style, 'working'), mood: 1, message: { ...message(style, 'agent', []), priority: 1 } }
    t.strictSame(
      unknown({ ...task(style), 'x-cost': 1, status, artifacts: [{ ...artifact(style), size: 1 }] }),
      [
        `${under(style, '["x-cost"]')} ${members('Task')}`,
        `${under(style, 'status.mood')} ${members('TaskStatus')}`,
        `${under(style, 'status.message.priority')} ${members('Message')}`,
        `${under(style, 'artifacts[0].size')} ${members('Artifact')}`
      ]
    )
    t.strictSame(
      unknown({ ...message(style, 'agent', []), tone: 'x' }, 'SendMessage'),
      [`${inside(style, 'message', 'tone')} ${members('Message')}`]
    )
    t.match(unknown({ ...statusUpdate(style), progress: 1 }, 'SubscribeToTask'), [/progress is not a member that A2A defines for TaskStatusUpdateEvent/])

    for (const odd of ['paused', 'TASK_STATE_PAUSED', 'Working', 'task_state_working', 99]) {
      if (style === OLD && typeof odd === 'number') continue
      t.strictSame(unknown({ ...task(style), status: { state: odd } }), [`${under(style, 'status.state')} is not a state that A2A ${style.version} defines`])
    }
    for (const odd of ['system', 'ROLE_SYSTEM', 'User', 9]) {
      if (style === OLD && typeof odd === 'number') continue
      t.strictSame(
        unknown({ ...message(style, 'agent', []), role: odd }, 'SendMessage'),
        [`${inside(style, 'message', 'role')} is not a role that A2A ${style.version} defines`]
      )
    }
    for (const none of [null, '', undefined]) {
      t.strictSame(unknown({ ...task(style), status: { state: none } }), [])
      t.strictSame(unknown({ ...message(style, 'agent', []), role: none }, 'SendMessage'), [])
    }
    t.equal(unknown({ ...task(style), ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x${i}`, i])) }).length, 20, 'bounded')
  }
  t.match(answer(OLD, 'GetTask', { ...task(OLD), status: { state: 'TASK_STATE_WORKING' } }).results[0]?.unknown, [{ path: 'result.status.state' }])
  t.match(answer(NEW, 'GetTask', { ...task(NEW), status: { state: 'working' } }).results[0]?.unknown, [{ path: 'result.status.state' }])
  for (const spelled of ['working', 'TASK_STATE_WORKING', 2]) {
    t.strictSame(answer(OLD_REST, 'GetTask', { ...task(OLD_REST), status: { state: spelled } }).results[0]?.unknown, [], 'agents write both')
  }
})

t.test('optional members may be missing', async t => {
  for (const style of STYLES) {
    for (const value of [
      { id: 't' },
      { status: {} },
      { id: 't', status: null, artifacts: null, history: null },
      { id: '', contextId: '', status: { state: null, message: null }, artifacts: [] }
    ]) {
      t.match(only(answer(style, 'GetTask', value)), {
        kind: 'task',
        contextId: null,
        state: null,
        status: null,
        artifacts: [],
        history: []
      })
      t.match(only(answer(style, 'SendMessage', wrap(style, 'task', { ...kind(style, 'task'), ...value }))), { kind: 'task', state: null })
    }
    t.match(only(answer(style, 'SendMessage', wrap(style, 'message', kind(style, 'message')))), {
      kind: 'message',
      taskId: null,
      message: { parts: [], list: null }
    })
    t.match(only(answer(style, 'SendStreamingMessage', wrap(style, 'statusUpdate', kind(style, 'status-update')))), {
      kind: 'statusUpdate',
      taskId: null,
      state: null,
      status: null
    })
    t.match(only(answer(style, 'SendStreamingMessage', wrap(style, 'artifactUpdate', kind(style, 'artifact-update')))), {
      kind: 'artifactUpdate',
      artifacts: [],
      append: false
    })
  }
})

t.test('other spellings of the same members', async t => {
  const snaked = { status_update: { task_id: 't', context_id: 'c', status: { state: 3 } } }
  for (const style of [OLD_REST, NEW, NEW_REST]) {
    t.match(only(answer(style, 'SubscribeToTask', snaked, { stream: true })), {
      kind: 'statusUpdate',
      path: under(style, 'status_update'),
      taskId: 't',
      contextId: 'c',
      state: 'completed'
    })
    t.match(
      only(
        answer(style, 'SubscribeToTask', { artifact_update: { task_id: 't', artifact: { artifact_id: 'a', parts: [] }, append: true } })
      ),
      { kind: 'artifactUpdate', append: true, taskId: 't' }
    )
    t.match(
      only(answer(style, 'SendMessage', { task: { id: 't', context_id: 'c', status: { state: 1 } }, message: null, statusUpdate: null })),
      { kind: 'task', contextId: 'c', state: 'submitted' }
    )
  }
  const status = (role: number): Json => ({ task: { id: 't', status: { state: 1, message: { role, parts: [] } } } })
  t.equal(only(answer(NEW, 'SendMessage', status(1))).status, null, 'ROLE_USER by its number')
  t.not(only(answer(NEW, 'SendMessage', status(2))).status, null)
  t.match(only(answer(OLD_REST, 'SendMessage', { msg: message(OLD_REST, 'agent', [part(OLD_REST, 'x')]) })), {
    kind: 'message',
    path: 'msg',
    message: { parts: [{}] }
  })
  t.match(
    only(answer(OLD_REST, 'GetTask', { id: 't', status: { update: message(OLD_REST, 'agent', [data(OLD_REST, { a: 1 })]) } })).status,
    { path: 'status.update', steps: ['status', 'update'] }
  )
  t.match(
    only(answer(OLD_REST, 'SendMessage', task(OLD))),
    { kind: 'task', path: '', artifacts: [{ parts: [{}, { data: { data: 1 }, ambiguity: null }] }, {}] },
    '0.3 HTTP+JSON as JSON-RPC writes it'
  )
  t.match(only(answer(OLD, 'SendMessage', { task: task(OLD) })), { kind: 'task', path: 'result.task' }, '0.3 JSON-RPC wrapped')
  t.match(
    only(answer(OLD, 'SendMessage', { ...task(OLD), message: message(OLD, 'agent', []) })),
    { kind: 'task' },
    'where kind is the rule, other members are nothing'
  )
  t.match(
    only(answer(NEW, 'Other', message(OLD, 'agent', [data(OLD, { a: 1 })]))),
    { kind: 'message', message: { parts: [{ ambiguity: null }] } },
    'what says its kind is of 0.3'
  )
  const { kind: _task, ...bareTask } = task(OLD)
  const { kind: _message, ...bareMessage } = message(OLD, 'agent', [])
  const { kind: _status, ...bareStatus } = statusUpdate(OLD)
  const { kind: _artifact, ...bareArtifact } = artifactUpdate(OLD)
  t.same(
    [bareTask, bareMessage, bareStatus, bareArtifact].map(value => only(answer(OLD, 'SubscribeToTask', value)).kind),
    ['task', 'message', 'statusUpdate', 'artifactUpdate'],
    '0.3 without kind'
  )
})

t.test('data that clients might read differently is a problem, and all of it is read', async t => {
  const both = { task: task(NEW), message: message(NEW, 'agent', []) }
  const rows: readonly (readonly [string, ResponseView, string, string, number])[] = [
    [
      'two members',
      answer(NEW, 'SendMessage', both),
      'result.message',
      'occurs together with "task"; a response has exactly one of them',
      2
    ],
    [
      'two members, HTTP+JSON',
      answer(NEW_REST, 'SendMessage', both),
      'message',
      'occurs together with "task"; a response has exactly one of them',
      2
    ],
    [
      'one that is no answer here',
      answer(NEW, 'SendMessage', { task: task(NEW), statusUpdate: {} }),
      'result.statusUpdate',
      'occurs together with "task"; a response has exactly one of them',
      1
    ],
    [
      'message and msg',
      answer(OLD_REST, 'SendMessage', { message: message(OLD_REST, 'agent', []), msg: message(OLD_REST, 'agent', []) }),
      'msg',
      'occurs together with "message"; a response has exactly one of them',
      2
    ],
    [
      'kind and a member',
      answer(OLD_REST, 'SendMessage', { ...task(OLD), message: message(OLD_REST, 'agent', []) }),
      'message',
      'occurs together with "kind"; a response has exactly one of them',
      2
    ],
    [
      'twins',
      answer(NEW, 'SubscribeToTask', { statusUpdate: statusUpdate(NEW), status_update: statusUpdate(NEW) }),
      'result.status_update',
      'occurs together with "statusUpdate", another spelling of the same field; send only "statusUpdate"',
      1
    ],
    [
      'another letter case',
      answer(NEW, 'SendMessage', { task: task(NEW), Task: {} }),
      'result.Task',
      'is read as "task" by some agents; spell it "task" or leave it out',
      1
    ],
    [
      'twin ids',
      answer(NEW, 'GetTask', { ...task(NEW), context_id: 'd' }),
      'result.context_id',
      'occurs together with "contextId", another spelling of the same field; send only "contextId"',
      1
    ],
    [
      'odd status',
      answer(NEW, 'GetTask', { ...task(NEW), Status: {} }),
      'result.Status',
      'is read as "status" by some agents; spell it "status" or leave it out',
      1
    ],
    [
      'odd state',
      answer(NEW, 'GetTask', { id: 't', status: { State: 1 } }),
      'result.status.State',
      'is read as "state" by some agents; spell it "state" or leave it out',
      1
    ],
    [
      'status.message and update',
      answer(OLD_REST, 'GetTask', { id: 't', status: { message: {}, update: {} } }),
      'status.update',
      'occurs together with "message", another spelling of the same field; send only "message"',
      1
    ],
    [
      'a part of an artifact',
      answer(NEW, 'GetTask', { id: 't', artifacts: [{ parts: [{ text: 'x', data: 1 }] }] }),
      'result.artifacts[0].parts[0]',
      'contains both "text" and "data"; a part has exactly one of text, raw, url, data',
      1
    ],
    [
      'metadata of a Task that is a list',
      answer(NEW, 'GetTask', { ...task(NEW), metadata: [{ x: 1 }] }),
      'result.metadata',
      'must be an object',
      1
    ],
    [
      'metadata of an update that is a text',
      answer(OLD, 'SubscribeToTask', { ...statusUpdate(OLD), metadata: 'x' }),
      'result.metadata',
      'must be an object',
      1
    ],
    ['an id that is a number', answer(NEW, 'SendMessage', { task: { ...task(NEW), id: 5 } }), 'result.task.id', 'must be a string', 1],
    ['a context that is a list', answer(OLD, 'GetTask', { ...task(OLD), contextId: ['c'] }), 'result.contextId', 'must be a string', 1],
    [
      'the task of an update',
      answer(NEW_REST, 'SubscribeToTask', { artifact_update: { ...artifactUpdate(NEW), taskId: undefined, task_id: true } }),
      'artifact_update.task_id',
      'must be a string',
      1
    ],
    [
      'the task of a Message',
      answer(OLD_REST, 'SendMessage', { message: { ...message(OLD_REST, 'agent', []), taskId: {} } }),
      'message.taskId',
      'must be a string',
      1
    ],
    [
      "an artifact's id",
      answer(NEW, 'GetTask', { id: 't', artifacts: [{ artifactId: 7, parts: [] }] }),
      'result.artifacts[0].artifactId',
      'must be a string',
      1
    ],
    [
      'a state that is a list',
      answer(OLD, 'GetTask', { id: 't', status: { state: ['completed'] } }),
      'result.status.state',
      'must be a string',
      1
    ],
    [
      'append that is a text',
      answer(NEW, 'SubscribeToTask', { artifactUpdate: { ...artifactUpdate(NEW), append: 'false' } }),
      'result.artifactUpdate.append',
      'must be true or false',
      1
    ],
    [
      'data in data of a part with a kind',
      answer(OLD_REST, 'GetTask', { id: 't', artifacts: [{ parts: [{ kind: 'data', data: { data: { x: 1 }, y: 1 } }] }] }),
      'artifacts[0].parts[0].data',
      'contains a member "data" in a part with a kind, and some clients read that member as the whole document; remove "kind", and wrap the document as this binding requires',
      1
    ],
    [
      'data in data of a part with a kind of null',
      answer(OLD_REST, 'GetTask', { id: 't', artifacts: [{ parts: [{ kind: null, data: { data: [] } }] }] }),
      'artifacts[0].parts[0].data',
      'contains a member "data" in a part with a kind, and some clients read that member as the whole document; remove "kind", and wrap the document as this binding requires',
      1
    ],
    [
      'in the envelope',
      raw(NEW, 'SendMessage', { jsonrpc: '2.0', id: 7, result: { task: task(NEW) }, Result: 1 }),
      'Result',
      'is read as "result" by some agents; spell it "result" or leave it out',
      1
    ]
  ]
  for (const [name, view, path, words, count] of rows) {
    t.same(view.problems, [{ path, message: words }], name)
    t.equal(view.results.length, count, name)
    t.equal(view.fault, null, name)
  }
  const odd = { ...task(NEW), history: [{ parts: [{ text: 'x', data: 1 }], Metadata: {}, message_id: 'm', messageId: 'm' }] }
  const view = only(answer(NEW, 'GetTask', odd))
  t.same(view.pastProblems, [], 'history is not the agent\'s alone, and never judged')
  t.equal(view.history.length, 1)
  t.same(
    view.pastProblems.map(({ path }) => path),
    ['result.history[0].Metadata', 'result.history[0].message_id', 'result.history[0].parts[0]'],
    'but a rule that removes something from it has to know'
  )
})

t.test('the role identifies messages of the client in each generation and binding', async t => {
  const rows: readonly (readonly [Style, readonly unknown[], readonly unknown[]])[] = [
    [OLD, ['user'], ['ROLE_USER', 'User']],
    [OLD_REST, ['user', 'ROLE_USER', 1], ['ROLE_User', 'USER', '1']],
    [NEW, ['ROLE_USER', 1], ['user', 'ROLE_User', 'role_user']],
    [NEW_REST, ['ROLE_USER', 1], ['user', 2, null, undefined]]
  ]
  for (const [style, theirs, others] of rows) {
    for (const role of [...theirs, ...others]) {
      const said_ = { ...message(style, 'agent', []), role }
      const { status, past, history } = only(
        answer(style, 'GetTask', { id: 't', status: { message: said_ }, history: [said_, message(style, 'agent', [])] })
      )
      const name = `${said(style)}: ${JSON.stringify(role) ?? 'none'}`
      t.equal(status === null, theirs.includes(role), name)
      t.same([past.length, history.length], [theirs.includes(role) ? 1 : 2, 2], name)
    }
  }
})

t.test('the JSON-RPC envelope', async t => {
  const task = { id: 't' }
  const rows: readonly (readonly [string, unknown, ResponseOptions['id'], object])[] = [
    ['no object', 'x', 7, { fault: { path: '' } }],
    ['a list', [], 7, { fault: { path: '', message: 'is not a JSON-RPC 2.0 object' } }],
    ['null', null, 7, { fault: { path: '' } }],
    ['no jsonrpc', { id: 7, result: task }, 7, { fault: { path: 'jsonrpc', message: 'must be the string "2.0"' } }],
    ['another jsonrpc', { jsonrpc: 2, id: 7, result: task }, 7, { fault: { path: 'jsonrpc' } }],
    ['neither', { jsonrpc: '2.0', id: 7 }, 7, { fault: { path: '', message: 'has neither "result" nor "error"' } }],
    ['both', { jsonrpc: '2.0', id: 7, result: task, error: { code: 1 } }, 7, { isError: false, fault: { path: 'error' } }],
    [
      'another id',
      { jsonrpc: '2.0', id: 8, result: task },
      7,
      { results: [], fault: { path: 'id', message: 'is not the id of the request' } }
    ],
    ['an id of another type', { jsonrpc: '2.0', id: '7', result: task }, 7, { fault: { path: 'id' } }],
    ['no id', { jsonrpc: '2.0', result: task }, 7, { fault: { path: 'id' } }],
    ['null id', { jsonrpc: '2.0', id: null, result: task }, 7, { fault: { path: 'id' } }],
    ['error of another id', { jsonrpc: '2.0', id: 8, error: { code: 1 } }, 7, { isError: false, fault: { path: 'id' } }],
    ['a text id', { jsonrpc: '2.0', id: 'a', result: task }, 'a', { fault: null, results: [{ taskId: 't' }] }],
    [
      'a number as another double',
      JSON.parse('{"jsonrpc":"2.0","id":12345678901234567000,"result":{"id":"t"}}'),
      JSON.parse('12345678901234567890') as number,
      { fault: null, results: [{ taskId: 't' }] }
    ],
    ['no id asked, none answered', { jsonrpc: '2.0', result: task }, null, { fault: null }],
    ['no id asked, one answered', { jsonrpc: '2.0', id: 'x', result: task }, null, { fault: null }],
    ['error', { jsonrpc: '2.0', id: 7, error: { code: -32001 } }, 7, { isError: true, fault: null, results: [] }],
    ['error with null id', { jsonrpc: '2.0', id: null, error: { code: -32001 } }, 7, { isError: true, fault: null }],
    ['error without id', { jsonrpc: '2.0', error: { code: -32001 } }, 7, { isError: true, fault: null }],
    ['null beside error', { jsonrpc: '2.0', id: 7, result: null, error: { code: -32001 } }, 7, { isError: true, fault: null }],
    [
      'null beside result',
      { jsonrpc: '2.0', id: 7, result: task, error: null },
      7,
      { isError: false, fault: null, results: [{ taskId: 't' }] }
    ]
  ]
  for (const style of [OLD, NEW]) {
    for (const [name, value, id, expected] of rows) t.match(raw(style, 'GetTask', value, { id }), expected, `${said(style)}: ${name}`)
  }
})

t.test('errors of HTTP+JSON', async t => {
  for (const style of [OLD_REST, NEW_REST]) {
    for (const value of [
      { error: { code: 404, status: 'NOT_FOUND', message: 'm' } },
      { error: 'x' },
      { code: -32603, message: 'm' },
      { jsonrpc: '2.0', id: null, error: { code: -32603, message: 'm' } }
    ]) {
      for (const operation of ['SendStreamingMessage', 'GetTask', 'ListTasks', 'Other'] as const) {
        t.same(
          raw(style, operation, value, { stream: true }),
          { results: [], isError: true, fault: null, problems: [], unwrapped: null },
          `${operation} ${JSON.stringify(value)}`
        )
      }
    }
    t.match(
      raw(style, 'SendMessage', { error: {}, ...wrap(style, 'task', task(style)) }),
      { isError: false, results: [{ kind: 'task' }] },
      'a Task is no error, whatever else is there'
    )
    t.match(raw(style, 'GetTask', { error: {}, ...task(style) }), { isError: false, results: [{ kind: 'task' }] })
    t.match(
      raw(style, 'GetTask', { code: 5, message: 'm', id: 't', history: [message(style, 'agent', [])] }),
      { isError: false, results: [{ kind: 'task' }] },
      'a history makes it one'
    )
  }
})

t.test('rules get one shape', async t => {
  const message = (parts: unknown[]): object => ({
    role: 'agent',
    taskId: 't',
    contextId: 'c',
    metadata: { on: 'message' },
    extensions: ['urn:message'],
    parts
  })
  const ofAll = (shape: unknown): unknown =>
    JSON.parse(
      JSON.stringify(shape, (key, value: unknown) =>
        key === 'mediaType' || (key === 'metadata' && (value as Json).mimeType !== undefined) ? undefined : value
      )
    )
  const artifacts = [
    {
      artifactId: 'a',
      name: 'n',
      metadata: { on: 'artifact' },
      extensions: ['urn:artifact'],
      parts: [{ text: 'x' }, { data: { data: 1 } }]
    }
  ]
  const ids = { taskId: 't', contextId: 'c' }
  for (const style of STYLES) {
    const shape = (operation: Operation, result: unknown): unknown =>
      ofAll(normaliseResult(only(answer(style, operation, result, { stream: true }))))
    t.same(
      shape('GetTask', task(style)),
      {
        type: 'task',
        ...ids,
        state: 'canceled',
        metadata: { on: 'task' },
        status: { message: message([{ text: 'done' }]) },
        artifacts: [...artifacts, { artifactId: 'b', extensions: [], parts: [] }]
      },
      said(style)
    )
    t.same(
      shape('SendMessage', wrap(style, 'message', message_(style))),
      { type: 'message', ...ids, message: message([{ text: 'x' }]) },
      said(style)
    )
    t.same(
      shape('SubscribeToTask', wrap(style, 'statusUpdate', statusUpdate(style))),
      {
        type: 'statusUpdate',
        ...ids,
        state: 'input-required',
        metadata: { on: 'event' },
        status: { message: message([{ text: 'more' }]) }
      },
      said(style)
    )
    t.same(
      shape('SubscribeToTask', wrap(style, 'artifactUpdate', artifactUpdate(style))),
      { type: 'artifactUpdate', ...ids, append: true, metadata: { on: 'event' }, artifacts },
      said(style)
    )
    t.same(shape('GetTask', { id: 't' }), { type: 'task', taskId: 't' }, 'what is left out is left out')
    t.same(
      shape(
        'SubscribeToTask',
        wrap(style, 'artifactUpdate', { ...kind(style, 'artifact-update'), artifact: { artifactId: '', parts: null } })
      ),
      { type: 'artifactUpdate', append: false, artifacts: [{ extensions: [], parts: [] }] }
    )
  }
})

function message_ (style: Style): Json {
  return message(style, 'agent', [part(style, 'x')])
}

const options: fc.Arbitrary<ResponseOptions> = fc.record({
  version: fc.constantFrom('0.3' as const, '1.0' as const),
  binding: fc.constantFrom('JSONRPC' as const, 'HTTP+JSON' as const),
  operation: fc.constantFrom<Operation>(
    'SendMessage',
    'SendStreamingMessage',
    'GetTask',
    'ListTasks',
    'CancelTask',
    'SubscribeToTask',
    'GetExtendedAgentCard',
    'Other',
    'Extension'
  ),
  id: fc.constantFrom(7, null),
  stream: fc.boolean()
})

/** Reads every lazy property. */
function visit (view: ResponseView): void {
  for (const result of view.results) {
    normaliseResult(result)
    for (const content of result.history) for (const one of content.parts) JSON.stringify(one.fields.object)
    JSON.stringify(result.unknown)
  }
  if (view.fault !== null && (view.results.length > 0 || view.isError)) throw new Error('a fault, and results')
}

/** JSON of the names that mean something, so that it goes deep. */
const odd = fc.letrec<{ value: unknown; object: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 7, '', 't', true, 'task', 'message', 'user', 'ROLE_AGENT', 'working', '2.0'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object')
  ),
  object: fc.dictionary(
    fc.constantFrom(
      'jsonrpc',
      'id',
      'result',
      'error',
      'task',
      'Task',
      'message',
      'msg',
      'statusUpdate',
      'status_update',
      'artifactUpdate',
      'tasks',
      'kind',
      'status',
      'state',
      'update',
      'artifacts',
      'artifact',
      'history',
      'parts',
      'content',
      'data',
      'text',
      'metadata',
      'role',
      'extensions',
      'taskId',
      'task_id',
      '__proto__',
      'constructor',
      'code'
    ),
    tie('value'),
    { maxKeys: 6 }
  )
})).object

t.test('nothing makes it throw', async t => {
  const bodies = STYLES.flatMap(style =>
    [
      task(style),
      wrap(style, 'task', task(style)),
      wrap(style, 'message', message_(style)),
      wrap(style, 'statusUpdate', statusUpdate(style)),
      { tasks: [task(style)] }
    ].map(result => body(style, result))
  )
  const mutated = fc
    .tuple(fc.constantFrom(...bodies), fc.array(fc.tuple(fc.nat(), fc.oneof(fc.jsonValue(), odd)), { minLength: 1, maxLength: 4 }))
    .map(([value, changes]) => mutate(value, changes))
  t.ok(
    check(
      'a2a/read-result/never-throws',
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          odd,
          odd.map(result => ({ jsonrpc: '2.0', id: 7, result })),
          mutated
        ),
        options,
        (value, options) => visit(viewResponse(json(value), options))
      ),
      { numRuns: 3000 }
    ) > 0, 'inputs'
  )
})

/** Puts values where others were. */
function mutate (value: unknown, changes: readonly (readonly [number, unknown])[]): unknown {
  const copy = json(value)
  for (const [dice, by] of changes) {
    const places: [Json, string][] = []
    const walk = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return
      for (const key of Object.keys(node)) {
        places.push([node as Json, key])
        walk((node as Json)[key])
      }
    }
    walk(copy)
    const place = places[dice % Math.max(places.length, 1)]
    if (place !== undefined) place[0][place[1]] = json(by)
  }
  return copy
}
