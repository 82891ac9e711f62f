import t from 'tap'
import type { Operation, RestAmbiguity, RestMatch, RestVerbMismatch } from '#a2a/operations.js'
import { carriesMessage, inMessageScope, matchRest, operationOfMethod, plainRest } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'

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

const found = (verb: string, rest: string, version: Version = '1.0', base = ''): RestMatch | RestVerbMismatch | RestAmbiguity | null =>
  matchRest(verb, plainRest(verb, rest), version, base)

t.test('every HTTP+JSON route of 1.0, plain and with a tenant', async t => {
  for (const [verb, path, operation] of V10) {
    t.same(found(verb, path), { operation, tenant: null }, `${verb} ${path}`)
    for (const tenant of ['acme', 'a%20b', '%C3%A9', 'a:b', 'card', 'constructor', 'v1', 'extendedAgentCard', 'message%3Asend']) {
      t.same(found(verb, `/${tenant}${path}`), { operation, tenant }, `${verb} /${tenant}${path}`)
    }
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

t.test('a tenant may have the name of a route, unless the path also names a task', async t => {
  const twice = { ambiguous: true }
  const tenant = 'tasks'
  for (const [verb, path, expected] of [
    ['POST', '/tasks/message:send', { operation: 'SendMessage', tenant }],
    ['POST', '/tasks/message:stream', { operation: 'SendStreamingMessage', tenant }],
    ['GET', '/tasks/message:send', { operation: 'GetTask', tenant: null }],
    ['GET', '/tasks/tasks/1', { operation: 'GetTask', tenant }],
    ['POST', '/tasks/tasks/1:cancel', { operation: 'CancelTask', tenant }],
    ['POST', '/tasks/tasks/pushNotificationConfigs', { operation: 'CreateTaskPushNotificationConfig', tenant: null }],
    ['PUT', '/tasks/tasks', { allow: 'GET' }],
    ['GET', '/tasks/tasks', twice],
    ['GET', '/tasks/extendedAgentCard', twice],
    ['GET', '/tasks/tasks/pushNotificationConfigs', twice],
    ['GET', '/tasks/tasks/pushNotificationConfigs/pushNotificationConfigs', twice]
  ] as const) t.same(found(verb, path), expected, `${verb} ${path}`)
  for (const name of ['.well-known', '.well%2Dknown']) t.equal(found('POST', `/${name}/message:send`), null, name)
  t.same(found('GET', '/%zz/tasks'), { operation: 'ListTasks', tenant: '%zz' }, 'a broken escape is kept for the validation of targets')
})

t.test('a colon before an action may be encoded; elsewhere %3A is part of a name', async t => {
  for (const colon of [':', '%3A', '%3a']) {
    t.same(found('POST', `/message${colon}send`), { operation: 'SendMessage', tenant: null })
    t.same(found('POST', `/acme/message${colon}stream`), { operation: 'SendStreamingMessage', tenant: 'acme' })
    t.same(found('POST', `/v1/tasks/t1${colon}cancel`, '0.3'), { operation: 'CancelTask', tenant: null })
    t.same(found('POST', `/tasks/t1${colon}subscribe`), { operation: 'SubscribeToTask', tenant: null })
    t.equal(plainRest('POST', `/tasks/a%3Ab${colon}cancel`), '/tasks/a%3Ab:cancel')
    t.equal(found('POST', `/message${colon}SEND`), null)
  }
  t.same(found('GET', '/tasks/t1%3Asubscribe'), { ambiguous: true }, 'an agent that does not decode reads the id t1:subscribe')
  t.same(found('GET', '/tasks/t1%3Acancel'), { operation: 'GetTask', tenant: null }, 'no agent cancels with GET')
  t.same(found('GET', '/tasks/urn%3Atask%3A1'), { operation: 'GetTask', tenant: null })
  t.equal(plainRest('GET', '/tasks/urn%3Atask%3A1'), '/tasks/urn%3Atask%3A1', 'forwarded as sent')
})

t.test('a final slash does not matter', async t => {
  for (const [verb, path, operation] of V10) t.same(found(verb, `${path}/`), { operation, tenant: null }, `${verb} ${path}/`)
  for (const [verb, path, operation] of V03) t.same(found(verb, `/v1${path}/`, '0.3'), { operation, tenant: null }, `${verb} /v1${path}/`)
  for (const path of ['/', '//', '/message:send//']) t.equal(found('POST', path), null, path)
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
    '/message:send//',
    '/tasks//',
    '/tasks//pushNotificationConfigs',
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
