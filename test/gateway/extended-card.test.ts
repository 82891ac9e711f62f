/** The extended card: rewritten like the public card, and served only to its caller. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentKind } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'
import { connect } from '../helpers/sdk-clients.js'
import type { ClientKind, Transport } from '../helpers/sdk-clients.js'
import { random } from '../helpers/seed.js'

quietSdk()

type Responder = NonNullable<NonNullable<Parameters<typeof fakeAgent>[1]>['answer']>

const ID = '12345678901234567890'
const METHODS = { '1.0': 'GetExtendedAgentCard', 0.3: 'agent/getAuthenticatedExtendedCard' } as const

/** Asks for it in every binding and version. */
async function everyWay (gateway: TestGateway, headers: readonly string[] = []): Promise<Array<[string, Answer]>> {
  return [
    [
      'JSON-RPC 1.0',
      await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...headers], body: rpcBody(METHODS['1.0'], {}, ID) })
    ],
    [
      'JSON-RPC 0.3',
      await call(`${gateway.url}/rpc`, {
        headers: [...JSON_TYPE, ...headers],
        body: `{"jsonrpc":"2.0","id":${ID},"method":"${METHODS['0.3']}"}`
      })
    ],
    ['HTTP+JSON 1.0', await call(`${gateway.url}/rest/extendedAgentCard`, { headers: [...V1, ...headers] })],
    ['HTTP+JSON 0.3', await call(`${gateway.url}/rest/v1/card`, { headers })]
  ]
}

async function behind (
  t: Test,
  answer: Responder,
  extra: readonly string[] = [],
  root: readonly string[] = []
): Promise<{ agent: FakeAgent; gateway: TestGateway }> {
  const agent = await fakeAgent(t, { answer })
  return { agent, gateway: await gatewayFor(t, { yaml: oneAgent(agent.url, extra, root) }) }
}

t.test('the official clients get it through the gateway, without the agent\'s address', async t => {
  const ways: Array<[AgentKind, ClientKind, Transport]> = [
    ['v1', 'v1', 'JSONRPC'],
    ['v1', 'v1', 'HTTP+JSON'],
    ['dual', 'v1', 'JSONRPC'],
    ['dual', 'v1', 'HTTP+JSON'],
    ['dual', 'v1-as-03', 'JSONRPC'],
    ['dual', 'v1-as-03', 'HTTP+JSON'],
    ['dual', 'v03', 'JSONRPC'],
    ['v03', 'v03', 'JSONRPC'],
    ['v03', 'v03', 'HTTP+JSON']
  ]
  for (const [kind, client, transport] of ways) {
    const agent = await startAgent({ kind, card: { extendedCard: true } })
    t.teardown(() => agent.close())
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
    const caller = await connect({ client, transport, cardUrl: `${gateway.url}/.well-known/agent-card.json`, authorization: 'Bearer me' })
    const card = JSON.stringify(await caller.extendedCard())
    t.match(card, '"secret"', `${kind} agent, ${client} client, ${transport}`)
    t.match(card, gateway.url)
    t.notMatch(card, agent.url)
    t.ok(agent.calls().length > 0)
  }
})

t.test('URLs are rewritten in every binding and version, ids keep their digits, and no cache may store it', async t => {
  const { agent, gateway } = await behind(t, (request, response) => {
    const card = plainCard(agent.url, {
      url: `${agent.url}/rpc`,
      protocolVersion: '0.3.0',
      additionalInterfaces: [{ url: `${agent.url}/grpc`, transport: 'GRPC' }],
      signatures: [{ protected: 'a', signature: 'b' }],
      skills: [{ id: 'secret' }]
    })
    response.writeHead(200, {
      'content-type': 'application/json',
      etag: '"agent"',
      'cache-control': 'public, max-age=3600',
      'last-modified': new Date(0).toUTCString(),
      'x-kept': '1',
      vary: 'authorization'
    })
    const text = JSON.stringify(card)
    response.end(
      request.url === '/rpc'
        ? ` {"jsonrpc" : "2.0", "result":${text} ,"id":${/"id":(\d+)/.exec(request.body.toString())?.[1] ?? ''}}\n`
        : text
    )
  })
  for (const [name, got] of await everyWay(gateway, ['authorization', 'Bearer me', 'accept-encoding', 'gzip, br'])) {
    t.equal(got.status, 200, name)
    t.notMatch(got.text, agent.url)
    t.match(got.text, `${gateway.url}/rpc`)
    t.match(got.text, '"secret"')
    t.notMatch(got.text, /GRPC|signatures/)
    t.equal(got.headers['cache-control'], 'private, no-store')
    t.equal(got.headers.etag, undefined)
    t.equal(got.headers['last-modified'], undefined)
    t.equal(got.headers['x-kept'], '1')
    t.equal(Number(got.headers['content-length']), got.bytes.length)
    if (name.startsWith('JSON-RPC')) {
      t.ok(got.text.startsWith(' {"jsonrpc" : "2.0", "result":') && got.text.endsWith(` ,"id":${ID}}\n`), 'the envelope keeps its bytes')
    }
  }
  for (const request of agent.received) {
    t.equal(request.headers.authorization, 'Bearer me')
    t.equal(request.headers['accept-encoding'], 'identity', 'what the gateway reads must come plain')
  }
})

t.test('two callers never get each other\'s card', async t => {
  const chance = random('gateway/extended-card')
  const { agent, gateway } = await behind(t, (request, response) => {
    const user = request.headers.authorization ?? 'nobody'
    setTimeout(() => {
      const card = JSON.stringify(plainCard(agent.url, { name: user }))
      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=999', etag: '"same"' })
      response.end(request.url === '/rpc' ? `{"jsonrpc":"2.0","id":1,"result":${card}}` : card)
    }, chance.below(30))
  })
  await Promise.all(Array.from({ length: 40 }, async (_, i) => {
    for (const [name, got] of await everyWay(gateway, ['authorization', `user-${i}-end`])) {
      t.ok(got.text.includes(`"name":"user-${i}-end"`), `${name}, caller ${i}`)
    }
  }))
  t.equal(agent.received.length, 160, 'each was asked for')
  const anonymous = await call(`${gateway.url}/rest/extendedAgentCard`, { headers: [...V1, 'if-none-match', '"same"'] })
  t.match(anonymous.text, '"nobody"')
})

t.test('errors of the agent pass unchanged', async t => {
  const unauthorised = await behind(t, (_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Bearer realm="a"' }).end('{"error": "who?"}')
  })
  for (const [name, got] of await everyWay(unauthorised.gateway)) {
    t.equal(got.status, 401, name)
    t.equal(got.headers['www-authenticate'], 'Bearer realm="a"')
    t.equal(got.text, '{"error": "who?"}')
  }
  const error = `{ "jsonrpc":"2.0","id":${ID},"error":{"code":-32007,"message":"no","data":[]} }`
  const failing = await behind(t, (_request, response) => { response.setHeader('content-type', 'application/json').end(error) })
  for (const [name, got] of (await everyWay(failing.gateway)).slice(0, 2)) {
    t.equal(got.status, 200, name)
    t.equal(got.text, error)
    t.equal(got.headers['gateway-decision'], undefined)
  }
})

t.test('a response that cannot be rewritten is not forwarded', async t => {
  const card = (agent: FakeAgent): string => JSON.stringify(plainCard(agent.url))
  const table: Array<[string, (agent: FakeAgent) => { body: Buffer | string; headers?: Record<string, string> }, string]> = [
    [
      'compressed although nothing was offered',
      agent => ({ body: gzipSync(card(agent)), headers: { 'content-encoding': 'gzip' } }),
      'protocol'
    ],
    ['compressed without saying so', agent => ({ body: gzipSync(card(agent)) }), 'protocol'],
    ['no JSON', agent => ({ body: `<a href="${agent.url}">` }), 'protocol'],
    ['duplicate keys', agent => ({ body: `{"result":{},"result":${card(agent)},"url":"","url":"${agent.url}"}` }), 'protocol'],
    ['a list', agent => ({ body: `[${card(agent)}]` }), 'protocol'],
    ['nothing', () => ({ body: '' }), 'protocol'],
    ['too large', agent => ({ body: JSON.stringify({ result: { pad: 'x'.repeat(70_000), url: agent.url } }) }), 'too_large']
  ]
  for (const [name, answer, kind] of table) {
    const { agent, gateway } = await behind(t, (_request, response) => {
      const { body, headers } = answer(agent)
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
    }, [], ['limits: {response: 64KiB}'])
    for (const [way, got] of await everyWay(gateway)) {
      t.equal(got.status, 502, `${name}: ${way}`)
      t.notMatch(got.text, agent.url)
      if (way.startsWith('JSON-RPC')) t.match(got.text, `"id":${ID},`)
    }
    await until(
      async () => (await gateway.metric(`a2a_gateway_upstream_errors_total{agent="agent",kind="${kind}"}`)) === 4,
      `${name}: ${kind}`
    )
  }
})

t.test('interfaces that the public card does not have are removed', async t => {
  const { agent, gateway } = await behind(t, (_request, response) => {
    const card = plainCard(agent.url)
    ;(card['supportedInterfaces'] as object[]).push(
      { url: `${agent.url}/hidden`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://elsewhere.example/rpc2', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
    )
    response.setHeader('content-type', 'application/json').end(JSON.stringify(card))
  })
  const got = await call(`${gateway.url}/rest/extendedAgentCard`, { headers: V1 })
  t.notMatch(got.text, /hidden|rpc2|elsewhere/, 'it would be a 404 at the gateway')
  t.notMatch(got.text, agent.url)
})

t.test('verbatim forwards it unchanged', async t => {
  const { agent, gateway } = await behind(t, (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'cache-control': 'private' })
      .end(` ${JSON.stringify(plainCard(agent.url, { signatures: [{}] }))}`)
  }, ['card: {signature: verbatim}'])
  const got = await call(`${gateway.url}/rest/extendedAgentCard`, { headers: V1 })
  t.equal(got.text, ` ${JSON.stringify(plainCard(agent.url, { signatures: [{}] }))}`)
  t.equal(got.headers['cache-control'], 'private')
})

t.test('mode off and observe rewrite it too', async t => {
  for (const mode of ['off', 'observe']) {
    const { agent, gateway } = await behind(
      t,
      (_request, response) => {
        response.end(JSON.stringify(plainCard(agent.url)))
      },
      [`mode: ${mode}`]
    )
    const got = await call(`${gateway.url}/rest/extendedAgentCard`, { headers: V1 })
    t.notMatch(got.text, agent.url, mode)
    t.match(got.text, gateway.url)
  }
})
