/** `access` in the pipeline: every operation in every binding and version, against every entry; and requests that cannot be read. */
import t from 'tap'
import type { Operation } from '#a2a/operations.js'
import { readCard } from '#a2a/card/card.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { rejectionResponse } from '#pipeline/rejection-response.js'
import { accessOf, admissionOf, admit } from '#pipeline/access/access.js'
import type { Principal } from '#identity/principal.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { configOf } from '../helpers/gateway.js'
import { MESSAGE } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import type { OperationCall } from '../identity/operations.js'
import { ALL_OPERATIONS, CALLS, nameOfCall } from '../identity/operations.js'
import type { DryRun, PlainRequest } from '#pipeline/dry-run-operation.js'
import type { OperationRoute } from '#a2a/route.js'

const U = 'urn:dev-tool:v1'
const POLICY = `extensions: {dev-tool: {uri: "${U}", methods: {windows/list: {need: none}}, routes: [{verb: GET, path: "/commands/{name}", need: none}]}}`
const ADA: Principal = {
  source: 'corp',
  kind: 'jwt',
  sources: ['corp'],
  subject: 'ada',
  client: null,
  scopes: ['read'],
  groups: ['finance'],
  tenant: 'acme',
  spiffe: null,
  claims: {}
}
const EVE: Principal = { ...ADA, subject: 'eve', scopes: [], groups: [], tenant: null }

interface Sent extends Partial<PlainRequest> { readonly headers?: readonly string[], readonly text?: string }

/** @param keys further keys of the agent, as lines of a flow mapping */
function agentWith (access: string, keys = ''): (request: Sent, caller?: Principal | null) => DryRun {
  const { agents: [config], limits } = configOf({
    yaml: `agents: [{name: agent, upstream: {url: "http://agent.test"}, extensions: [dev-tool], passthrough: [/docs], access: ${access}${keys}}]\n${POLICY}`
  })
  if (config === undefined) throw new Error('no agent')
  const value = plainCard('http://agent.test', { capabilities: { streaming: true, extendedAgentCard: true, extensions: [{ uri: U }] } })
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  const document = { bytes: Buffer.from(JSON.stringify(value)), value, card: read.card }
  const state = buildAgentState(
    { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'test' },
    { agent: config, maxExtensions: limits.extensions, previous: null, secretOf: SECRET_HIDDEN }
  )
  return ({ headers = [], text, ...request }, caller = ADA) => dryRunRequest(
    { config, state },
    {
      method: 'POST',
      path: '/rpc',
      query: '',
      rawHeaders: ['host', 'gateway', ...headers],
      body: text === undefined ? null : Buffer.from(text),
      caller,
      ...request
    },
    limits
  )
}

const sentOf = ({ method, path, headers, body }: OperationCall): Sent =>
  ({ method, path, headers, ...(body === null ? {} : { text: body }) })
const V1 = ['content-type', 'application/json', 'a2a-version', '1.0']
const rpc = (method: string, params: object = { message: MESSAGE }, more: object = {}): Sent =>
  ({ headers: V1, text: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params, ...more }) })
const reasonOf = ({ rejection }: DryRun): string => rejection?.reason ?? 'forwarded'

t.test('every operation in every binding and version', async t => {
  const forwarded = (run: ReturnType<typeof agentWith>, caller: Principal): string[] =>
    CALLS.filter(call => run(sentOf(call), caller).rejection === null).map(nameOfCall)
  const all = CALLS.map(nameOfCall)
  t.same(forwarded(agentWith('{allow: [{id: a, on: [all]}]}'), EVE), all, 'the calls themselves are right')
  const targets: readonly (readonly [string, readonly Operation[]])[] = [
    ...ALL_OPERATIONS.map(operation => [operation, [operation]] as const),
    ['messages', ['SendMessage', 'SendStreamingMessage']]
  ]
  for (const [on, operations] of targets) {
    const mine = CALLS.filter(call => operations.includes(call.operation)).map(nameOfCall)
    const others = all.filter(name => !mine.includes(name))
    const caller = 'caller: {groups: [finance]}'
    t.same(forwarded(agentWith(`{allow: [{id: a, on: [${on}], ${caller}}]}`), ADA), mine, `allow ${on}`)
    t.same(forwarded(agentWith(`{allow: [{id: a, on: [${on}], ${caller}}]}`), EVE), [], `allow ${on}, another caller`)
    t.same(forwarded(agentWith(`{deny: [{id: a, on: [${on}], ${caller}}]}`), ADA), others, `deny ${on}`)
    t.same(forwarded(agentWith(`{deny: [{id: a, on: [${on}], ${caller}}]}`), EVE), all, `deny ${on}, another caller`)
    t.same(forwarded(agentWith(`{mode: observe, deny: [{id: a, on: [${on}]}]}`), ADA), all, `observe ${on}`)
    t.same(forwarded(agentWith(`{allow: [{id: a, on: [${on}]}]}`, ', mode: off'), ADA), mine, `allow ${on}, without rules`)
  }
})

t.test('methods and routes of extensions, unknown methods, other paths', async t => {
  const requests: Readonly<Record<string, Sent>> = {
    'declared method': rpc('windows/list', {}),
    'other method': rpc('acme/own', {}),
    'method in another case': rpc('sendmessage'),
    'method of the other version': rpc('message/send'),
    route: { method: 'GET', path: '/commands/x', headers: ['a2a-version', '1.0'] },
    passthrough: { method: 'GET', path: '/docs/x' },
    preflight: { method: 'OPTIONS', headers: ['origin', 'https://page.example', 'access-control-request-method', 'POST'] },
    'OPTIONS that is no preflight': { method: 'OPTIONS', headers: ['origin', 'https://page.example'] },
    card: { method: 'GET', path: '/.well-known/agent-card.json' }
  }
  const open = ['preflight', 'card']
  const all = Object.keys(requests)
  const allBut = (...names: readonly string[]): string[] => all.filter(name => !names.includes(name))
  // With `mode: off` no policy declares methods; a route is a route.
  const rows: readonly [string, readonly string[], (readonly string[])?][] = [
    ['{allow: [{id: a, on: [all]}]}', all],
    ['{allow: [{id: a, on: [messages]}]}', open],
    ['{allow: [{id: a, on: [Extension]}]}', ['declared method', 'route', ...open], ['route', ...open]],
    ['{allow: [{id: a, on: [Extension], methods: [acme/own]}]}', ['other method', ...open]],
    ['{allow: [{id: a, on: [Extension], routes: ["GET /commands/{other}"]}]}', ['route', ...open]],
    ['{allow: [{id: a, on: [passthrough]}]}', ['passthrough', ...open]],
    ['{deny: [{id: a, on: [SendMessage]}]}', ['declared method', 'route', 'passthrough', ...open], ['route', 'passthrough', ...open]],
    ['{deny: [{id: a, on: [all]}]}', open],
    ['{deny: [{id: a, on: [passthrough]}]}', allBut('passthrough', 'OPTIONS that is no preflight')]
  ]
  for (const [access, observing, off = observing] of rows) {
    for (const [keys, expected] of [[', unknownMethods: forward, mode: observe', observing], [', mode: off', off]] as const) {
      const run = agentWith(access, keys)
      t.same(all.filter(name => run(requests[name] as Sent).rejection === null).toSorted(), expected.toSorted(), `${access}${keys}`)
    }
  }
})

t.test('a request that cannot be read is never forwarded for a list', async t => {
  const broken: Readonly<Record<string, [Sent, string]>> = {
    'no JSON': [{ headers: V1, text: '{' }, 'PARSE_ERROR'],
    batch: [{ headers: V1, text: '[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"1"}}]' }, 'INVALID_REQUEST'],
    'two methods': [{ headers: V1, text: '{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask","params":{"id":"1"}}' }, 'PARSE_ERROR'],
    'another spelling of method': [{ headers: V1, text: '{"jsonrpc":"2.0","id":1,"Method":"CancelTask","method":"GetTask","params":{"id":"1"}}' }, 'INVALID_REQUEST'],
    'no version': [{ headers: V1.slice(0, 2), text: rpc('GetTask', { id: '1' }).text ?? '' }, 'VERSION_NOT_SUPPORTED'],
    'method of the other version': [rpc('tasks/get', { id: '1' }), 'METHOD_NOT_FOUND'],
    'another content type': [{ ...rpc('GetTask', { id: '1' }), headers: ['content-type', 'text/plain', 'a2a-version', '1.0'] }, 'CONTENT_TYPE_NOT_SUPPORTED'],
    'gzip that is none': [{ ...rpc('GetTask', { id: '1' }), headers: [...V1, 'content-encoding', 'gzip'] }, 'PARSE_ERROR']
  }
  for (const keys of ['', ', mode: observe', ', mode: off']) {
    for (const access of ['{allow: [{id: a, on: [GetTask]}]}', '{deny: [{id: a, on: [CancelTask]}]}']) {
      const run = agentWith(access, keys)
      for (const [name, [request, reason]] of Object.entries(broken)) t.equal(reasonOf(run(request)), reason, `${name}, ${access}${keys}`)
    }
    const run = agentWith('{allow: [{id: a, on: [messages], caller: {groups: [x]}}]}', keys)
    for (const [name, [request]] of Object.entries(broken)) t.equal(reasonOf(run(request)), 'PERMISSION_DENIED', `${name}, for nobody ${keys}`)
  }
  const ambiguous = rpc('SendMessage', { message: { ...MESSAGE, taskId: 'a', task_id: 'b' } })
  t.equal(reasonOf(agentWith('{allow: [{id: a, on: [messages], when: {taskId: present}}]}', ', mode: off')(ambiguous)), 'INVALID_PARAMS')
  t.equal(reasonOf(agentWith('{allow: [{id: a, on: [messages]}]}', ', mode: off')(ambiguous)), 'forwarded', 'nothing depends on the ambiguity')
})

t.test('a rejection hides every other problem', async t => {
  const keys = ', mode: enforce, untaggedData: reject'
  const wrong = rpc('SendMessage', { message: { ...MESSAGE, parts: [{ data: { secret: 1 } }] } })
  t.equal(reasonOf(agentWith('{}', keys)(wrong)), 'CONTENT_TYPE_NOT_SUPPORTED')
  const { rejection, evaluation } = agentWith('{allow: [{id: a, on: [messages], when: {taskId: present}}]}', keys)(wrong)
  t.match(rejection, { reason: 'PERMISSION_DENIED', rule: 'gateway/access' })
  t.equal(rejection?.fields, undefined)
  t.same(evaluation?.decision.violations.map(({ reason }) => reason), ['PERMISSION_DENIED'])
  t.match(evaluation?.access, { rule: 'none', decision: 'deny', mode: 'enforce' })
  const observed = agentWith('{mode: observe, allow: [{id: a, on: [messages], when: {taskId: present}}]}', keys)(wrong)
  t.equal(reasonOf(observed), 'CONTENT_TYPE_NOT_SUPPORTED')
  t.same(observed.evaluation?.decision.violations.map(({ reason, mode }) => [reason, mode]), [['PERMISSION_DENIED', 'observe'], ['CONTENT_TYPE_NOT_SUPPORTED', 'enforce']])
})

t.test('tenants, wherever a request names one', async t => {
  const get = (path: string, query = ''): Sent => ({ method: 'GET', path, query, headers: ['a2a-version', '1.0'] })
  const rest = (path: string, body: object): Sent => ({ path, headers: V1, text: JSON.stringify(body) })
  const rows: readonly [string, Sent, boolean][] = [
    ['in the path', get('/rest/acme/tasks/t1'), true],
    ['another in the path', get('/rest/other/tasks/t1'), false],
    ['in another case', get('/rest/Acme/tasks/t1'), false],
    ['none in the path', get('/rest/tasks/t1'), false],
    ['in the query only', get('/rest/tasks/t1', '?tenant=acme'), false],
    ['another in the query', get('/rest/acme/tasks/t1', '?tenant=other'), false],
    ['another in the query, encoded', get('/rest/acme/tasks/t1', '?%74enant=other'), false],
    ['in params', rpc('GetTask', { id: 't1', tenant: 'acme' }), true],
    ['another in params', rpc('GetTask', { id: 't1', tenant: 'other' }), false],
    ['none in params', rpc('GetTask', { id: 't1' }), false],
    ['twice in params', rpc('GetTask', { id: 't1', tenant: 'acme', Tenant: 'other' }), false],
    ['a number in params', rpc('GetTask', { id: 't1', tenant: 1 }), false],
    ['a message', rpc('SendMessage', { message: MESSAGE, tenant: 'acme' }), true],
    ['a message for another', rpc('SendMessage', { message: MESSAGE, tenant: 'other' }), false],
    ['path and body', rest('/rest/acme/message:send', { message: MESSAGE, tenant: 'acme' }), true],
    ['path against body', rest('/rest/acme/message:send', { message: MESSAGE, tenant: 'other' }), false],
    ['body against path', rest('/rest/other/message:send', { message: MESSAGE, tenant: 'acme' }), false],
    ['0.3 has no tenants', { headers: V1.slice(0, 2), text: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 't1', tenant: 'acme' } }) }, false],
    ['passthrough', { method: 'GET', path: '/docs/acme' }, false]
  ]
  for (const keys of ['', ', mode: off']) {
    const run = agentWith('{allow: [{id: own, on: [all], tenant: own}]}', keys)
    for (const [name, request, expected] of rows) {
      t.equal(run(request).rejection === null, expected, `${name}${keys}`)
      t.not(run(request, EVE).rejection, null, `${name}, a caller without a tenant${keys}`)
    }
  }
})

t.test('the head alone rejects whom the body cannot help', async t => {
  const head = (path: string, method = 'POST'): OperationRoute => {
    const route = agentWith('{}')({ path, method, headers: V1, text: '{}' }).route
    if (route?.kind !== 'operation') throw new Error('no operation')
    return route
  }
  const entries = '{id: a, on: [GetTask], caller: {groups: [finance]}, tenant: own}, {id: b, on: [messages], caller: {scopes: [write]}}'
  const { agents: [config] } = configOf({
    yaml: `agents: [{name: agent, upstream: {url: "http://agent.test"}, access: {allow: [${entries}]}}]`
  })
  if (config === undefined) throw new Error('no agent')
  const access = accessOf(config)
  t.equal(accessOf(config), access, 'compiled once')
  const decided = (path: string, caller: Principal | null, method?: string): string | null =>
    admit(access, admissionOf(head(path, method), caller))?.rejection?.message ?? null
  t.equal(decided('/rpc', ADA), null)
  t.match(decided('/rpc', EVE), /lack the scope write/, 'the only entry that could match')
  t.match(decided('/rpc', null), /is not allowed/)
  t.equal(decided('/rest/acme/tasks/t1', ADA, 'GET'), null)
  t.match(decided('/rest/other/tasks/t1', ADA, 'GET'), /is not allowed/, 'the tenant of the path')
  t.match(decided('/rest/tasks/t1:cancel', ADA), /is not allowed/, 'the operation of the path')
  t.match(decided('/rest/message:send', ADA), /lack the scope write/)
})

t.test('missing scopes on the wire', async t => {
  const run = agentWith('{allow: [{id: a, on: [SendMessage], caller: {scopes: [read, write, "odd \\"scope\\""]}}, {id: b, on: [GetTask], caller: {groups: [x]}}]}')
  const { rejection, caller } = run(rpc('SendMessage'))
  if (rejection === null) throw new Error('forwarded')
  const { status, phrase, headers, body } = rejectionResponse(rejection, caller)
  t.equal(status, 403)
  t.equal(phrase, 'The credentials lack the scopes write odd "scope"; get credentials that have them.')
  t.equal(headers[headers.indexOf('www-authenticate') + 1], 'Bearer error="insufficient_scope", scope="read write"', 'no scope breaks the header')
  t.match(JSON.parse(body.toString()), { error: { code: -31403, data: [{ reason: 'PERMISSION_DENIED', metadata: { missingScopes: 'write odd "scope"' } }] } })
  t.notMatch(body.toString(), /"a"|BadRequest/)
  const { rejection: ofKey } = run(rpc('SendMessage'), { ...ADA, kind: 'apiKey' })
  t.match(ofKey, { metadata: { missingScopes: 'write odd "scope"' } })
  t.equal(ofKey?.challenge, undefined, 'no token, no challenge')
  t.equal(run({ method: 'GET', path: '/rest/tasks/t', headers: V1.slice(2) }).rejection?.challenge, undefined, 'no scope helps')
})
