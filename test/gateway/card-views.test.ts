/** Cards by caller: `card.views`, `card.publicSkills`, and the extended card. */
import { generateKeyPairSync } from 'node:crypto'
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import t from 'tap'
import type { Test } from 'tap'
import type { JsonObject } from '#wire/json/object.js'
import { call, JSON_TYPE, rpcBody, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import type { Guarded } from '../identity/kit.js'
import { ACME, guarded, OLD, USER, basicOf } from '../identity/kit.js'

const OPEN = 'https://example.com/ext/open/v1'
const SECRET = 'https://example.com/ext/secret/v1'
const REQUIRED = 'https://example.com/ext/required/v1'
const skill = (id: string): object => ({ id, name: id, description: id, tags: [] })

const card = (url: string): Record<string, unknown> => plainCard(url, {
  capabilities: {
    streaming: true,
    extensions: [{ uri: OPEN, description: 'open' }, { uri: SECRET, params: { endpoint: 'internal' } }, { uri: REQUIRED, required: true }]
  },
  skills: [skill('status'), skill('pay')],
  schemas: { invoice: { type: 'object' } }
})

const FINANCE = '{id: finance, caller: {groups: [finance]}, skills: [all], extensions: [all]}'
const PEOPLE = `{id: people, caller: {source: [people]}, skills: [status], extensions: ["${OPEN}"]}`

/** Callers by what they send. `old` has no group. */
const CALLERS = {
  finance: ['x-api-key', ACME],
  people: ['authorization', basicOf('ada', USER)],
  old: ['x-api-key', OLD],
  stranger: []
} as const
type Who = keyof typeof CALLERS

async function viewing (t: Test, extra = 'public: minimal', options: Partial<Parameters<typeof guarded>[1]> = {}): Promise<Guarded> {
  return await guarded(t, {
    ...options,
    agent: { card, ...options?.agent },
    extra: [`card: {${extra}, views: [${FINANCE}, ${PEOPLE}]}`]
  })
}

const get = ({ gateway }: Guarded, who: Who, headers: readonly string[] = V1, path = '/.well-known/agent-card.json'): Promise<Answer> =>
  call(`${gateway.url}${path}`, { headers: [...headers, ...CALLERS[who]] })

interface Seen { skills: string[], extensions: string[], schemas: boolean }

function seen ({ text }: Answer | { readonly text: string }): Seen {
  const parsed = JSON.parse(text) as { skills: { id: string }[], capabilities: { extensions: { uri: string }[] } }
  return { skills: parsed.skills.map(({ id }) => id), extensions: parsed.capabilities.extensions.map(({ uri }) => uri), schemas: 'schemas' in parsed }
}

const ALL_OF_IT = { skills: ['status', 'pay'], extensions: [OPEN, SECRET, REQUIRED], schemas: true }
const SOME = { skills: ['status'], extensions: [OPEN, REQUIRED], schemas: false }
const MINIMAL = { skills: [], extensions: [REQUIRED], schemas: false }

t.test('each caller sees its view, in both generations and at both paths', async t => {
  const setup = await viewing(t)
  for (const headers of [V1, []]) {
    for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json']) {
      t.same(seen(await get(setup, 'finance', headers, path)), ALL_OF_IT)
      t.same(seen(await get(setup, 'people', headers, path)), SOME)
      t.same(seen(await get(setup, 'old', headers, path)), MINIMAL, 'a caller without a view gets the public card')
      t.same(seen(await get(setup, 'stranger', headers, path)), MINIMAL)
    }
  }
  t.equal((await get(setup, 'stranger', [...V1, 'x-api-key', 'wrong'])).status, 401, 'wrong credentials are not a stranger')
  const { text } = await get(setup, 'people')
  t.notMatch(text, /internal|invoice/)
})

t.test('no shared cache may keep a view for others', async t => {
  const setup = await viewing(t)
  const etags = new Set<string>()
  for (const who of ['finance', 'people', 'stranger'] as const) {
    const { headers } = await get(setup, who)
    etags.add(String(headers['etag']))
    t.equal(headers['cache-control'], who === 'stranger' ? 'public, max-age=60' : 'private, no-cache', who)
    t.match(String(headers['vary']).toLowerCase(), /a2a-version.*authorization.*x-api-key/, who)
  }
  t.equal(etags.size, 3)
  const { headers: { etag } } = await get(setup, 'finance')
  t.equal((await get(setup, 'finance', [...V1, 'if-none-match', String(etag)])).status, 304)
  t.equal((await get(setup, 'people', [...V1, 'if-none-match', String(etag)])).status, 200, "another view's ETag confirms nothing")
  t.equal((await get(setup, 'old')).headers['cache-control'], 'private, no-cache')
})

t.test('public: none and full', async t => {
  const none = await viewing(t, 'public: none')
  t.equal((await get(none, 'stranger')).status, 401)
  t.equal((await get(none, 'old')).status, 403)
  t.match(JSON.parse((await get(none, 'old')).text), { error: { details: [{ reason: 'CREDENTIALS_REQUIRED' }] } })
  t.same(seen(await get(none, 'people')), SOME)
  const full = await viewing(t, 'public: full')
  t.same(seen(await get(full, 'stranger')), ALL_OF_IT)
  t.same(seen(await get(full, 'people')), SOME)
})

t.test('publicSkills, and a view for strangers', async t => {
  const setup = await viewing(t, 'public: minimal, publicSkills: [status]')
  t.same(seen(await get(setup, 'stranger')), { ...MINIMAL, skills: ['status'] })
  const anonymous = await guarded(t, { agent: { card }, extra: ['card: {public: none, views: [{id: strangers, caller: {anonymous: true}, skills: [pay], extensions: []}]}'] })
  t.same(seen(await get(anonymous, 'stranger')), { ...MINIMAL, skills: ['pay'] })
  t.equal((await get(anonymous, 'finance')).status, 403)
})

const ID = '12345678901234567890'
const extended = async ({ gateway }: Guarded, who: Who): Promise<Array<[string, Answer]>> => {
  const headers = [...CALLERS[who]]
  return [
    ['rpc 1.0', await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...headers], body: rpcBody('GetExtendedAgentCard', {}, ID) })],
    ['rpc 0.3', await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...headers], body: rpcBody('agent/getAuthenticatedExtendedCard', {}, ID) })],
    ['rest 1.0', await call(`${gateway.url}/rest/extendedAgentCard`, { headers: [...V1, ...headers] })],
    ['rest 0.3', await call(`${gateway.url}/rest/v1/card`, { headers })]
  ]
}

const inner = (way: string, text: string): { text: string } => {
  if (!way.startsWith('rpc')) return { text }
  const { result } = JSON.parse(text) as { result: unknown }
  return { text: JSON.stringify(result) }
}

t.test('the extended card, of an agent that has none: the gateway responds with the view', async t => {
  const setup = await viewing(t)
  for (const [who, expected] of [['finance', ALL_OF_IT], ['people', SOME], ['old', MINIMAL]] as const) {
    for (const [way, answer] of await extended(setup, who)) {
      t.equal(answer.status, 200, `${who} ${way}`)
      t.same(seen(inner(way, answer.text)), expected, `${who} ${way}`)
      t.equal(answer.headers['cache-control'], 'private, no-store')
      if (way.startsWith('rpc')) t.match(answer.text, `"id":${ID}`, 'the id keeps its digits')
    }
  }
  for (const [way, answer] of await extended(setup, 'stranger')) t.equal(answer.status, 401, way)
  t.same(setup.agent.received, [], 'the agent is not asked')
  t.match(JSON.parse((await get(setup, 'stranger')).text), { capabilities: { extendedAgentCard: true } }, 'the public card says that there is one')
  const none = await viewing(t, 'public: none')
  for (const [way, answer] of await extended(none, 'old')) t.equal(answer.status, 403, way)
})

t.test("the agent's own extended card is filtered by the view", async t => {
  const setup = await viewing(t, 'public: minimal', {
    agent: {
      card: (url: string) => ({ ...card(url), capabilities: { ...card(url)['capabilities'] as object, extendedAgentCard: true }, supportsAuthenticatedExtendedCard: true }),
      answer: (request, response) => {
        const full = { ...card('http://agent.internal'), skills: [skill('status'), skill('pay'), skill('admin')] }
        response.setHeader('content-type', 'application/json')
        response.setHeader('cache-control', 'public, max-age=600')
        response.end(JSON.stringify(request.method === 'POST' ? { jsonrpc: '2.0', id: 1, result: full } : full))
      }
    }
  })
  for (const [way, answer] of await extended(setup, 'finance')) t.same(seen(inner(way, answer.text)), { ...ALL_OF_IT, skills: ['status', 'pay', 'admin'] }, way)
  for (const [way, answer] of await extended(setup, 'people')) {
    t.same(seen(inner(way, answer.text)), SOME, way)
    t.notMatch(answer.text, /agent\.internal|"internal"/)
    t.equal(answer.headers['cache-control'], 'private, no-store')
  }
  for (const [way, answer] of await extended(setup, 'old')) t.same(seen(inner(way, answer.text)), MINIMAL, way)
})

t.test('views are signed, each on its own', async t => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const setup = await viewing(t, 'public: minimal, signature: resign, sign: {key: {file: card.pem}, kid: gw}', {
    files: { 'card.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }) as string },
    root: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, publicUrl: "https://agents.example.com"}']
  })
  const { keys } = JSON.parse((await call(`${setup.gateway.url}/.well-known/jwks.json`)).text) as { keys: JsonObject[] }
  const verify = verifyAgentCardSignature(async () => keys[0] as object)
  const signatures = new Set<string>()
  for (const who of ['finance', 'people', 'old', 'stranger'] as const) {
    const received = JSON.parse((await get(setup, who)).text) as AgentCard & { signatures: { signature: string }[] }
    await t.resolves(verify(received), who)
    await t.resolves(verify(AgentCard.fromJSON(received)), `${who}, parsed`)
    signatures.add(received.signatures[0]?.signature ?? '')
  }
  t.equal(signatures.size, 3)
  for (const [way, answer] of await extended(setup, 'people')) await t.resolves(verify(JSON.parse(inner(way, answer.text).text) as AgentCard), way)
  t.equal((await get(setup, 'stranger', V1, '/.well-known/jwks.json')).status, 200, 'keys need no caller')
})

t.test('/agents warns of required extensions that a view does not name', async t => {
  const { gateway } = await viewing(t)
  const [agent] = await (await fetch(`${gateway.adminUrl}/agents`)).json() as { card: { views: string[], warnings: string[] } }[]
  t.same(agent?.card.views, ['finance', 'people'])
  t.match(agent?.card.warnings.join(), `view "people" shows "${REQUIRED}" although it does not name the extension`)
})
