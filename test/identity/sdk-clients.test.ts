/**
 * Official JavaScript clients with the SDK's own authentication: they find the scheme in the served card, get a token from a real identity
 * provider after the first 401, and retry. The second part is what clients see of 401, 403, 429 and 503
 * (docs/how-to/authenticate-callers.md).
 */
import t from 'tap'
import type { Test } from 'tap'
import { AgentCard } from '@a2a-js/sdk'
import { createAuthenticatingFetchWithRetry } from '@a2a-js/sdk/client'
import type { AuthenticationHandler } from '@a2a-js/sdk/client'
import * as v03 from 'a2a-sdk-03/client'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentKind, TestAgent } from '../helpers/agents.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { connect } from '../helpers/sdk-clients.js'
import type { AgentClient, ClientKind, Transport } from '../helpers/sdk-clients.js'
import { jwtSource } from './issuer.js'
import { keyFiles, PARTNERS, yamlOf } from './kit.js'
import type { Running } from './provider.js'
import { privateKey, provider } from './provider.js'

quietSdk()

interface Scene { readonly agent: TestAgent, readonly gateway: TestGateway, readonly issuer: Running }

async function scene (t: Test, kind: AgentKind, more: Parameters<typeof yamlOf>[1] = {}): Promise<Scene> {
  const issuer = await provider(t, [await privateKey('key', 'ES256')])
  const agent = await startAgent({ kind })
  t.teardown(() => agent.close())
  const yaml = yamlOf(agent.url, { sources: [jwtSource('corp', issuer.url), PARTNERS], ...more })
  return { agent, issuer, gateway: await gatewayFor(t, { yaml, baseDir: keyFiles(t) }) }
}

const cardUrlOf = ({ url }: TestGateway): string => `${url}/.well-known/agent-card.json`

/** Gets a token when the challenge asks for one, as an application would. */
class Tokens implements AuthenticationHandler {
  token: string | null = null
  readonly challenges: (string | null)[] = []
  private readonly issuer: Running

  constructor (issuer: Running) {
    this.issuer = issuer
  }

  readonly headers = async (): Promise<Record<string, string>> => (this.token === null ? {} : { Authorization: `Bearer ${this.token}` })

  readonly shouldRetryWithHeaders = async (_request: RequestInit, response: Response): Promise<Record<string, string> | undefined> => {
    if (response.status !== 401) return undefined
    const challenge = response.headers.get('www-authenticate')
    this.challenges.push(challenge)
    if (!/Bearer realm="agent"/.test(challenge ?? '')) return undefined
    this.token = await this.issuer.token()
    return await this.headers()
  }
}

const CLIENTS: readonly (readonly [ClientKind, AgentKind])[] = [['v1', 'v1'], ['v1', 'dual'], ['v1-as-03', 'dual'], ['v03', 'v03'], ['v03', 'dual']]

for (const [client, kind] of CLIENTS) {
  for (const transport of ['JSONRPC', 'HTTP+JSON'] as const) {
    t.test(`${client}, agent ${kind}, ${transport}: 401, token, success`, async t => {
      const { gateway, agent, issuer } = await scene(t, kind)
      const tokens = new Tokens(issuer)
      // Each generation has a function of its own, with the same handler.
      const authenticating = client === 'v03' ? v03.createAuthenticatingFetchWithRetry : createAuthenticatingFetchWithRetry
      const sdk = await connect({ client, transport, cardUrl: cardUrlOf(gateway), fetch: authenticating(fetch, tokens) })
      t.match(JSON.stringify(await sdk.send('message')), 'echo: message')
      t.equal(tokens.challenges.length, 1, 'the first call brings the challenge')
      t.match(tokens.challenges[0], /Bearer realm="agent", resource_metadata="http:\/\/127\.0\.0\.1:\d+\/\.well-known\/oauth-protected-resource", ApiKey realm="agent", header="x-api-key"/)
      const events: unknown[] = []
      for await (const event of sdk.stream('stream')) events.push(event)
      t.ok(events.length > 1, 'a stream, with the token')
      t.equal(tokens.challenges.length, 1)
      tokens.token = 'not-a-token'
      t.match(JSON.stringify(await sdk.send('message')), 'echo: message', 'a token that has become invalid')
      t.match(tokens.challenges[1], /error="invalid_token"/)
      t.ok(agent.calls().every(({ headers }) => headers.authorization === undefined), 'the agent gets no token')
    })
  }
}

t.test('a stream is the first call', async t => {
  const { gateway, issuer } = await scene(t, 'v1')
  const tokens = new Tokens(issuer)
  const sdk = await connect({ client: 'v1', transport: 'JSONRPC', cardUrl: cardUrlOf(gateway), fetch: createAuthenticatingFetchWithRetry(fetch, tokens) })
  const events: unknown[] = []
  for await (const event of sdk.stream('stream')) events.push(event)
  t.ok(events.length > 1)
  t.equal(tokens.challenges.length, 1)
})

t.test('clients read the schemes of the served card', async t => {
  for (const kind of ['v1', 'dual', 'v03'] as const) {
    const { gateway, issuer } = await scene(t, kind)
    const get = async (version: string): Promise<Record<string, unknown>> =>
      await (await fetch(cardUrlOf(gateway), { headers: { 'a2a-version': version } })).json() as Record<string, unknown>
    if (kind !== 'v03') {
      const card = AgentCard.fromJSON(await get('1.0'))
      t.match(card.securitySchemes, {
        corp: { scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'bearer', bearerFormat: 'JWT' } } },
        partners: { scheme: { $case: 'apiKeySecurityScheme', value: { location: 'header', name: 'x-api-key' } } },
        'corp-oidc': { scheme: { $case: 'openIdConnectSecurityScheme', value: { openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration` } } }
      }, kind)
      t.same(card.securityRequirements.map(({ schemes }) => Object.keys(schemes)), [['corp'], ['partners'], ['corp-oidc']], kind)
    }
    if (kind === 'v03') t.match(await get('0.3'), { securitySchemes: { corp: { type: 'http' } }, security: [{ corp: [] }, { partners: [] }, { 'corp-oidc': [] }] })
  }
})

/** What the SDK gives its caller: the text of the error, or the value. */
async function seen (work: () => Promise<unknown>): Promise<string> {
  try {
    return `returns ${JSON.stringify(await work())}`
  } catch (error) {
    const { name, message } = error as Error
    return `${name}: ${message}`
  }
}

async function drained (events: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const event of events) all.push(event)
  return all
}

const MISSING = /This agent requires credentials: send an access token in the header Authorization, after "Bearer "/
/** The reason phrase of the status line, which some clients show instead of the body. */
const SHOWN: readonly (readonly [ClientKind, AgentKind, Transport, 'send' | 'stream', RegExp])[] = [
  ['v1', 'v1', 'JSONRPC', 'send', MISSING],
  ['v1', 'v1', 'JSONRPC', 'stream', MISSING],
  ['v1', 'v1', 'HTTP+JSON', 'send', MISSING],
  ['v1', 'v1', 'HTTP+JSON', 'stream', MISSING],
  ['v1-as-03', 'dual', 'JSONRPC', 'send', MISSING],
  ['v03', 'v03', 'JSONRPC', 'send', MISSING],
  ['v03', 'v03', 'JSONRPC', 'stream', MISSING],
  ['v03', 'v03', 'HTTP+JSON', 'send', MISSING],
  ['v03', 'v03', 'HTTP+JSON', 'stream', MISSING]
]

t.test('what clients see of a 401', async t => {
  for (const kind of ['v1', 'dual', 'v03'] as const) {
    const { gateway, agent } = await scene(t, kind)
    for (const [client, , transport, operation, expected] of SHOWN.filter(([, one]) => one === kind)) {
      const sdk = await connect({ client, transport, cardUrl: cardUrlOf(gateway) })
      t.match(await seen(() => (operation === 'send' ? sdk.send('message') : drained(sdk.stream('stream')))), expected, `${client}, ${transport}, ${operation}`)
    }
    t.equal(agent.calls().length, 0)
  }
})

t.test('what clients see of 429 and 503', async t => {
  const { gateway } = await scene(t, 'v1', { extra: ['access: {require: card}'] })
  const clients = async (gateway: TestGateway, authorization?: string): Promise<AgentClient[]> => await Promise.all((['JSONRPC', 'HTTP+JSON'] as const).map(transport =>
    connect({ client: 'v1', transport, cardUrl: cardUrlOf(gateway), ...(authorization === undefined ? {} : { authorization }) })))
  for (const sdk of await clients(gateway)) {
    t.match(await seen(() => sdk.send('message')), /supports none of the security requirements of this agent's card/)
    t.match(await seen(() => drained(sdk.stream('stream'))), /supports none of the security requirements of this agent's card/)
  }
  const other = await scene(t, 'v1')
  const wrong = async (): Promise<number> => {
    const response = await fetch(`${other.gateway.url}/`, { headers: { 'x-api-key': 'wrong' } })
    await response.text()
    return response.status
  }
  for (const transport of ['JSONRPC', 'HTTP+JSON'] as const) {
    const fetching: typeof fetch = (url, init) => fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), 'x-api-key': 'wrong' } })
    const sdk = await connect({ client: 'v1', transport, cardUrl: cardUrlOf(other.gateway), fetch: fetching })
    while (await wrong() !== 429);
    t.match(await seen(() => sdk.send('message')), /Too many requests from this address had credentials that are not valid; wait before the next one/, transport)
  }
})
