/** Property: whatever the path, the verb, the headers and the state of the card, no request without a caller reaches the agent. */
import type { IncomingMessage } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { plainCard, rawExchange } from '../helpers/raw.js'
import { checkAsync } from '../helpers/seed.js'
import { clientCertOf } from './clients.js'
import { ACME, basicOf, guarded, PARTNERS, USER } from './kit.js'

/** No source covers the first alternative, and two sources together the second. */
const REQUIRING = {
  securitySchemes: {
    bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } },
    key: { apiKeySecurityScheme: { location: 'header', name: 'x-api-key' } },
    login: { httpAuthSecurityScheme: { scheme: 'basic' } }
  },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }, { schemes: { key: { list: [] }, login: { list: [] } } }]
}
const MARK = 'x-stranger'
/** Index of the first agent that requires two credentials. */
const HALF = 5
/** Requests at once: each property run sends this many. */
const BATCH = 20

t.test('no request without a caller reaches an agent', async t => {
  const states = [
    await guarded(t, { extra: ['passthrough: [/docs, /rest]', 'unknownMethods: forward', 'mode: off'] }),
    await guarded(t, {
      sources: [
        PARTNERS,
        'mesh: {certificate: {from: xfcc, proxies: [192.0.2.1], trustDomains: [prod.example.com]}}',
        'front: {certificate: {from: rfc9440, proxies: [192.0.2.1], trustDomains: [prod.example.com]}}',
        'direct: {certificate: {from: tls, trustDomains: [prod.example.com]}}'
      ],
      root: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, trustedProxies: [127.0.0.1]}'],
      extra: ['passthrough: [/docs]']
    }),
    await guarded(t, { extra: ['path: /deep', 'passthrough: [/docs]', 'card: {public: minimal}', 'mode: observe', 'cors: {origins: ["*"]}'] }),
    await guarded(t, { agent: { card: () => ({}) }, extra: ['passthrough: [/docs]', 'card: {onUnavailable: forward}'] }),
    await guarded(t, { agent: { card: () => ({}) }, extra: ['passthrough: [/docs]', 'card: {onUnavailable: forward, public: none}', 'cors: {origins: ["*"]}'] }),
    // These agents require a key together with a login: the right key alone is half of it.
    await guarded(t, { extra: ['access: {require: [[partners, people]]}', 'passthrough: [/docs]', 'card: {public: minimal}'] }),
    await guarded(t, { agent: { card: url => plainCard(url, REQUIRING) }, extra: ['access: {require: card}', 'passthrough: [/docs]'] }),
    await guarded(t, { agent: { card: () => ({}) }, waitReady: false, extra: ['access: {require: card}', 'card: {onUnavailable: forward}', 'passthrough: [/docs]'] })
  ]
  const reached: string[] = []
  for (const { agent } of states) {
    agent.server.on('request', (request: IncomingMessage) => {
      if (request.headers[MARK] !== undefined) reached.push(`${request.method} ${request.url} ${JSON.stringify(request.rawHeaders)}`)
    })
  }
  const piece = fc.constantFrom(
    '/rpc', '/rest', '/docs', '/deep', '/v1', '/tasks', '/tasks/1', ':subscribe', ':cancel', '/message:send', '/message%3Asend', '/', '//', '/.', '/..', '/%2e%2e',
    '/%2f', '/.well-known', '/.well-known/agent-card.json', '/.well-known/agent.json', '/.well-known/agent', '/extendedAgentCard', '/card', '/a', ';x=1', '%00', '/DOCS', '/x'
  )
  const path = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '?', '?x-api-key=1', `?key=${ACME}`, '#x'))
    .map(([pieces, query]) => `/${pieces.join('')}`.replace(/^\/\//, '/') + query)
  const target = fc.oneof({ weight: 20, arbitrary: path }, { weight: 1, arbitrary: fc.constantFrom('*', 'http://agent/rpc', 'rpc') })
  const verb = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'get', 'PURGE')
  const line = fc.constantFrom(
    'x-api-key: wrong', `x_api_key: ${ACME}`, `x-api-key: ${ACME}x`, `x-api-key: ${USER}`, 'x-api-key:', 'connection: x-api-key', `cookie: x-api-key=${ACME}`,
    `authorization: Bearer ${ACME}`, `authorization: ApiKey ${ACME}`, `authorization: ${basicOf('acme', USER)}`, `authorization: ${basicOf('ada', ACME)}`,
    'authorization: Basic', `proxy-authorization: ${basicOf('ada', USER)}`, 'origin: https://page.example', 'access-control-request-headers: x-api-key',
    'x-forwarded-for: 127.0.0.1', 'x-original-url: /rpc', 'x-http-method-override: OPTIONS', 'a2a-version: 1.0', 'a2a-version: 0.3', 'expect: 100-continue', 'upgrade: h2c',
    'accept: text/event-stream', 'x-forwarded-client-cert: URI=spiffe://prod.example.com/b', 'x_forwarded_client_cert: URI=spiffe://prod.example.com/b',
    `client-cert: ${clientCertOf('batch')}`, 'connection: x-forwarded-client-cert, client-cert', 'content-type: application/json', 'content-type: text/plain'
  )
  const body = fc.constantFrom('', '', '{}', 'null', '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"1"}}', '[]', '{"jsonrpc":"2.0","method":"SendMessage"}')
  const request = fc.tuple(fc.nat(states.length - 1), verb, target, fc.array(line, { maxLength: 5 }), body)
  await checkAsync('identity/nobody/no-stranger', fc.asyncProperty(fc.array(request, { minLength: BATCH, maxLength: BATCH }), async requests => {
    await Promise.all(requests.map(async ([state, verb, target, headers, body]) => {
      const length = body === '' ? '' : `content-length: ${body.length}\r\n`
      const half = state >= HALF && headers.length % 2 === 1 ? [`x-api-key: ${ACME}`] : []
      const head = `${verb} ${target} HTTP/1.1\r\nhost: agent\r\n${MARK}: 1\r\nconnection: close\r\n${[...half, ...headers].map(one => `${one}\r\n`).join('')}${length}\r\n`
      await rawExchange(states[state]?.gateway.url ?? '', head + body, { until: 'close' })
    }))
    if (reached.length > 0) throw new Error(reached.join('\n'))
  }), { numRuns: 60 })
  t.same(reached, [])
  for (const { gateway } of states) {
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    // Without a card, an agent with the requirement of its card accepts nobody.
    t.match(text, /authentications_total\{agent="agent",source="none",outcome="missing"\} [1-9]|rule="gateway\/no-card"\} [1-9]/, 'the requests came to the door')
  }
})
