/** Cross-origin requests: the gateway's own responses carry the headers that the agent's responses carry. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/http.js'
import { call, JSON_TYPE, lines, MESSAGE, rpcBody, V1 } from '../helpers/http.js'

quietSdk()

const CARD = '/.well-known/agent-card.json'
const APP = 'https://app.example.com'
const REQUIRED = 'https://example.com/ext/required/v1'
const PREFLIGHT = ['access-control-request-method', 'POST', 'access-control-request-headers', 'content-type,a2a-version']

/** The policy of an agent: one origin, with credentials. */
function allow (response: ServerResponse & { req: IncomingMessage }): void {
  const { origin } = response.req.headers
  response.setHeader('vary', 'Origin')
  if (origin !== APP) return
  response.setHeader('access-control-allow-origin', APP)
  response.setHeader('access-control-allow-credentials', 'true')
  response.setHeader('access-control-expose-headers', 'x-own')
  if (response.req.method === 'OPTIONS') response.setHeader('access-control-allow-headers', 'content-type, a2a-version')
}

async function behind (
  t: Test,
  keys: readonly string[] = []
): Promise<{ readonly gateway: TestGateway, readonly asked: () => string[], readonly yaml: string }> {
  const seen: string[] = []
  const agent = await startAgent({
    kind: 'v1',
    card: { extensions: [{ uri: REQUIRED, required: true }] },
    tamper: response => {
      const { method, url, headers: { origin } } = response.req
      if (origin !== undefined) seen.push(`${method} ${url} ${origin}`)
      allow(response as ServerResponse & { req: IncomingMessage })
    }
  })
  t.teardown(() => agent.close())
  const yaml = oneAgent(agent.url, keys)
  return { gateway: await gatewayFor(t, { yaml }), asked: () => seen.splice(0), yaml }
}

const send = (gateway: TestGateway, origin: string, ...headers: string[]): Promise<Answer> => call(`${gateway.url}/a2a/jsonrpc`, {
  headers: [...JSON_TYPE, ...V1, 'origin', origin, ...headers],
  body: rpcBody('SendMessage', { message: MESSAGE })
})
const read = (gateway: TestGateway, origin: string): Promise<Answer> => call(gateway.url + CARD, { headers: [...V1, 'origin', origin] })
const cors = ({ headers }: Answer): string[] =>
  Object.entries(headers).filter(([name]) => name.startsWith('access-control-')).map(([name, value]) => `${name.slice(15)}: ${String(value)}`).sort()

t.test('the card and rejections carry the headers of the agent, which is asked once for each origin', async t => {
  const { gateway, asked } = await behind(t)
  t.same(cors(await read(gateway, APP)), ['allow-credentials: true', `allow-origin: ${APP}`, 'expose-headers: x-own'])
  t.same(asked(), [`GET ${CARD} ${APP}`])
  const rejected = await send(gateway, APP)
  t.match(rejected.headers['gateway-decision'], /^reject/)
  t.same(cors(rejected), ['allow-credentials: true', `allow-origin: ${APP}`, 'expose-headers: x-own'])
  t.same(asked(), [`OPTIONS /a2a/jsonrpc ${APP}`])
  for (let i = 0; i < 3; i++) {
    t.equal(cors(await send(gateway, APP)).length, 3)
    t.equal(cors(await read(gateway, APP)).length, 3)
  }
  t.same(asked(), [], 'and not again')
  for (const origin of ['https://evil.example', 'null']) {
    t.same(cors(await send(gateway, origin)), [], origin)
    t.same(cors(await read(gateway, origin)), [], origin)
  }
  t.same(cors(await send(gateway, 'x'.repeat(5_000))), [])
  t.equal(asked().length, 4, 'an origin that is none is not asked about')
  t.match((await read(gateway, APP)).headers.vary, /Origin/)
  t.match((await call(gateway.url + CARD)).headers.vary, /Origin/)
})

t.test('the agent responds to preflights, those of the card too', async t => {
  const { gateway, asked } = await behind(t)
  for (const path of ['/a2a/jsonrpc', '/a2a/rest/message:send', CARD]) {
    const got = await call(gateway.url + path, { method: 'OPTIONS', headers: ['origin', APP, ...PREFLIGHT] })
    t.equal(got.status, 200, path)
    t.same(lines(got.rawHeaders, 'access-control-allow-origin'), [APP], path)
    t.equal(got.headers['access-control-allow-headers'], 'content-type, a2a-version')
    t.ok(asked().includes(`OPTIONS ${path} ${APP}`))
  }
})

t.test('responses of the agent pass unchanged', async t => {
  const { gateway } = await behind(t)
  const got = await send(gateway, APP, 'a2a-extensions', REQUIRED)
  t.equal(got.status, 200)
  t.same(lines(got.rawHeaders, 'access-control-allow-origin'), [APP])
})

t.test('an agent that does not respond causes no headers, and delays no response for long', async t => {
  const agent = await startAgent({ kind: 'v1', card: { extensions: [{ uri: REQUIRED, required: true }] } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  await agent.close()
  const got = await send(gateway, APP)
  t.match(got.text, /-32008/)
  t.same(cors(got), [])
})

t.test('cors.origins replaces the policy of the agent', async t => {
  const { gateway, asked, yaml } = await behind(t, ['cors: {origins: ["https://Other.example:8443"], maxAge: 90s}'])
  const other = 'https://other.example:8443'
  const preflight = await call(`${gateway.url}/a2a/jsonrpc`, { method: 'OPTIONS', headers: ['origin', other, ...PREFLIGHT] })
  t.equal(preflight.status, 204)
  t.match(preflight.headers, {
    'access-control-allow-origin': other,
    'access-control-allow-methods': /POST/,
    'access-control-allow-headers': 'content-type,a2a-version',
    'access-control-max-age': '90'
  })
  t.same(asked(), [], 'nobody asks the agent')
  for (const got of [await read(gateway, other), await send(gateway, other), await send(gateway, other, 'a2a-extensions', REQUIRED)]) {
    t.same(lines(got.rawHeaders, 'access-control-allow-origin'), [other])
    t.match(got.headers.vary, /Origin/)
    t.match(got.headers['access-control-expose-headers'], /Gateway-Decision/)
  }
  for (const got of [await read(gateway, APP), await send(gateway, APP), await send(gateway, APP, 'a2a-extensions', REQUIRED)]) {
    t.same(cors(got), [], 'also none of the agent')
  }
  t.same(cors(await call(`${gateway.url}/a2a/jsonrpc`, { method: 'OPTIONS', headers: ['origin', APP, ...PREFLIGHT] })).filter(one => /origin/.test(one)), [])
  await gateway.reload(configOf({ yaml: yaml.replace('"https://Other.example:8443"', '"*"') }))
  t.same(lines((await send(gateway, APP)).rawHeaders, 'access-control-allow-origin'), ['*'])
})
