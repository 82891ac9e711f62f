/** What the gateway enforces of an authenticated extended card: loaded with `card.extended`, or seen on its way to a caller. */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, MESSAGE, rpc } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'
import { OBJECT_SCHEMAS } from '../policy/fixtures.js'

quietSdk()

const EXT = 'https://example.com/ext/consent/v1'
const SECRET = 'Bearer s3cret'
const order = { type: 'object', required: ['id'] }
const RESULT = '{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}'

const publicCard = (url: string, more: object = {}): Record<string, unknown> => plainCard(url, {
  capabilities: { extendedAgentCard: true, extensions: [{ uri: OBJECT_SCHEMAS }] },
  schemas: { order },
  ...more
})
const extendedCard = (url: string): Record<string, unknown> => plainCard(url, {
  capabilities: { extendedAgentCard: true, extensions: [{ uri: EXT, required: true }, { uri: OBJECT_SCHEMAS }] },
  schemas: { secret: { type: 'object', required: ['key'] } }
})

/** Shows the extended card, in any binding and version, to callers with the secret only. */
async function agentWith (t: Parameters<typeof fakeAgent>[0], more: (url: string) => object = () => ({})): Promise<FakeAgent> {
  const agent: FakeAgent = await fakeAgent(t, {
    card: url => publicCard(url, more(url)),
    answer: ({ method, url, body, headers }, response) => {
      response.setHeader('content-type', 'application/json')
      const asks = method === 'GET' || /ExtendedCard"|ExtendedAgentCard"/.test(body.toString())
      if (!asks) return response.end(`{"jsonrpc":"2.0","id":1,"result":{"message":${RESULT}}}`)
      if (headers.authorization !== SECRET) return response.writeHead(401).end('{}')
      const card = JSON.stringify(extendedCard(agent.url))
      response.end(url === '/rpc' ? `{"jsonrpc":"2.0","id":1,"result":${card}}` : card)
    }
  })
  return agent
}

const data = (name: string, value: object): object =>
  ({ message: { ...MESSAGE, parts: [{ data: value, mediaType: `application/json;schema=${name}` }] } })

async function outcome (gateway: TestGateway, params: object, extensions: string[] = []): Promise<unknown> {
  const { json } = await rpc(`${gateway.url}/rpc`, 'SendMessage', params as never, extensions.flatMap(uri => ['a2a-extensions', uri]))
  const { error } = json() as { error?: { code: number } }
  return error?.code ?? 'forwarded'
}
interface About {
  readonly ready: boolean
  readonly card: { readonly problem: string | null, readonly extended: unknown, readonly warnings: string[] }
}

const about = async (gateway: TestGateway): Promise<About> =>
  ((await (await fetch(`${gateway.adminUrl}/agents`)).json()) as [never])[0]

const EXTENDED = 'card: {extended: {headers: {Authorization: {env: TOKEN, prefix: "Bearer "}}}}'
const env = { TOKEN: 's3cret' }

t.test('card.extended: the gateway enforces both cards together', async t => {
  const agent = await agentWith(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [EXTENDED]), env })
  t.match(await about(gateway), { ready: true, card: { extended: true, warnings: [] } })
  const before = agent.received.length
  t.equal(await outcome(gateway, data('secret', { key: 1 })), -32008, 'the extended card requires an extension')
  t.equal(await outcome(gateway, data('secret', {}), [EXT]), -32602, 'its schemas are validated')
  t.equal(await outcome(gateway, data('order', {}), [EXT]), -32602, 'those of the card too')
  t.equal(await outcome(gateway, data('none', {}), [EXT]), -32005)
  t.equal(agent.received.length, before, 'nothing has reached the agent')
  t.equal(await outcome(gateway, data('secret', { key: 1 }), [EXT]), 'forwarded')
  t.equal(await outcome(gateway, data('order', { id: 1 }), [EXT]), 'forwarded')
  const served = await call(`${gateway.url}/.well-known/agent-card.json`)
  t.notMatch(served.text, /secret|consent/, 'the served card contains nothing of it')
  const { text, status } = await call(`${gateway.url}/rest/extendedAgentCard`, { headers: ['a2a-version', '1.0'] })
  t.same([status, text], [401, '{}'], 'the agent decides about callers of the extended card')
})

t.test('card.extended in every binding and version', async t => {
  const one = (path: string, protocolBinding: string, protocolVersion: string, more: object = {}): object =>
    ({ supportedInterfaces: [{ path, protocolBinding, protocolVersion, ...more }] })
  const shapes: Array<[string, object]> = [
    ['POST /rpc', one('/rpc', 'JSONRPC', '1.0')],
    ['GET /rest/extendedAgentCard', one('/rest', 'HTTP+JSON', '1.0')],
    ['GET /rest/a%20b/extendedAgentCard', one('/rest', 'HTTP+JSON', '1.0', { tenant: 'a b' })],
    ['POST /rpc', { ...one('/rpc', 'JSONRPC', '0.3'), supportsAuthenticatedExtendedCard: true }],
    ['GET /rest/v1/card', { ...one('/rest', 'HTTP+JSON', '0.3'), supportsAuthenticatedExtendedCard: true }],
    [
      'GET /agent/authenticatedExtendedCard',
      { supportedInterfaces: undefined, path: '/rpc', protocolVersion: '0.2.6', supportsAuthenticatedExtendedCard: true }
    ]
  ]
  for (const [request, shape] of shapes) {
    const agent = await agentWith(t, url => JSON.parse(
      JSON.stringify(shape, (_key, value: unknown) => {
        if (typeof value !== 'object' || value === null || !('path' in value)) return value
        const { path, ...rest } = value as { path: string }
        return { ...rest, url: url + path }
      })
    ) as object)
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [EXTENDED]), env })
    t.match(await about(gateway), { ready: true, card: { extended: true } }, request)
    const { method, url, headers } = agent.received[0] ?? {}
    t.same([`${method} ${url}`, headers?.authorization], [request, SECRET])
  }
})

t.test('an extended card that cannot be loaded, or that the agent does not have', async t => {
  const agent = await agentWith(t)
  const wrong = await gatewayFor(t, { yaml: oneAgent(agent.url, [EXTENDED]), env: { TOKEN: 'wrong' } }, false)
  t.match(await about(wrong), {
    ready: false,
    card: {
      problem: `the extended card: ${agent.url}/rpc responded with 401 to the credentials of card.extended.headers (authorization); check the secrets`
    }
  })
  const none = await agentWith(t, () => ({ capabilities: { extensions: [{ uri: OBJECT_SCHEMAS }] } }))
  t.match(await about(await gatewayFor(t, { yaml: oneAgent(none.url, [EXTENDED]), env })), {
    ready: true,
    card: { extended: false, warnings: ['card.extended has no effect: the card does not say that the agent has an extended card'] }
  })
  const differs = await agentWith(t, () => ({ schemas: { order, secret: { type: 'string' } } }))
  t.same((await about(await gatewayFor(t, { yaml: oneAgent(differs.url, [EXTENDED]), env }))).card.warnings, [
    'the extended card has another schema "secret" than the card; the gateway applies that of the extended card'
  ])
})

t.test('agents of the official SDKs', async t => {
  for (const kind of ['v1', 'dual', 'v03'] as const) {
    const agent = await startAgent({ kind, card: { extendedCard: true } })
    t.teardown(() => agent.close())
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [EXTENDED]), env })
    t.match(await about(gateway), { ready: true, card: { extended: true } }, kind)
  }
})

t.test('without card.extended: names of an extended card that a caller got are no longer undeclared', async t => {
  const agent = await agentWith(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['unlistedExtensions: reject']) })
  t.equal(await outcome(gateway, data('secret', {})), -32005)
  t.equal(await outcome(gateway, data('order', { id: 1 }), [EXT]), -32004)
  const got = await rpc(`${gateway.url}/rpc`, 'GetExtendedAgentCard', {} as never, ['authorization', SECRET])
  t.match(got.json(), { result: { schemas: { secret: {} } } })

  t.equal(await outcome(gateway, data('secret', {})), 'forwarded', 'not validated: the gateway does not keep the schema')
  t.equal(
    await gateway.metric(
      'a2a_gateway_violations_total{agent="agent",extension="object-schemas",rule="validate-first-structured-part",phase="request",mode="observe"}'
    ),
    1,
    'but recorded'
  )
  t.equal(await outcome(gateway, data('order', { id: 1 }), [EXT]), 'forwarded')
  t.equal(await outcome(gateway, data('order', {}), [EXT]), -32602, 'schemas of the card are validated as before')
  t.equal(await outcome(gateway, data('none', {})), -32005)
  t.equal(await outcome(gateway, data('order', { id: 1 }), ['urn:unknown:v1']), -32004)
})
