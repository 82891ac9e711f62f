import t from 'tap'
import { viewResponse } from '#a2a/message/read-result.js'
import type { ResponseOptions } from '#a2a/message/read-result.js'
import type { MetadataPlace } from '#config/model/model.js'
import { ResultSubject } from '#policy/response/result-subject.js'
import { compileMetadata } from '#policy/selectors/select.js'
import { compilePart } from '#policy/selectors/part.js'
import type { JsonObject } from '#wire/json/object.js'
import { editJson } from '#wire/json/edit.js'

const OPTIONS: ResponseOptions = { version: '1.0', binding: 'JSONRPC', operation: 'SubscribeToTask', id: 1, stream: true }
const NONE: ReadonlySet<string> = new Set()
const envelope = (result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result }, null, 1)
const subjectOf = (text: string, options: Partial<ResponseOptions> = {}): ResultSubject => {
  const view = viewResponse(JSON.parse(text), { ...OPTIONS, ...options })
  const result = view.results[0]
  if (result === undefined) throw new Error(JSON.stringify(view))
  return new ResultSubject(result, 'SubscribeToTask', { matched: NONE, active: [], caller: null }, true)
}

const SECRET = { k: 'secret' }
const content = (extensions: string[], ...more: object[]): object => ({
  extensions,
  metadata: SECRET,
  parts: [{ text: 'x', metadata: SECRET }, ...more]
})
const results = {
  task: {
    task: {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_WORKING', message: content(['urn:a', 'urn:b']) },
      artifacts: [content(['urn:b', 'urn:c'], { data: 1, metadata: SECRET }), content([])],
      history: [content(['urn:h'])],
      metadata: SECRET
    }
  },
  message: { message: content(['urn:a']) },
  statusUpdate: { statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_COMPLETED', message: content([]) }, metadata: SECRET } },
  artifactUpdate: { artifactUpdate: { taskId: 't', artifact: content(['urn:c']), metadata: SECRET } },
  ofClient: { statusUpdate: { taskId: 't', status: { message: { ...content(['urn:a']), role: 'ROLE_USER' } }, metadata: SECRET } },
  snaked: { status_update: { task_id: 't', status: { message: content([]) }, metadata: SECRET } }
}
type Name = keyof typeof results
const subject = (name: Name): ResultSubject => subjectOf(envelope(results[name]))

t.test('ids and states of a result', async t => {
  t.match(subject('task'), {
    operation: 'SubscribeToTask',
    taskId: 'present',
    contextId: 'present',
    taskState: 'working',
    listed: ['urn:a', 'urn:b', 'urn:c']
  })
  t.match(subject('message'), { taskId: 'absent', contextId: 'absent', taskState: null, listed: ['urn:a'] })
  t.match(subject('statusUpdate'), { taskId: 'present', contextId: 'absent', taskState: 'completed', listed: [] })
  t.same(subject('ofClient').listed, [], 'what the client lists is not the agent\'s')
  const one = subject('task')
  t.match(one.normalised, { type: 'task', state: 'working' })
  t.equal(one.normalised, one.normalised, 'is made once')
})

t.test('contents by place', async t => {
  const paths = (name: Name, ...places: ('message' | 'status' | 'artifact')[]): string[] =>
    subject(name)
      .contents(places)
      .map(one => one.path)
  t.same(paths('task', 'message', 'status', 'artifact'), [
    'result.task.status.message',
    'result.task.artifacts[0]',
    'result.task.artifacts[1]'
  ])
  t.same(paths('task', 'artifact'), ['result.task.artifacts[0]', 'result.task.artifacts[1]'])
  t.same(paths('task'), [])
  t.same(paths('message', 'message', 'status', 'artifact'), ['result.message'])
  t.same(paths('message', 'status'), [])
  t.same(paths('ofClient', 'message', 'status', 'artifact'), [])
  t.same(paths('statusUpdate', 'message', 'status', 'artifact'), ['result.statusUpdate.status.message'])
  t.same(paths('artifactUpdate', 'message', 'status', 'artifact'), ['result.artifactUpdate.artifact'])
})

const PLACES: readonly MetadataPlace[] = ['message', 'status', 'artifact', 'part', 'task', 'event', 'params']
const expected: Readonly<Record<Name, Partial<Record<MetadataPlace, readonly string[]>>>> = {
  task: {
    status: ['result.task.status.message.metadata'],
    artifact: ['result.task.artifacts[0].metadata', 'result.task.artifacts[1].metadata'],
    part: [
      'result.task.status.message.parts[0].metadata',
      'result.task.artifacts[0].parts[0].metadata',
      'result.task.artifacts[0].parts[1].metadata',
      'result.task.artifacts[1].parts[0].metadata'
    ],
    task: ['result.task.metadata']
  },
  message: { message: ['result.message.metadata'], part: ['result.message.parts[0].metadata'] },
  statusUpdate: {
    status: ['result.statusUpdate.status.message.metadata'],
    part: ['result.statusUpdate.status.message.parts[0].metadata'],
    event: ['result.statusUpdate.metadata']
  },
  artifactUpdate: {
    artifact: ['result.artifactUpdate.artifact.metadata'],
    part: ['result.artifactUpdate.artifact.parts[0].metadata'],
    event: ['result.artifactUpdate.metadata']
  },
  ofClient: { event: ['result.statusUpdate.metadata'] },
  snaked: {
    status: ['result.status_update.status.message.metadata'],
    part: ['result.status_update.status.message.parts[0].metadata'],
    event: ['result.status_update.metadata']
  }
}

for (const name of Object.keys(results) as Name[]) {
  t.test(`${name}: holders of metadata by place, with the steps to remove it`, async t => {
    const text = envelope(results[name])
    for (const place of PLACES) {
      const holders = subject(name).holders([place])
      t.same(holders.map(holder => holder.path), expected[name][place] ?? [], place)
      if (holders.length === 0) continue
      t.same(holders.map(holder => holder.metadata), holders.map(() => SECRET))
      const left = editJson(Buffer.from(text), holders.map(holder => ({ path: [...holder.steps(), 'k'], value: null }))).toString()
      t.equal(count(text) - count(left), holders.length, `${place} is gone from the bytes`)
      t.same(subjectOf(left).holders([place]).map(holder => holder.metadata), holders.map(() => ({})), 'and nothing else')
    }
    t.same(subject(name).holders(PLACES).map(holder => holder.path), PLACES.flatMap(place => expected[name][place] ?? []))
  })
}

t.test('the history can be removed too', async t => {
  const text = envelope(results.task)
  const { history } = subject('task').result
  const left = editJson(
    Buffer.from(text),
    history.flatMap(({ steps, fields }) => [{ path: [...steps, fields.key('metadata') ?? 'metadata', 'k'], value: null }])
  ).toString()
  t.equal(count(left), count(text) - 1)
  t.same((JSON.parse(left) as { result: { task: { history: JsonObject[] } } }).result.task.history[0]?.metadata, {})
})

t.test('selectors work on results as on requests, and return the paths of values', async t => {
  const text =
    '{"id":"t","artifacts":[{"parts":[{"text":"x"},{"data":{"data":{"a":"secret"}},"metadata":{"k":"secret","mimeType":"a/b"}}]}]}'
  const old = subjectOf(text, { version: '0.3', binding: 'HTTP+JSON', operation: 'GetTask' })
  const context = { uris: ['urn:x'], policy: 'p', matcher: () => () => true, activeAs: (uri: string) => [uri] }
  const found = [
    ...compilePart({ in: ['artifact'], mediaType: 'a/b', dataKey: 'a' }, context, true).select(old),
    ...compileMetadata({ in: ['part'], key: 'k' }, context, true).select(old)
  ]
  t.same(
    found.map(one => [one.path, one.value]),
    [
      ['artifacts[0].parts[1].data.data.a', 'secret'],
      ['artifacts[0].parts[1].metadata.k', 'secret']
    ]
  )
  t.equal(
    editJson(
      Buffer.from(text),
      found.map(one => ({ path: one.at, value: null }))
    ).toString(),
    '{"id":"t","artifacts":[{"parts":[{"text":"x"},{"data":{"data":{}},"metadata":{"mimeType":"a/b"}}]}]}'
  )
  t.same(compileMetadata({ in: ['event', 'params', 'message', 'status'], key: '*' }, context, true).select(old), [])
})

function count (text: string): number {
  return text.split('secret').length - 1
}
