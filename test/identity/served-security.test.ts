/** The served card offers the schemes of the gateway, in the shapes of its generations, public and extended. */
import t from 'tap'
import { AgentCard } from '@a2a-js/sdk'
import type { TestGateway } from '../helpers/gateway.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, rpc, V1 } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, guarded, PARTNERS, PEOPLE, yamlOf } from './kit.js'

const OWN = {
  securitySchemes: { mine: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
  securityRequirements: [{ schemes: { mine: { list: [] } } }],
  skills: [{ id: 's', name: 's', description: '', tags: [], securityRequirements: [{ schemes: { mine: { list: [] } } }] }]
}
const V03 = { url: 'http://agent.invalid/rpc', protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' }

const cardOf = async (gateway: TestGateway, headers: readonly string[] = V1): Promise<Record<string, unknown>> =>
  (await call(`${gateway.url}/.well-known/agent-card.json`, { headers })).json() as unknown as Record<string, unknown>

const SCHEMES = {
  partners: { apiKeySecurityScheme: { location: 'header', name: 'x-api-key' } },
  people: { httpAuthSecurityScheme: { scheme: 'basic' } }
}
const REQUIREMENTS = [{ schemes: { partners: { list: [] } } }, { schemes: { people: { list: [] } } }]

t.test('public, minimal and extended card', async t => {
  const { gateway } = await guarded(t, {
    extra: ['card: {public: minimal}'],
    agent: {
      card: url => plainCard(url, { ...OWN, capabilities: { extendedAgentCard: true } }),
      answer: (request, response) => {
        const card = plainCard(`http://${request.headers.host ?? ''}`, { ...OWN, name: 'extended' })
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(request.url.startsWith('/rest') ? card : { jsonrpc: '2.0', id: 1, result: card }))
      }
    }
  })
  const key = ['x-api-key', ACME]
  const cards: Record<string, Record<string, unknown>> = {
    minimal: await cardOf(gateway),
    full: await cardOf(gateway, [...V1, ...key]),
    'extended, JSON-RPC': (await rpc(`${gateway.url}/rpc`, 'GetExtendedAgentCard', {}, key)).json().result as unknown as Record<string, unknown>,
    'extended, HTTP+JSON': (await call(`${gateway.url}/rest/extendedAgentCard`, { headers: [...V1, ...key] })).json() as unknown as Record<string, unknown>
  }
  for (const [name, card] of Object.entries(cards)) {
    t.same(card.securitySchemes, SCHEMES, name)
    t.same(card.securityRequirements, REQUIREMENTS, name)
    t.notOk(JSON.stringify(card).includes('mine'), `${name}: skills name no scheme of the agent`)
    t.equal(AgentCard.fromJSON(card).securitySchemes.partners?.scheme?.$case, 'apiKeySecurityScheme', `${name}: the SDK reads it`)
  }
  const agents = await (await fetch(`${gateway.adminUrl}/agents`)).json() as { card: { changes: object[] } }[]
  t.match(agents[0]?.card.changes, [{ part: 'security', name: 'securitySchemes', change: 'replaced', by: 'identity' }])
})

t.test('a card of 0.3, and one of both generations', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const sources = [jwtSource('corp', issuer.url), PARTNERS]
  const { supportedInterfaces: _, ...bare } = plainCard('http://x')
  const old = await guarded(t, {
    sources,
    agent: {
      card: url => ({ ...bare, ...V03, url: `${url}/rpc`, securitySchemes: { mine: { type: 'http', scheme: 'bearer' } }, security: [{ mine: [] }] })
    }
  })
  const card = await cardOf(old.gateway)
  t.same(card.securitySchemes, {
    corp: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    partners: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    'corp-oidc': { type: 'openIdConnect', openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration` }
  })
  t.same(card.security, [{ corp: [] }, { partners: [] }, { 'corp-oidc': [] }])
  t.notOk('securityRequirements' in card)
  const both = await guarded(t, { sources, agent: { card: url => plainCard(url, { ...V03, url: `${url}/rpc` }) } })
  const hybrid = await cardOf(both.gateway)
  t.match(hybrid, { securitySchemes: { corp: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'bearer' } } } })
  t.same(hybrid.security, [{ corp: [] }, { partners: [] }, { 'corp-oidc': [] }])
  t.equal((hybrid.securityRequirements as unknown[]).length, 3)
})

t.test('access.require, and card.security', async t => {
  const agent = { card: (url: string) => plainCard(url, OWN) }
  const two = await guarded(t, { agent, extra: ['access: {require: [[partners, people], [anonymous]]}'] })
  t.same((await cardOf(two.gateway)).securityRequirements, [{ schemes: { partners: { list: [] }, people: { list: [] } } }, { schemes: {} }])
  const one = await guarded(t, { agent, extra: ['access: {require: [[people]]}'] })
  t.same((await cardOf(one.gateway)).securitySchemes, { people: SCHEMES.people })
  const open = await guarded(t, { agent, extra: ['access: {require: [[anonymous]]}'] })
  t.notOk(/security|mine/.test(JSON.stringify(await cardOf(open.gateway))), 'no credentials are needed')
  for (const extra of ['card: {security: agent}', 'card: {signature: verbatim}']) {
    const { gateway } = await guarded(t, { agent, extra: [extra] })
    const { securitySchemes, securityRequirements } = await cardOf(gateway)
    t.same([securitySchemes, securityRequirements], [OWN.securitySchemes, OWN.securityRequirements], extra)
  }
  const chosen = await guarded(t, { agent, sources: [PEOPLE], extra: ['card: {security: gateway}'] })
  t.same((await cardOf(chosen.gateway)).securitySchemes, { people: SCHEMES.people })
})

t.test('a reload with other sources changes the card', async t => {
  const { gateway, agent, dir } = await guarded(t, { sources: [PEOPLE] })
  t.same(Object.keys((await cardOf(gateway)).securitySchemes as object), ['people'])
  t.ok((await gateway.reload(configOf({ yaml: yamlOf(agent.url), baseDir: dir }))).ok)
  t.same(Object.keys((await cardOf(gateway)).securitySchemes as object), ['partners', 'people'])
})

t.test('without identity, the card has the bytes that it had', async t => {
  const { agent } = await guarded(t, { agent: { card: url => plainCard(url, OWN) } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const served = (await call(`${gateway.url}/.well-known/agent-card.json`, { headers: V1 })).text
  const own = await (await fetch(`${agent.url}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })).text()
  t.equal(served, own.replaceAll(agent.url, gateway.url))
})
