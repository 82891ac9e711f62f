/**
 * Property: with an allow list, no request reaches the agent without a matching entry, whatever path spelling, verb, header, place of the
 * tenant, method and state of the card. What the agent then gets is read by the test itself, as the most lenient agent would read it.
 */
import type { IncomingMessage } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { rawExchange } from '../helpers/raw.js'
import { checkAsync } from '../helpers/seed.js'
import { ACME, basicOf, guarded, USER } from './kit.js'

/** Requests at once: each property run sends this many. */
const BATCH = 20
/** The partner may read tasks of the own tenant; ada may use /docs. */
const ALLOW =
  'allow: [{id: readers, on: [GetTask], caller: {source: [partners]}, tenant: own}, {id: docs, on: [passthrough], caller: {source: [people]}}]'
const PARTNER = `x-api-key: ${ACME}`
const PERSON = `authorization: ${basicOf('ada', USER)}`

/** Paths that some agent reads as an operation. */
const OPERATION =
  /^\/(?:rpc|rest(?:\/[^/]+)?\/(?:message(?::|%3a)(?:send|stream)|tasks(?:\/[^/]+(?:\/pushNotificationConfigs(?:\/[^/]+)?)?)?|extendedAgentCard)|rest\/v1\/card)\/?$/i

/** The only requests that may arrive: GetTask of the tenant north, and paths below the prefixes of `passthrough`. */
function mayArrive (method: string, url: string, body: string, { who, prefixes }: { who: string, prefixes: RegExp }): boolean {
  const [path = '', query = ''] = url.split('?')
  if (who === 'ada') return prefixes.test(path) && !OPERATION.test(path)
  // A call of JSON-RPC has its tenant in `params`; no agent reads the query.
  if (path !== '/rpc' && /tenant/i.test(query) && !/^(?:.*&)?tenant=north(?:&|$)/.test(query)) return false
  if (method === 'GET') return /^\/rest\/north\/tasks\/[^/]+$/.test(path) && !/:(?:subscribe|cancel)/i.test(decodeURIComponent(path))
  if (method !== 'POST' || path !== '/rpc') return false
  const parsed = JSON.parse(body) as { method?: unknown, params?: { tenant?: unknown } }
  return !Array.isArray(parsed) && parsed.method === 'GetTask' && parsed.params?.tenant === 'north'
}

t.test('no request reaches an agent without an entry', async t => {
  const states = [
    await guarded(t, { extra: ['passthrough: [/docs, /rest]', 'unknownMethods: forward', 'mode: off', `access: {${ALLOW}}`] }),
    await guarded(t, { extra: ['passthrough: [/docs]', 'unknownMethods: forward', 'mode: observe', 'cors: {origins: ["*"]}'], root: [`accessDefaults: {${ALLOW}}`] }),
    await guarded(t, { extra: ['passthrough: [/docs]', `access: {${ALLOW}}`] }),
    await guarded(t, { agent: { card: () => ({}) }, extra: ['passthrough: [/docs]', 'card: {onUnavailable: forward}', `access: {${ALLOW}}`] })
  ]
  const wrong: string[] = []
  let arrived = 0
  for (const [index, { agent }] of states.entries()) {
    agent.server.on('request', (request: IncomingMessage) => {
      const who = request.headers['x-who']
      if (typeof who !== 'string') return
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        arrived++
        const body = Buffer.concat(chunks).toString()
        const { method = '', url = '' } = request
        const prefixes = index === 0 ? /^\/(?:docs|rest)(?:\/|$)/ : /^\/docs(?:\/|$)/
        if (index === 3 || !mayArrive(method, url, body, { who, prefixes })) wrong.push(`${index} ${who} ${method} ${url} ${JSON.stringify(request.rawHeaders)} ${body}`)
      })
    })
  }
  const piece = fc.constantFrom(
    '/rpc', '/rest', '/docs', '/v1', '/tasks', '/tasks/1', '/north', '/other', '/North', ':subscribe', ':cancel', ':CANCEL', '%3Acancel', '%3asubscribe', '/message:send',
    '/message%3Asend', '/', '//', '/.', '/%2e%2e', '/%2f', '/.well-known/agent-card.json', '/extendedAgentCard', '/card', '/a', ';x=1', '/DOCS', '/RPC', '/Tasks', '/pushNotificationConfigs'
  )
  const good = fc.constantFrom('/rest/north/tasks/1', '/docs/a', '/rpc', '/rest/north/tasks/1/', '/docs/rpc', '/rest/north/tasks/a%20b')
  const query = fc.constantFrom('', '', '?tenant=north', '?tenant=other', '?%74enant=other', '?tenant=north&tenant=other', '?a2a-version=1.0')
  const target = fc.tuple(
    fc.oneof(good, fc.array(piece, { minLength: 1, maxLength: 4 }).map(pieces => `/${pieces.join('')}`.replace(/^\/\//, '/'))),
    query
  ).map(([path, query]) => path + query)
  const verb = fc.oneof(fc.constantFrom('GET', 'POST'), fc.constantFrom('PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND', 'get'))
  const line = fc.constantFrom(
    'a2a-version: 1.0', 'a2a-version: 0.3', 'a2a-version: 1.1', 'a2a-version: 9', 'origin: https://page.example', 'x-http-method-override: GET', 'x-original-url: /rpc',
    'accept: text/event-stream', 'content-type: application/json', 'content-type: text/plain', 'content-encoding: gzip', 'expect: 100-continue', 'x-tenant: north', 'transfer-encoding: identity'
  )
  const method = fc.constantFrom('GetTask', 'gettask', 'GETTASK', 'GetTask ', 'tasks/get', 'CancelTask', 'tasks/cancel', 'SendMessage', 'ListTasks', 'acme/own', 'toString', '')
  const id = fc.constantFrom('"id":1,', '"id":"a",', '"id":null,', '')
  const params = fc.constantFrom(
    '{"id":"1","tenant":"north"}', '{"id":"1","tenant":"other"}', '{"id":"1"}', '{"id":"1","tenant":"north","Tenant":"other"}', '{"id":"1","tenant":["north"]}', '{"id":"1","tenant":"north ","tenant":"north"}',
    '["1"]', 'null', '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]},"tenant":"north"}'
  )
  const envelope = fc.tuple(id, method, params).map(([id, method, params]) => `{"jsonrpc":"2.0",${id}"method":${JSON.stringify(method)},"params":${params}}`)
  const right = fc.constant('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"1","tenant":"north"}}')
  const body = fc.oneof(
    { weight: 3, arbitrary: envelope },
    { weight: 2, arbitrary: right },
    { weight: 1, arbitrary: envelope.map(one => `[${one}]`) },
    { weight: 1, arbitrary: fc.tuple(right, fc.constantFrom('"Method":"CancelTask"', '"method":"CancelTask"', '"params":{}')).map(([one, more]) => `${one.slice(0, -1)},${more}}`) },
    { weight: 2, arbitrary: fc.constantFrom('', '{}', 'null', '{"tenant":"other"}', '{"id":"1","tenant":"north"}') }
  )
  const request = fc.tuple(fc.nat(states.length - 1), fc.boolean(), verb, target, fc.array(line, { maxLength: 3 }), body)
  await checkAsync('identity/access-property/no-entry', fc.asyncProperty(fc.array(request, { minLength: BATCH, maxLength: BATCH }), async requests => {
    await Promise.all(requests.map(async ([state, partner, verb, target, headers, body]) => {
      const length = body === '' || verb === 'GET' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
      const types = headers.some(one => one.startsWith('content-type')) ? '' : 'content-type: application/json\r\n'
      const version = headers.some(one => one.startsWith('a2a-version')) ? '' : 'a2a-version: 1.0\r\n'
      const head = `${verb} ${target} HTTP/1.1\r\nhost: agent\r\nx-who: ${partner ? 'partner' : 'ada'}\r\n${partner ? PARTNER : PERSON}\r\nconnection: close\r\n${types}${version}`
      await rawExchange(states[state]?.gateway.url ?? '', `${head}${headers.map(one => `${one}\r\n`).join('')}${length}\r\n${length === '' ? '' : body}`, { until: 'close' })
    }))
    if (wrong.length > 0) throw new Error(wrong.join('\n'))
  }), { numRuns: 60 })
  t.same(wrong, [])
  t.ok(arrived > 10, `${arrived} requests with an entry arrived`)
  for (const { gateway } of states) {
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    t.match(text, /access_decisions_total\{agent="agent",rule="none",decision="deny",mode="enforce"\} [1-9]/, 'the requests came to the lists')
  }
})
