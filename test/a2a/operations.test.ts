import t from 'tap'
import type { Operation, RestMatch, RestVerbMismatch } from '../../src/a2a/operations.js'
import { carriesMessage, inMessageScope, matchRest, operationOfMethod } from '../../src/a2a/operations.js'
import type { Version } from '../../src/a2a/versions.js'

const METHODS: readonly (readonly [Operation, string, string])[] = [
  ['SendMessage', 'message/send', 'SendMessage'],
  ['SendStreamingMessage', 'message/stream', 'SendStreamingMessage'],
  ['GetTask', 'tasks/get', 'GetTask'],
  ['ListTasks', 'tasks/list', 'ListTasks'],
  ['CancelTask', 'tasks/cancel', 'CancelTask'],
  ['SubscribeToTask', 'tasks/resubscribe', 'SubscribeToTask'],
  ['CreateTaskPushNotificationConfig', 'tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig'],
  ['GetTaskPushNotificationConfig', 'tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig'],
  ['ListTaskPushNotificationConfigs', 'tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
  ['DeleteTaskPushNotificationConfig', 'tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig'],
  ['GetExtendedAgentCard', 'agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard']
]

t.test('every JSON-RPC method names its operation in its own version only', async t => {
  for (const [operation, old, current] of METHODS) {
    t.equal(operationOfMethod(old, '0.3'), operation, old)
    t.equal(operationOfMethod(current, '1.0'), operation, current)
    t.equal(operationOfMethod(old, '1.0'), null, `${old} under 1.0`)
    t.equal(operationOfMethod(current, '0.3'), null, `${current} under 0.3`)
  }
  for (const method of ['', 'sendMessage', 'Message/Send', 'message/send ', 'constructor', '__proto__', 'Other', 'tasks/send']) {
    t.equal(operationOfMethod(method, '0.3'), null, method)
    t.equal(operationOfMethod(method, '1.0'), null, method)
  }
})

t.test('only the two send operations carry messages; unknown methods are in scope with them', async t => {
  const all = [...METHODS.map(([operation]) => operation), 'Other' as const]
  t.same(all.filter(carriesMessage), ['SendMessage', 'SendStreamingMessage'])
  t.same(all.filter(inMessageScope), ['SendMessage', 'SendStreamingMessage', 'Other'])
})

type Row = readonly [verb: string, path: string, operation: Operation]
const COMMON: readonly Row[] = [
  ['POST', '/message:send', 'SendMessage'],
  ['POST', '/message:stream', 'SendStreamingMessage'],
  ['GET', '/tasks/t1', 'GetTask'],
  ['GET', '/tasks', 'ListTasks'],
  ['POST', '/tasks/t1:cancel', 'CancelTask'],
  ['POST', '/tasks/t1:subscribe', 'SubscribeToTask'],
  ['GET', '/tasks/t1:subscribe', 'SubscribeToTask'],
  ['POST', '/tasks/t1/pushNotificationConfigs', 'CreateTaskPushNotificationConfig'],
  ['GET', '/tasks/t1/pushNotificationConfigs', 'ListTaskPushNotificationConfigs'],
  ['GET', '/tasks/t1/pushNotificationConfigs/c1', 'GetTaskPushNotificationConfig'],
  ['DELETE', '/tasks/t1/pushNotificationConfigs/c1', 'DeleteTaskPushNotificationConfig']
]
const V03: readonly Row[] = [...COMMON, ['GET', '/card', 'GetExtendedAgentCard']]
const V10: readonly Row[] = [...COMMON, ['GET', '/extendedAgentCard', 'GetExtendedAgentCard']]

const found = (verb: string, rest: string, version: Version = '1.0', base = ''): RestMatch | RestVerbMismatch | null =>
  matchRest(verb, rest, version, base)

t.test('every HTTP+JSON route of 1.0, plain and with a tenant', async t => {
  for (const [verb, path, operation] of V10) {
    t.same(found(verb, path), { operation, tenant: null }, `${verb} ${path}`)
    for (const tenant of ['acme', 'a%20b', '%C3%A9', 'a:b', 'card', 'constructor']) {
      t.same(found(verb, `/${tenant}${path}`), { operation, tenant }, `${verb} /${tenant}${path}`)
    }
    t.equal(found(verb, `/v1${path}`), null, `1.0 has no /v1: ${path}`)
  }
  t.equal(found('GET', '/card'), null, 'the 0.3 card route')
})

t.test('every HTTP+JSON route of 0.3, whether or not its base ends in /v1', async t => {
  for (const [verb, path, operation] of V03) {
    t.same(found(verb, `/v1${path}`, '0.3'), { operation, tenant: null }, `${verb} /v1${path}`)
    t.equal(found(verb, path, '0.3'), null, `${path} without /v1`)
    t.equal(found(verb, `/acme/v1${path}`, '0.3'), null, '0.3 has no tenants')
    for (const base of ['/v1', '/rest/v1']) {
      t.same(found(verb, path, '0.3', base), { operation, tenant: null }, `${base} + ${path}`)
      t.same(found(verb, `/v1${path}`, '0.3', base), { operation, tenant: null }, `${base} + /v1${path}: the SDKs append it always`)
    }
    t.equal(found(verb, path, '0.3', '/fv1'), null, 'a base that only looks like it')
  }
  t.equal(found('GET', '/v1/extendedAgentCard', '0.3'), null)
})

t.test('names of routes are not tenants, in any encoding', async t => {
  for (const tenant of [
    'tasks',
    'message:send',
    'message:stream',
    'extendedAgentCard',
    'v1',
    '.well-known',
    '%74asks',
    'message%3Asend',
    'message%3asend',
    'v%31'
  ]) {
    t.equal(found('POST', `/${tenant}/message:send`) === null || 'allow' in (found('POST', `/${tenant}/message:send`) ?? {}), true, tenant)
    t.equal(found('GET', `/${tenant}/extendedAgentCard`) !== null && tenant !== 'tasks', false, tenant)
  }
  t.same(found('GET', '/tasks/extendedAgentCard'), { operation: 'GetTask', tenant: null }, 'the literal wins: a task of that name')
  t.same(found('POST', '/tasks/message:send'), { allow: 'GET' }, 'a task of that name, not a tenant called tasks')
  t.same(found('GET', '/tasks/tasks'), { operation: 'GetTask', tenant: null })
  t.equal(found('GET', '/tasks/tasks/1'), null)
  t.same(found('GET', '/%zz/tasks'), { operation: 'ListTasks', tenant: '%zz' }, 'a broken escape is kept for whoever judges targets')
})

t.test('the colon is literal: %3A is part of a name', async t => {
  t.equal(found('POST', '/message%3Asend'), null)
  t.equal(found('POST', '/message%3asend'), null)
  t.same(found('POST', '/tasks/t1%3Acancel'), { allow: 'GET' }, 'a task whose id holds a colon')
  t.same(found('GET', '/tasks/t1%3Acancel'), { operation: 'GetTask', tenant: null })
})

t.test('task ids are opaque', async t => {
  for (const id of ['1', 'a:b', 'urn:x:y', ':cancel', '%2F', 'a%20b', 'Ω', 'cancel', 'message:send', '-', '..a', 'a;b', '$', '__proto__']) {
    t.same(found('GET', `/tasks/${id}`), { operation: 'GetTask', tenant: null }, id)
    t.same(found('POST', `/tasks/${id}:cancel`), { operation: 'CancelTask', tenant: null }, id)
    t.same(found('GET', `/tasks/${id}/pushNotificationConfigs/${id}`), { operation: 'GetTaskPushNotificationConfig', tenant: null }, id)
  }
  t.same(found('POST', '/tasks/a:cancel:cancel'), { operation: 'CancelTask', tenant: null })
  t.same(found('POST', '/tasks/a:cancel:subscribe'), { operation: 'SubscribeToTask', tenant: null })
})

t.test('a known path with another verb names the verbs that work', async t => {
  const rows: readonly (readonly [verb: string, path: string, allow: string])[] = [
    ['GET', '/message:send', 'POST'],
    ['PUT', '/message:stream', 'POST'],
    ['POST', '/tasks', 'GET'],
    ['DELETE', '/tasks/t1', 'GET'],
    ['HEAD', '/tasks/t1', 'GET'],
    ['GET', '/tasks/t1:cancel', 'POST'],
    ['PUT', '/tasks/t1:subscribe', 'GET, POST'],
    ['DELETE', '/tasks/t1/pushNotificationConfigs', 'GET, POST'],
    ['POST', '/tasks/t1/pushNotificationConfigs/c1', 'GET, DELETE'],
    ['POST', '/extendedAgentCard', 'GET'],
    ['get', '/tasks', 'GET']
  ]
  for (const [verb, path, allow] of rows) {
    t.same(found(verb, path), { allow }, `${verb} ${path}`)
    t.same(found(verb, `/acme${path}`), { allow }, `${verb} /acme${path}`)
  }
})

t.test('a path without a route is null', async t => {
  for (const rest of [
    '',
    '/',
    'message:send',
    '//message:send',
    '/message:send/',
    '/tasks/',
    '/tasks//pushNotificationConfigs',
    '/tasks/t1/pushNotificationConfigs/',
    '/tasks/t1/other',
    '/task/t1/pushNotificationConfigs',
    '/Message:Send',
    '/TASKS',
    '/a/b/message:send',
    '/acme',
    '/tasks/t1/pushNotificationConfigs/c1/x',
    '/message:cancel',
    '/:send'
  ]) {
    for (const verb of ['GET', 'POST', 'DELETE']) t.equal(found(verb, rest), null, `${verb} ${rest}`)
  }
})
