/** `push.perTask`: the task and the configurations that a request names, and what a response tells. */
import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import type { Operation } from '#a2a/operations.js'
import type { Binding, Version } from '#a2a/versions.js'
import { compilePush } from '#policy/push/check.js'
import type { PushCount } from '#policy/push/count.js'
import { pushEntryOf, pushCountOf, readPushResponse } from '#policy/push/count.js'

const push = compilePush(
  { mode: 'enforce', allow: [], require: { https: true, authentication: false }, perTask: 2, onUnknown: 'reject', resolve: false },
  'enforce'
)
const url = 'https://a.test/'

interface Asked { readonly version?: Version, readonly method?: string, readonly operation?: Operation, readonly path?: string }

function countOf (body: object, { version = '1.0', method, operation, path }: Asked = {}): ReturnType<typeof pushCountOf> {
  const binding: Binding = path === undefined ? 'JSONRPC' : 'HTTP+JSON'
  const call = readCall({
    bytes: Buffer.from(JSON.stringify(binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, method, params: body } : body)),
    binding,
    version,
    contentType: 'application/json',
    restOperation: operation ?? null,
    limits: { depth: 64, members: 1000 }
  })
  if (call.problem !== null) throw new Error(call.problem.message)
  return push === null ? null : pushCountOf(push, call, path ?? null, 'unique')
}

const ids = (...lists: readonly (readonly string[])[]): readonly string[] => lists.map(pushEntryOf)
const create = { method: 'CreateTaskPushNotificationConfig' }
const old = { version: '0.3', method: 'tasks/pushNotificationConfig/set' } as const
const rest = { operation: 'CreateTaskPushNotificationConfig', path: '/tasks/t%2F1/pushNotificationConfigs' } as const

t.test('creates', async t => {
  for (const [body, asked, taskId, entries] of [
    [{ taskId: 't', id: 'c', url }, create, 't', ids(['c'])],
    [{ task_id: 't', id: 'c', url }, create, 't', ids(['c'])],
    [{ taskId: 't', config: { id: 'c', url }, configId: 'c' }, create, 't', ids(['c'])],
    [{ taskId: 't', config: { id: 'c', url }, configId: 'd' }, create, 't', ids(['c', 'd'])],
    [{ taskId: 't', pushNotificationConfig: { id: 'c', url } }, old, 't', ids(['c'])],
    [{ id: 't', pushNotificationConfig: { id: 'c', url } }, old, 't', ids(['c'])],
    [{ id: 'c', url }, rest, 't/1', ids(['c'])],
    [
      { parent: 'tasks/t', config: { name: 'tasks/t/pushNotificationConfigs/c', pushNotificationConfig: { url } } },
      { ...rest, version: '0.3', path: '/v1/tasks/t/pushNotificationConfigs' } as const,
      't',
      null
    ],
    [{ name: 'tasks/t/pushNotificationConfigs/c', pushNotificationConfig: { url } }, { ...rest, version: '0.3', path: '/v1/tasks/t/pushNotificationConfigs' } as const, 't', ids(['c'])]
  ] as const) {
    const found = countOf(body, asked) as PushCount
    t.equal(found.taskId, taskId, JSON.stringify(body))
    t.equal(found.kind, 'create')
    if (entries !== null) t.same(found.entries, entries, JSON.stringify(body))
  }
})

t.test('configurations without an id are new each time; several count each', async t => {
  const found = countOf({ taskId: 't', url, config: { url } }, create) as PushCount
  t.equal(new Set(found.entries).size, 2)
  t.notSame(found.entries, ids(['c'], ['d']))
  t.same((countOf({ taskId: 't', id: '', url }, create) as PushCount).entries.length, 1)
})

t.test('messages: references are no task of the configuration; a new task is not counted', async t => {
  const send = { method: 'SendMessage' }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
  const configuration = { taskPushNotificationConfig: { id: 'c', url } }
  t.match(countOf({ message: { ...message, taskId: 't', referenceTaskIds: ['r'] }, configuration }, send), { kind: 'send', taskId: 't', entries: ids(['c']) })
  t.equal(countOf({ message: { ...message, referenceTaskIds: ['r'] }, configuration }, send), null)
  t.equal(countOf({ message: { ...message, taskId: 't' } }, send), null)
  t.match(countOf({ message, configuration: { taskPushNotificationConfig: { id: 'c', url, taskId: 't' } } }, send), { taskId: 't' })
  t.match(countOf({ message: { ...message, taskId: 't' }, configuration: { taskPushNotificationConfig: { url, taskId: 'u' } } }, send), { reason: 'INVALID_PARAMS' })
})

t.test('deletes name one configuration', async t => {
  const remove = { method: 'DeleteTaskPushNotificationConfig' }
  const removeOld = { version: '0.3', method: 'tasks/pushNotificationConfig/delete' } as const
  t.match(countOf({ taskId: 't', id: 'c' }, remove), { kind: 'delete', taskId: 't', entries: ids(['c']) })
  t.match(countOf({ id: 't', pushNotificationConfigId: 'c' }, removeOld), { kind: 'delete', taskId: 't', entries: ids(['c']) })
  t.equal(countOf({ taskId: 't', id: 'c', pushNotificationConfigId: 'd' }, remove), null, 'agents differ')
  t.equal(countOf({ taskId: 't' }, remove), null)
  t.equal(countOf({ id: 't' }, removeOld), null)
})

t.test('responses', async t => {
  const read = (rpc: boolean, status: number, value: unknown) =>
    readPushResponse(rpc, status, value === null ? null : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)))
  t.same(read(true, 200, { result: { id: 'c', url } }), { succeeded: true, id: 'c' })
  t.same(read(true, 200, { result: { taskId: 't', pushNotificationConfig: { id: 'c' } } }), { succeeded: true, id: 'c' })
  t.same(read(false, 200, { name: 'tasks/t/pushNotificationConfigs/c', push_notification_config: { url } }), { succeeded: true, id: 'c' })
  t.same(read(true, 200, { result: null }), { succeeded: true, id: null })
  t.same(read(true, 200, { error: { code: 1 } }), { succeeded: false, id: null })
  t.same(read(false, 204, ''), { succeeded: true, id: null })
  for (const [rpc, status, value] of [[true, 200, 'x'], [true, 200, ''], [true, 200, null], [true, 200, []], [false, 302, ''], [false, 500, {}], [true, 503, {}]] as const) {
    t.same(read(rpc, status, value), { succeeded: null, id: null }, JSON.stringify([rpc, status, value]))
  }
  t.same(read(false, 404, {}), { succeeded: false, id: null })
})
