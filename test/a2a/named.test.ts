import t from 'tap'
import type { Test } from 'tap'
import type { Call } from '#a2a/message/call.js'
import { readCall } from '#a2a/message/call.js'
import type { Address } from '#a2a/message/named.js'
import { unclearName } from '#a2a/message/named.js'
import type { Operation } from '#a2a/operations.js'
import { methodOfOperation } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'

const limits = { depth: 32, members: 1000 }
const read = (version: Version, operation: Operation, body: unknown, rest: boolean): Call => readCall({
  bytes: Buffer.from(JSON.stringify(rest ? body : { jsonrpc: '2.0', id: 1, method: methodOfOperation(operation, version), params: body })),
  binding: rest ? 'HTTP+JSON' : 'JSONRPC',
  version,
  contentType: 'application/json',
  restOperation: rest ? operation : null,
  limits
})
const at = (path: string, tenant: string | null = null, query = ''): Address => ({ path, tenant, query })

t.test('JSON-RPC', async t => {
  const rows: readonly (readonly [Version, Operation, unknown, RegExp | null])[] = [
    ['1.0', 'GetTask', { id: 't', metadata: null, tenant: 'one' }, null],
    ['1.0', 'GetTask', { id: ['t'] }, /^params\.id must be a string$/],
    ['1.0', 'GetTask', { id: 't', tenant: 5 }, /^params\.tenant must be a string$/],
    ['1.0', 'GetTask', { id: 't', ID: 'u' }, /^params\.ID is read as "id"/],
    ['1.0', 'CancelTask', { id: 't', metadata: [1] }, /^params\.metadata must be an object$/],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: null, task_id: 'u' }, /^params\.task_id occurs together with "taskId"/],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: 't', id: 'c' }, null],
    ['0.3', 'CreateTaskPushNotificationConfig', { task_id: 't' }, /^params\.task_id is read as "taskId" by some agents only/],
    ['0.3', 'GetTaskPushNotificationConfig', { id: 't', pushNotificationConfigId: 'c' }, null],
    ['0.3', 'GetTaskPushNotificationConfig', { id: 't', taskId: 'u' }, /^params\.taskId names another task than "id"/],
    ['0.3', 'GetTaskPushNotificationConfig', { id: 't', taskId: 't' }, null]
  ]
  for (const [version, operation, params, expected] of rows) {
    shown(t, unclearName(read(version, operation, params, false), 'JSONRPC', null), expected, `${operation} ${JSON.stringify(params)}`)
  }
})

t.test('HTTP+JSON', async t => {
  const rows: readonly (readonly [Version, Operation, unknown, Address, RegExp | null])[] = [
    ['1.0', 'CancelTask', { id: 't' }, at('/tasks/t:cancel'), null],
    ['1.0', 'CancelTask', { id: 'u' }, at('/tasks/t:cancel'), /^id names another task than the path/],
    ['0.3', 'CancelTask', { name: 'tasks/u' }, at('/v1/tasks/t:cancel'), /^name names another task/],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: 't', id: 'c' }, at('/tasks/t/pushNotificationConfigs'), null],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: 'u' }, at('/tasks/t/pushNotificationConfigs'), /^taskId names another task/],
    ['0.3', 'CreateTaskPushNotificationConfig', { parent: 'tasks/t' }, at('/v1/tasks/t/pushNotificationConfigs'), null],
    [
      '0.3',
      'CreateTaskPushNotificationConfig',
      { parent: 'tasks/u' },
      at('/v1/tasks/t/pushNotificationConfigs'),
      /^parent names another task/
    ],
    [
      '0.3',
      'CreateTaskPushNotificationConfig',
      { config: { name: 'tasks/u/pushNotificationConfigs/c' } },
      at('/v1/tasks/t/pushNotificationConfigs'),
      /^config names another task/
    ],
    ['1.0', 'CancelTask', { tenant: 'one' }, at('/one/tasks/t:cancel', 'one'), null],
    ['1.0', 'CancelTask', { tenant: 'two' }, at('/one/tasks/t:cancel', 'one'), /^tenant differs from the tenant of the request path/],
    ['1.0', 'CancelTask', { tenant: 'one' }, at('/tasks/t:cancel'), /^tenant is read by some agents only/],
    ['1.0', 'CreateTaskPushNotificationConfig', { tenant: 'one' }, at('/tasks/t/pushNotificationConfigs'), null],
    ['1.0', 'GetTask', null, at('/tasks/t', null, '?tenant=one'), /^query tenant is read by some agents only/],
    ['1.0', 'GetTask', null, at('/tasks/t', null, '?t%65nant=one'), /^query tenant/],
    ['1.0', 'GetTask', null, at('/tasks/t', null, '?tenant=&historyLength=1'), null],
    ['1.0', 'GetTask', null, at('/o%20e/tasks/t', 'o%20e', '?tenant=o+e'), null],
    ['1.0', 'GetTask', null, at('/one/tasks/t', 'one', '?tenant=one&tenant=two'), /^query tenant/],
    ['0.3', 'GetTask', null, at('/v1/tasks/t', null, '?tenant=one'), null]
  ]
  for (const [version, operation, body, address, expected] of rows) {
    shown(
      t,
      unclearName(read(version, operation, body, true), 'HTTP+JSON', address),
      expected,
      `${operation} ${JSON.stringify(body)} ${address.path}${address.query}`
    )
  }
})

function shown (t: Test, problem: ReturnType<typeof unclearName>, expected: RegExp | null, name: string): void {
  if (expected === null) t.equal(problem, null, name)
  else t.match(`${problem?.path} ${problem?.message}`, expected, name)
}
