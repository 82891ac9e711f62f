/** Agents may share an origin. The paths of a card must not bring another agent's paths under the policy of this card's agent. */
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { call, JSON_TYPE, listenFor, rpcBody, V1 } from '../helpers/http.js'
import { quietSdk, startAgent } from '../helpers/agents.js'

quietSdk()

const REQUIRED = 'https://example.com/ext/required/v1'

interface Origin {
  readonly url: string
  /** Request lines of calls. */
  readonly calls: string[]
}

/** Several agents behind one origin, as an ingress has them: `<path>/.well-known/agent-card.json` is the card of the agent at that path. */
async function originOf (t: Test, cards: Readonly<Record<string, unknown>>): Promise<Origin> {
  const calls: string[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const path = request.url ?? ''
    const at = path.indexOf('/.well-known/')
    if (at !== -1) {
      const card = cards[path.slice(0, at)]
      response.writeHead(card === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(card ?? {}))
      return
    }
    calls.push(`${request.method} ${path}`)
    request.resume().on('end', () => { response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"result":{}}') })
  })
  const sockets = new Set<Socket>()
  server.on('connection', socket => { sockets.add(socket) })
  return { url: await listenFor(t, server, sockets), calls }
}

const face = (url: string, protocolBinding = 'JSONRPC', protocolVersion = '1.0'): object => ({ url, protocolBinding, protocolVersion })
const cardOf = (interfaces: readonly object[], more: object = {}): object => ({
  name: 'a',
  description: 'a',
  version: '1',
  supportedInterfaces: interfaces,
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
  ...more
})
const victim = cardOf([face('http://h/victim/rpc'), face('http://h/victim/rest', 'HTTP+JSON')], {
  capabilities: { extensions: [{ uri: REQUIRED, required: true }] }
})

const AGENTS = (url: string, rogue: string): string => `agents:
  - {name: victim, path: /victim, upstream: {url: "${url}/victim"}}
  - {name: rogue, path: /rogue, upstream: {url: "${url}"}${rogue}}
`

interface Shown { readonly name: string, readonly card: { readonly warnings: string[] }, readonly interfaces: { readonly path: string }[] }

async function shown (gateway: TestGateway, name: string): Promise<Shown> {
  const agents = await (await fetch(`${gateway.adminUrl}/agents`)).json() as Shown[]
  return agents.find(one => one.name === name) as Shown
}

const post = (url: string): ReturnType<typeof call> =>
  call(url, {
    headers: [...JSON_TYPE, ...V1],
    body: rpcBody('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } })
  })

t.test('a card cannot name paths outside upstream.url', async t => {
  const origin = await originOf(t, {
    '/victim': victim,
    '/rogue': cardOf([
      face('http://h/rogue/rpc'),
      face('http://h/victim/rpc'),
      face('http://h/victim/rest', 'HTTP+JSON'),
      face('http://h/'),
      face('http://h/rogue-too/rpc'),
      face('http://h/rogue/../victim/rpc')
    ])
  })
  const gateway = await gatewayFor(t, { yaml: AGENTS(origin.url, '').replace(`url: "${origin.url}"}`, `url: "${origin.url}/rogue"}`) })
  for (const path of ['/victim/rpc', '/rogue/victim/rpc', '/rogue/victim/rest/message:send', '/rogue/rogue-too/rpc', '/rogue']) {
    t.match(String((await post(gateway.url + path)).headers['gateway-decision']), /^reject/, path)
  }
  t.same(origin.calls, [], 'nothing arrived')
  t.equal((await post(`${gateway.url}/rogue/rpc`)).status, 200)
  t.same(origin.calls, ['POST /rogue/rpc'])
  const served = (await call(`${gateway.url}/rogue/.well-known/agent-card.json`)).json() as unknown as {
    supportedInterfaces: { url: string }[]
  }
  t.same(served.supportedInterfaces.map(({ url }) => url), [`${gateway.url}/rogue/rpc`], 'the served card names only what is carried')
  const { card, interfaces } = await shown(gateway, 'rogue')
  t.same(interfaces.map(({ path }) => path), ['/rpc'])
  t.equal(
    card.warnings.filter(one => one.includes('its path is not below that of upstream.url, "/rogue"; card.interfaces can allow it')).length,
    4,
    '/agents says why'
  )
})

t.test('an agent with all interfaces elsewhere has no usable card, and the gateway reports it', async t => {
  const origin = await originOf(t, { '/victim': victim, '/rogue': cardOf([face('http://h/victim/rpc')]) })
  const gateway = await gatewayFor(
    t,
    { yaml: AGENTS(origin.url, '').replace(`url: "${origin.url}"}`, `url: "${origin.url}/rogue"}`) },
    false
  )
  t.equal((await post(`${gateway.url}/rogue/victim/rpc`)).status, 503)
  t.match(
    await (await fetch(`${gateway.adminUrl}/readyz`)).text(),
    /no interface of the card can be routed: JSONRPC 1.0 http:\/\/h\/victim\/rpc is not served: its path is not below that of upstream.url/
  )
  t.same(origin.calls, [])
})

t.test('an agent at the root of an origin has all of it except the paths of other agents', async t => {
  const origin = await originOf(t, {
    '/victim': victim,
    '': cardOf([
      face('http://h/rpc'),
      face('http://h/victim/rpc'),
      face('http://h/VICTIM/rpc'),
      face('http://h/', 'HTTP+JSON'),
      face('http://h/victim/sub', 'HTTP+JSON')
    ])
  })
  const gateway = await gatewayFor(t, { yaml: AGENTS(origin.url, ', passthrough: [/docs]') })
  for (const path of [
    '/rogue/victim/rpc', '/rogue/VICTIM/rpc', '/rogue/victim/', '/rogue/victim/sub/message:send',
    // The victim's REST interface, were `victim` a tenant of the one at the root.
    '/rogue/victim/message:send', '/rogue/Victim/message:send', '/rogue/victim%3Bx/message:send', '/rogue/victim;x/message:send'
  ]) t.match(String((await post(gateway.url + path)).headers['gateway-decision']), /^reject/, path)
  t.same(origin.calls, [], 'nothing arrived')
  await post(`${gateway.url}/rogue/acme/message:send`)
  await post(`${gateway.url}/rogue/docs/x`)
  t.same(origin.calls, ['POST /acme/message:send', 'POST /docs/x'], 'the rest of the origin is its own')
})

t.test('passthrough does not lead to another agent, unless the prefix names it; neither does an agent without a card', async t => {
  const origin = await originOf(t, { '/team/victim': victim, '/other': cardOf([face('http://h/other/rpc')]) })
  const gateway = await gatewayFor(
    t,
    {
      yaml: `agents:
  - {name: victim, path: /victim, upstream: {url: "${origin.url}/team/victim"}, card: {interfaces: [/victim]}}
  - {name: wide, path: /wide, upstream: {url: "${origin.url}"}, passthrough: [/team], card: {url: "${origin.url}/other/.well-known/agent-card.json"}}
  - {name: named, path: /named, upstream: {url: "${origin.url}"}, passthrough: [/team/victim/docs], card: {url: "${origin.url}/other/.well-known/agent-card.json"}}
  - {name: cardless, path: /cardless, upstream: {url: "${origin.url}"}, card: {onUnavailable: forward}}
`
    },
    false
  )
  t.match(await (await fetch(`${gateway.adminUrl}/readyz`)).text(), /ready/)
  for (const path of [
    '/wide/team/victim/rpc',
    '/wide/team/Victim/rpc',
    '/wide/team/victim;x/rpc',
    '/wide/team/victim',
    '/named/team/victim/rpc',
    '/cardless/team/victim/rpc',
    '/cardless/TEAM/victim'
  ]) {
    t.match(String((await post(gateway.url + path)).headers['gateway-decision']), /^reject/, path)
  }
  t.same(origin.calls, [])
  for (const path of ['/wide/team/x', '/named/team/victim/docs/x', '/cardless/x']) await post(gateway.url + path)
  t.same(origin.calls, ['POST /team/x', 'POST /team/victim/docs/x', 'POST /x'])
})

t.test('the extended card of 0.2 agents next to their URL does not belong to another agent', async t => {
  const legacy = {
    name: 'a',
    description: 'a',
    version: '1',
    url: 'http://h/rogue',
    capabilities: {},
    supportsAuthenticatedExtendedCard: true,
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: []
  }
  const origin = await originOf(t, { '/rogue': legacy, '/wide': { ...legacy, url: 'http://h/wide' } })
  const gateway = await gatewayFor(t, {
    yaml: `agents:
  - {name: rogue, path: /rogue, upstream: {url: "${origin.url}/rogue"}}
  - {name: wide, path: /wide, upstream: {url: "${origin.url}/wide"}, card: {interfaces: [/agent]}}
`
  })
  await call(`${gateway.url}/rogue/agent/authenticatedExtendedCard`)
  t.same(origin.calls, [])
  await call(`${gateway.url}/wide/agent/authenticatedExtendedCard`)
  t.same(origin.calls, ['GET /agent/authenticatedExtendedCard'])
})

t.test('an agent of the official SDK with both bindings works below a path, and with card.interfaces', async t => {
  const agent = await startAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, {
    yaml: `agents:
  - {name: whole, path: /whole, upstream: {url: "${agent.url}"}}
  - {name: allowed, path: /allowed, upstream: {url: "${agent.url}/elsewhere"}, card: {url: "${agent.cardUrl}", interfaces: [/]}}
`
  })
  for (const name of ['whole', 'allowed']) {
    const got = await post(`${gateway.url}/${name}/a2a/jsonrpc`)
    t.equal(got.status, 200, name)
    t.notMatch(got.text, /"error"/, name)
  }
})
