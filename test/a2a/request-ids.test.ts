/** Each operation names its task where `idsOf` looks: a new operation without an entry fails here. */
import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import type { Call } from '#a2a/message/call.js'
import type { Operation } from '#a2a/operations.js'
import { matchRest, operationOfMethod } from '#a2a/operations.js'
import { idsOf, NAMING, needsTask } from '#a2a/request-ids.js'
import type { Binding, Version } from '#a2a/versions.js'
import { callIn, PLACES } from '../helpers/task-calls.js'

const limits = { depth: 64, members: 10_000 }
const EMPTY = Buffer.alloc(0)

function read (body: string | null, version: Version, binding: Binding, restOperation: Operation | null): Call {
  return readCall({ bytes: body === null ? EMPTY : Buffer.from(body), binding, version, contentType: 'application/json', restOperation, limits })
}

const rpc = (method: string, params: object, version: Version = '1.0'): Call =>
  read(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), version, 'JSONRPC', null)
const idsIn = (call: Call): string[] => idsOf(call, null, 100).map(({ kind, id, path }) => `${kind} ${id} ${path}`)

t.test('every place, version and binding', async t => {
  const missing: object[] = []
  for (const version of ['1.0', '0.3'] as const) {
    for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
      for (const place of PLACES) {
        const { method, path, body } = callIn(place, 'the id/1', version, binding)
        const [rest = '', query = ''] = path.slice('/a2a/rest'.length).split('?')
        const match = binding === 'JSONRPC' ? null : matchRest(method, rest, version, '/a2a/rest')
        const call = read(body, version, binding, match !== null && 'operation' in match ? match.operation : null)
        const address = binding === 'JSONRPC' ? null : { path, query: query === '' ? '' : `?${query}` }
        const ids = idsOf(call, address === null ? null : { ...address, path: path.split('?')[0] ?? '' }, 100)
        const kind = place[1] === 'context' ? 'context' : 'task'
        if (call.operation !== place[0] || !ids.some(one => one.kind === kind && one.id === 'the id/1')) missing.push({ version, binding, place, ids, problem: call.problem })
      }
    }
  }
  t.same(missing, [])
})

t.test('every operation has a place, or a reason for none', async t => {
  const covered = new Set<Operation>(PLACES.map(([operation]) => operation))
  const none: readonly Operation[] = ['GetExtendedAgentCard', 'Other', 'Extension']
  const operations = Object.keys(NAMING) as Operation[]
  t.same(operations.filter(one => covered.has(one) === none.includes(one)), [])
  t.same(operations.filter(needsTask).every(one => covered.has(one)), true)
  const methods = ['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig',
    'GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard']
  t.same(methods.filter(method => operationOfMethod(method, '1.0') === null), [])
})

t.test('all ids of a request, each once', async t => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [], taskId: 'a', contextId: 'c', referenceTaskIds: ['b', 'a', 'b', ''] }
  t.same(idsIn(rpc('SendMessage', { message, configuration: { task_push_notification_config: { task_id: 'p' }, pushNotificationConfig: { taskId: 'q' } } })), [
    'task a params.message.taskId',
    'context c params.message.contextId',
    'task b params.message.referenceTaskIds[0]',
    'task q params.configuration.pushNotificationConfig.taskId',
    'task p params.configuration.task_push_notification_config.task_id'
  ])
  t.same(idsIn(rpc('SendMessage', { message: { ...message, taskId: '', contextId: null, referenceTaskIds: undefined } })), [], 'absent')
  t.same(idsIn(rpc('SendMessage', { message: { message_id: 'm', role: 'ROLE_USER', parts: [], task_id: 'a', context_id: 'c', reference_task_ids: ['b'] } })).length, 3)
  t.same(idsIn(rpc('GetTask', { id: 'a', name: 'tasks/b', taskId: 'c' })), ['task a params.id', 'task b params.name'])
  t.same(idsIn(rpc('CreateTaskPushNotificationConfig', { taskId: 'a', id: 'config', parent: 'tasks/b', config: { name: 'tasks/c/pushNotificationConfigs/1' } })), [
    'task a params.taskId', 'task b params.parent', 'task c params.config.name'
  ])
  t.same(idsIn(rpc('tasks/pushNotificationConfig/get', { id: 'a', taskId: 'b' }, '0.3')), ['task a params.id', 'task b params.taskId'])
  t.same(idsIn(rpc('ListTasks', { contextId: 'c' })), ['context c params.contextId'])
  const list = idsOf(read(null, '1.0', 'HTTP+JSON', 'ListTasks'), { path: '/tasks', query: '?contextId=a&context_id=b&CONTEXTID=c&contextId=d&pageSize=1' }, 100)
  t.same(list.map(({ id, path }) => [id, path]), ['a', 'b', 'c', 'd'].map(id => [id, 'query contextId']))
  t.same(idsIn(rpc('own/method', { message })).length, 3, 'a message in a method of an extension')
  t.same(idsIn(rpc('GetTask', { id: 7 })), [], 'other types are problems of the request')
})

t.test('the search ends', async t => {
  const many = Array.from({ length: 5_000 }, (_, i) => String(i))
  t.equal(idsOf(rpc('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [], referenceTaskIds: many } }), null, 100).length, 101)
})
