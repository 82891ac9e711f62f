/** Cards that need credentials: `card.headers`, client certificates, and `card.public` for callers without credentials. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { runCheck } from '#cli/check.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, rpc, until } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { plainCard } from '../helpers/raw.js'
import { connect } from '../helpers/sdk-clients.js'

const SECRET = 'Bearer s3cret'
const REQUIRED = 'https://example.com/ext/consent/v1'

interface Guarded {
  readonly url: string
  /** Headers of the requests for the card. */
  readonly requests: IncomingHttpHeaders[]
  /** Values of the header that the agent accepts. */
  readonly accepted: Set<string>
  /** Status of the card instead of 200, for any credentials. */
  status: number
}

/** An agent that shows its card only to callers with one of the accepted values in a header. */
async function guarded (t: Test, header = 'authorization'): Promise<Guarded> {
  const agent = { url: '', requests: [] as IncomingHttpHeaders[], accepted: new Set([SECRET]), status: 200 }
  const listener: RequestListener = (request, response) => {
    if (request.url?.startsWith('/.well-known/') !== true) {
      response.setHeader('content-type', 'application/json')
      response.end('{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}')
      return
    }
    agent.requests.push(request.headers)
    const value = request.headers[header]
    const status = agent.status !== 200 ? agent.status : value === undefined ? 401 : agent.accepted.has(String(value)) ? 200 : 403
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(status === 200 ? cardAt(agent.url) : {}))
  }
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  agent.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return agent
}

const cardAt = (url: string): object => plainCard(url, {
  description: 'internal',
  provider: { organization: 'Secret', url: 'https://secret.example' },
  skills: [{ id: 'secret-skill', name: 'x', description: 'x', tags: [] }],
  schemas: { secret: {} },
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
  capabilities: {
    streaming: true,
    extensions: [{ uri: REQUIRED, required: true, description: 'secret', params: { secret: 1 } }, { uri: 'urn:secret:v1' }]
  }
})

async function cardOf (gateway: TestGateway, headers: string[] = []): Promise<Awaited<ReturnType<typeof call>>> {
  return await call(`${gateway.url}/.well-known/agent-card.json`, { headers: ['a2a-version', '1.0', ...headers] })
}

const HEADERS = 'card: {headers: {Authorization: {env: CARD_TOKEN, prefix: "Bearer "}}, refresh: 50ms}'

t.test('the gateway fetches the card with the headers of the configuration, from the environment or a file', async t => {
  const agent = await guarded(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [HEADERS]), env: { CARD_TOKEN: 's3cret' } })
  t.equal((await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, ['a2a-extensions', REQUIRED])).json().error, undefined)
  t.ok(agent.requests.length >= 2)
  t.ok(agent.requests.every(headers => headers.authorization === SECRET), 'every request for the card has them')

  const directory = t.testdir({ token: 'wrong\n' })
  const yaml = oneAgent(agent.url, ['card: {headers: {AUTHORIZATION: {file: token, prefix: "Bearer "}}, refresh: 50ms}'])
  const rotated = await gatewayFor(t, { yaml, baseDir: directory }, false)
  const problem = async (): Promise<string> =>
    ((await (await fetch(`${rotated.adminUrl}/agents`)).json()) as [{ card: { problem: string | null } }])[0].card.problem ?? ''
  t.match(await problem(), /responded with 403 to the credentials of card\.headers \(authorization\); check the secrets$/)
  t.notMatch(await problem(), 'wrong')
  writeFileSync(join(directory, 'token'), 's3cret\n')
  await rotated.reload(configOf({ yaml, baseDir: directory }))
  await until(async () => (await fetch(`${rotated.adminUrl}/readyz`)).status === 200, 'the new secret')

  const without = await gatewayFor(t, { yaml: oneAgent(agent.url) }, false)
  const [{ card }] = (await (await fetch(`${without.adminUrl}/agents`)).json()) as [{ card: { problem: string } }]
  t.match(card.problem, /responded with 401 to a request without credentials; set card\.headers, or card\.file$/)
})

t.test('a card that needs credentials is served only to callers whom the agent accepts', async t => {
  for (const header of ['Authorization', 'X-API-Key']) {
    const agent = await guarded(t, header.toLowerCase())
    const config = header === 'Authorization' ? 'Authorization: {env: CARD_TOKEN, prefix: "Bearer "}' : 'X-API-Key: {env: CARD_TOKEN}'
    if (header !== 'Authorization') agent.accepted.add('s3cret')
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [`card: {headers: {${config}}}`]), env: { CARD_TOKEN: 's3cret' } })
    const none = await cardOf(gateway)
    t.same(
      [none.status, none.headers['www-authenticate'], none.headers['gateway-decision'], none.headers['cache-control']],
      [401, header === 'Authorization' ? 'Bearer realm="AgentCard"' : 'ApiKey', 'reject;rule="gateway/card-credentials"', 'no-store']
    )
    t.match(JSON.stringify(none.json()), `send those that the agent accepts in the header ${header.toLowerCase()}`)
    t.notMatch(none.text, /secret/)

    t.equal((await cardOf(gateway, [header, 'Bearer mine'])).status, 403, 'credentials that the agent does not accept')
    agent.accepted.add('Bearer mine')
    const granted = await cardOf(gateway, [header, 'Bearer mine'])
    t.same([granted.status, granted.headers['cache-control'], granted.headers['vary']], [200, 'private, no-cache', `A2A-Version, Origin, ${header.toLowerCase()}`])
    t.match(granted.json(), { description: 'internal', supportedInterfaces: [{ url: `${gateway.url}/rpc` }] })
    t.equal((await cardOf(gateway, [header, 'Bearer mine', 'if-none-match', String(granted.headers['etag'])])).status, 304)
    t.equal(agent.requests.at(-1)?.[header.toLowerCase()], 'Bearer mine', "the caller's own credentials, not the gateway's")
    agent.accepted.delete('Bearer mine')
    t.equal((await cardOf(gateway, [header, 'Bearer mine'])).status, 403, 'decided anew for each request')
    agent.status = 500
    t.equal((await cardOf(gateway, [header, 'Bearer mine'])).status, 502)
  }
})

t.test('minimal: the parts that a client needs to call the agent', async t => {
  const agent = await guarded(t)
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(agent.url, [HEADERS.replace('card: {', 'card: {public: minimal, ')]),
    env: { CARD_TOKEN: 's3cret' }
  })
  const minimal = await cardOf(gateway)
  t.equal(minimal.headers['vary'], 'A2A-Version, Origin, authorization')
  t.same(minimal.json(), {
    name: 'fake',
    version: '1',
    description: '',
    supportedInterfaces: ['rpc 1.0', 'rest 1.0', 'rpc 0.3', 'rest 0.3'].map(one => {
      const [path, protocolVersion] = one.split(' ')
      return { url: `${gateway.url}/${path}`, protocolBinding: path === 'rpc' ? 'JSONRPC' : 'HTTP+JSON', protocolVersion }
    }),
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
    capabilities: { streaming: true, extensions: [{ uri: REQUIRED, required: true }] },
    skills: [],
    defaultInputModes: [],
    defaultOutputModes: []
  })
  t.match((await cardOf(gateway, ['authorization', SECRET])).json(), { description: 'internal' })
  const cardUrl = `${gateway.url}/.well-known/agent-card.json`
  const caller = await connect({ client: 'v1', transport: 'JSONRPC', cardUrl, extensions: [REQUIRED] })
  t.ok(await caller.send('hello'), 'an official client works with it')
})

t.test('card.public without card.headers: Authorization decides; full serves everyone', async t => {
  const agent = await guarded(t)
  const file = join(t.testdir({ 'card.json': JSON.stringify(cardAt(agent.url)) }), 'card.json')
  const none = await gatewayFor(t, { yaml: oneAgent(agent.url, [`card: {file: "${file}", public: none}`]) })
  t.equal((await cardOf(none)).status, 401)
  t.equal((await cardOf(none, ['authorization', SECRET])).status, 403, 'nobody can be asked about a file')
  const full = await gatewayFor(t, { yaml: oneAgent(agent.url, [HEADERS.replace('card: {', 'card: {public: full, ')]), env: { CARD_TOKEN: 's3cret' } })
  t.match((await cardOf(full)).json(), { description: 'internal' })
})

t.test('an agent that requires a client certificate for its card', async t => {
  const read = (name: string): Buffer => readFileSync(join(inTests('fixtures/tls'), name))
  let url = ''
  const server = createTlsServer(
    { cert: read('right.pem'), key: read('right.key.pem'), ca: read('ca.pem'), requestCert: true, rejectUnauthorized: true },
    (_request, response) => { response.end(JSON.stringify(cardAt(url))) }
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const tls = (more: string): string[] => [
    'agents:',
    `  - {name: agent, card: {public: none}, upstream: {url: "${url}", tls: {ca: ca.pem${more}}}}`
  ]
  const baseDir = inTests('fixtures/tls')
  const gateway = await gatewayFor(t, { yaml: tls(', cert: right.pem, key: right.key.pem').join('\n'), baseDir })
  t.equal((await cardOf(gateway)).status, 401, 'the client certificate of the gateway opens the card for nobody else')
  const without = await gatewayFor(t, { yaml: tls('').join('\n'), baseDir }, false)
  const [{ ready }] = (await (await fetch(`${without.adminUrl}/agents`)).json()) as [{ ready: boolean }]
  t.notOk(ready)
})

t.test('check --live uses the headers, and names a secret that is missing', async t => {
  const agent = await guarded(t)
  const file = join(t.testdir({ 'g.yaml': `version: 1\n${oneAgent(agent.url, [HEADERS])}` }), 'g.yaml')
  const check = async (env: NodeJS.ProcessEnv): Promise<[number, string]> => {
    const lines: string[] = []
    const push = (text: string): void => { lines.push(text) }
    return [await runCheck({ config: file, live: true, env }, { out: push, err: push }), lines.join('\n')]
  }
  t.match(await check({ CARD_TOKEN: 's3cret' }), [0, /ok: 1 agent/])
  t.match(await check({}), [1, /card\.headers\.Authorization\.env: environment variable CARD_TOKEN is not set/])
})
