import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import type { Call } from '#a2a/message/call.js'
import type { Operation } from '#a2a/operations.js'
import { namesOf, NO_TASK_NAMES, taskIdOf, tenantOf } from '#a2a/task-id.js'
import type { Version } from '#a2a/versions.js'

const limits = { depth: 32, members: 1000 }
const rpc = (version: Version, method: string, params: unknown): Call =>
  readCall({
    bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
    binding: 'JSONRPC',
    version,
    contentType: 'application/json',
    restOperation: null,
    limits
  })
const rest = (version: Version, restOperation: Operation, body?: unknown): Call =>
  readCall({
    bytes: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    binding: 'HTTP+JSON',
    version,
    contentType: 'application/json',
    restOperation,
    limits
  })

t.test('JSON-RPC: the task is named by message or params', async t => {
  const rows: readonly (readonly [Version, string, unknown, string | null])[] = [
    ['0.3', 'message/send', { message: { role: 'user', parts: [], taskId: 't' } }, 't'],
    ['0.3', 'message/stream', { message: { parts: [] } }, null],
    ['0.3', 'message/stream', { message: { parts: [], taskId: '' }, id: 'x', taskId: 'y' }, null],
    ['0.3', 'tasks/get', { id: 't' }, 't'],
    ['0.3', 'tasks/cancel', { id: 't', metadata: {} }, 't'],
    ['0.3', 'tasks/resubscribe', { id: 't' }, 't'],
    ['0.3', 'tasks/get', { name: 'tasks/t' }, 't'],
    ['0.3', 'tasks/get', {}, null],
    ['0.3', 'tasks/get', undefined, null],
    ['0.3', 'tasks/get', { id: 7 }, null],
    ['0.3', 'tasks/list', { id: 't' }, null],
    ['0.3', 'tasks/pushNotificationConfig/set', { taskId: 't', pushNotificationConfig: { id: 'c' } }, 't'],
    ['0.3', 'tasks/pushNotificationConfig/get', { id: 't', pushNotificationConfigId: 'c' }, 't'],
    ['0.3', 'tasks/pushNotificationConfig/list', { id: 't' }, 't'],
    ['0.3', 'tasks/pushNotificationConfig/delete', { id: 't', pushNotificationConfigId: 'c' }, 't'],
    ['1.0', 'SendMessage', { message: { parts: [], taskId: 't' } }, 't'],
    ['1.0', 'SendStreamingMessage', { message: { parts: [], task_id: 't' } }, 't'],
    ['1.0', 'SendMessage', { taskId: 't' }, null],
    ['1.0', 'GetTask', { id: 't' }, 't'],
    ['1.0', 'CancelTask', { id: 't' }, 't'],
    ['1.0', 'SubscribeToTask', { id: 't' }, 't'],
    ['1.0', 'SubscribeToTask', { name: 'tasks/t' }, 't'],
    ['1.0', 'GetTask', { name: 'users/t' }, null],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: 't', id: 'c', url: 'https://a' }, 't'],
    ['1.0', 'CreateTaskPushNotificationConfig', { parent: 'tasks/t', id: 'c' }, 't'],
    ['1.0', 'GetTaskPushNotificationConfig', { taskId: 't', id: 'c' }, 't'],
    ['1.0', 'GetTaskPushNotificationConfig', { task_id: 't', id: 'c' }, 't'],
    ['1.0', 'GetTaskPushNotificationConfig', { id: 'c' }, null],
    ['1.0', 'GetTaskPushNotificationConfig', { name: 'tasks/t/pushNotificationConfigs/c' }, 't'],
    ['1.0', 'ListTaskPushNotificationConfigs', { taskId: 't' }, 't'],
    ['1.0', 'DeleteTaskPushNotificationConfig', { taskId: 't', id: 'c' }, 't'],
    ['1.0', 'ListTasks', { contextId: 'c' }, null],
    ['1.0', 'GetExtendedAgentCard', { id: 't' }, null],
    ['1.0', 'com.example/own', { id: 't', taskId: 't' }, null]
  ]
  for (const [version, method, params, expected] of rows) {
    t.equal(taskIdOf(rpc(version, method, params), null), expected, `${version} ${method} ${JSON.stringify(params)}`)
  }
})

t.test('HTTP+JSON: the task is named by the path, or by the message', async t => {
  const rows: readonly (readonly [Version, Operation, string, unknown, string | null])[] = [
    ['1.0', 'GetTask', '/tasks/t', undefined, 't'],
    ['1.0', 'GetTask', '/acme/tasks/t', undefined, 't'],
    ['0.3', 'GetTask', '/base/v1/tasks/t', undefined, 't'],
    ['1.0', 'GetTask', '/tasks/tasks/tasks', undefined, 'tasks'],
    ['1.0', 'GetTask', '/tasks/a%20%C3%A9', undefined, 'a é'],
    ['1.0', 'GetTask', '/tasks/a:b', undefined, 'a:b'],
    ['1.0', 'GetTask', '/tasks/a%3Acancel', undefined, 'a:cancel'],
    ['1.0', 'GetTask', '/tasks/%E0%A4%A', undefined, '%E0%A4%A'],
    ['1.0', 'CancelTask', '/tasks/t:cancel', undefined, 't'],
    ['1.0', 'CancelTask', '/tasks/a:b:cancel', { id: 'other' }, 'a:b'],
    ['0.3', 'CancelTask', '/v1/tasks/t:cancel', { name: 'tasks/other' }, 't'],
    ['1.0', 'SubscribeToTask', '/tasks/t:subscribe', undefined, 't'],
    ['1.0', 'CreateTaskPushNotificationConfig', '/tasks/t/pushNotificationConfigs', { id: 'c' }, 't'],
    ['1.0', 'ListTaskPushNotificationConfigs', '/tasks/t/pushNotificationConfigs', undefined, 't'],
    ['1.0', 'GetTaskPushNotificationConfig', '/tasks/t/pushNotificationConfigs/c', undefined, 't'],
    ['0.3', 'DeleteTaskPushNotificationConfig', '/v1/tasks/t/pushNotificationConfigs/c', undefined, 't'],
    ['1.0', 'GetTask', '/elsewhere/t', { id: 'b' }, 'b'],
    ['1.0', 'ListTasks', '/tasks', undefined, null],
    ['1.0', 'SendMessage', '/message:send', { message: { taskId: 't', parts: [] } }, 't'],
    ['0.3', 'SendStreamingMessage', '/v1/message:stream', { request: { task_id: 't', content: [] } }, 't'],
    ['1.0', 'SendMessage', '/message:send', { message: { parts: [] } }, null],
    ['1.0', 'Extension', '/tasks/t', { message: { taskId: 'm', parts: [] } }, 'm'],
    ['1.0', 'Extension', '/tasks/t', { id: 'x' }, null]
  ]
  for (const [version, operation, path, body, expected] of rows) {
    t.equal(taskIdOf(rest(version, operation, body), path), expected, `${version} ${operation} ${path}`)
  }
})

t.test('names of a call: its task, and the context of its message or of the tasks to list', async t => {
  t.same(namesOf(rpc('1.0', 'SendMessage', { message: { taskId: 't', contextId: 'c', parts: [] } }), null), { taskId: 't', contextId: 'c' })
  t.same(namesOf(rpc('0.3', 'message/send', { message: { contextId: 'c', parts: [] } }), null), { taskId: null, contextId: 'c' })
  t.same(namesOf(rpc('1.0', 'ListTasks', { contextId: 'c' }), null), { taskId: null, contextId: 'c' })
  t.same(namesOf(rpc('1.0', 'ListTasks', { contextId: 7 }), null), NO_TASK_NAMES)
  t.same(namesOf(rpc('1.0', 'GetTask', { id: 't', contextId: 'c' }), null), { taskId: 't', contextId: null }, 'GetTask has no context')
  t.same(namesOf(rest('1.0', 'GetTask'), '/tasks/t'), { taskId: 't', contextId: null })
  t.same(namesOf(rest('1.0', 'ListTasks'), '/tasks'), NO_TASK_NAMES)
})

t.test('the tenant comes from the path, else from the body', async t => {
  t.equal(tenantOf(rpc('1.0', 'SendMessage', { tenant: 'acme', message: { parts: [] } }), null), 'acme')
  t.equal(tenantOf(rpc('1.0', 'GetTask', { tenant: 'acme', id: 't' }), null), 'acme')
  t.equal(tenantOf(rpc('1.0', 'GetTask', { tenant: '', id: 't' }), null), null)
  t.equal(tenantOf(rpc('1.0', 'GetTask', { tenant: 7 }), null), null)
  t.equal(tenantOf(rpc('1.0', 'ListTasks', undefined), null), null)
  t.equal(tenantOf(rpc('0.3', 'tasks/get', { tenant: 'acme', id: 't' }), null), null, '0.3 has none')
  t.equal(tenantOf(rest('1.0', 'GetTask'), 'a%20c'), 'a c')
  t.equal(tenantOf(rest('1.0', 'GetTask'), null), null)
  t.equal(tenantOf(rest('1.0', 'SendMessage', { tenant: 'other', message: {} }), 'acme'), 'acme')
})
