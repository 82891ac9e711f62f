/** Mode enforce rejects, mode observe records and changes nothing, and mode off does not evaluate. */
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, lines, MESSAGE, rpcBody, V1 } from '../helpers/http.js'
import type { CallOptions } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'

const REQUIRED = 'https://example.com/ext/required/v1'
const GATEWAY = 'gateway'

async function inMode (t: Test, mode: string, extra = ''): Promise<{ agent: FakeAgent, gateway: TestGateway }> {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: REQUIRED, required: true }] } }) })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, mode: ${mode}${extra}}]` })
  return { agent, gateway }
}

interface Case {
  readonly name: string
  readonly path: string
  readonly options: CallOptions & { body: string }
  readonly extension: string
  readonly rule: string
  readonly reason: string
}

const JSON_1_0 = [...JSON_TYPE, ...V1]
const send = rpcBody('SendMessage', { message: MESSAGE })

const CASES: readonly Case[] = [
  {
    name: 'a missing required extension',
    path: '/rpc',
    options: { headers: JSON_1_0, body: send },
    extension: REQUIRED,
    rule: 'required',
    reason: 'EXTENSION_SUPPORT_REQUIRED'
  },
  {
    name: 'the same in HTTP+JSON',
    path: '/rest/message:send',
    options: { headers: JSON_1_0, body: JSON.stringify({ message: MESSAGE }) },
    extension: REQUIRED,
    rule: 'required',
    reason: 'EXTENSION_SUPPORT_REQUIRED'
  },
  {
    name: 'invalid JSON',
    path: '/rpc',
    options: { headers: JSON_1_0, body: '{"jsonrpc":"2.0",,}' },
    extension: GATEWAY,
    rule: 'json',
    reason: 'PARSE_ERROR'
  },
  {
    name: 'bytes that are no UTF-8, as far as a text can be',
    path: '/rpc',
    options: { headers: JSON_1_0, body: '\ufeff{}' },
    extension: GATEWAY,
    rule: 'json',
    reason: 'PARSE_ERROR'
  },
  {
    name: 'duplicate keys',
    path: '/rpc',
    options: { headers: JSON_1_0, body: '{"jsonrpc":"2.0","id":1,"method":"SendMessage","method":"GetTask"}' },
    extension: GATEWAY,
    rule: 'json',
    reason: 'PARSE_ERROR'
  },
  {
    name: 'a batch',
    path: '/rpc',
    options: { headers: JSON_1_0, body: `[${send}]` },
    extension: GATEWAY,
    rule: 'envelope',
    reason: 'INVALID_REQUEST'
  },
  {
    name: 'an unknown method',
    path: '/rpc',
    options: { headers: [...JSON_1_0, 'a2a-extensions', REQUIRED], body: rpcBody('Dance', { a: 1 }) },
    extension: GATEWAY,
    rule: 'unknown-method',
    reason: 'METHOD_NOT_FOUND'
  },
  {
    name: 'a wrong type',
    path: '/rpc',
    options: { headers: ['content-type', 'text/plain', ...V1], body: send },
    extension: GATEWAY,
    rule: 'content-type',
    reason: 'CONTENT_TYPE_NOT_SUPPORTED'
  },
  {
    name: 'a compressed body',
    path: '/rpc',
    options: { headers: [...JSON_1_0, 'content-encoding', 'br'], body: 'zipped' },
    extension: GATEWAY,
    rule: 'content-encoding',
    reason: 'CONTENT_ENCODING_NOT_SUPPORTED'
  },
  {
    name: 'a version nobody speaks',
    path: '/rpc',
    options: { headers: [...JSON_TYPE, 'a2a-version', '99.0', 'a2a-extensions', REQUIRED], body: send },
    extension: GATEWAY,
    rule: 'version',
    reason: 'VERSION_NOT_SUPPORTED'
  },
  {
    name: 'an empty REST message',
    path: '/rest/message:send',
    options: { headers: [...JSON_1_0, 'a2a-extensions', REQUIRED], body: '' },
    extension: GATEWAY,
    rule: 'json',
    reason: 'PARSE_ERROR'
  }
]

t.test('enforce rejects each of these before the agent is called', async t => {
  for (const one of CASES) {
    const { agent, gateway } = await inMode(t, 'enforce')
    const got = await call(gateway.url + one.path, one.options)
    t.match(got.headers['gateway-decision'], 'reject;rule="', one.name)
    t.match(got.text, `"reason":"${one.reason}"`)
    t.equal(agent.received.length, 0)
    t.match(gateway.audits(), [{ decision: 'rejected', agent: 'agent', reason: one.reason, rule: one.rule }])
    t.equal(
      await gateway.metric(
        `a2a_gateway_violations_total{agent="agent",extension="${one.extension}",rule="${one.rule}",phase="request",mode="enforce"}`
      ),
      1,
      `${one.name}: counted`
    )
  }
})

t.test('observe records each of these and forwards the same bytes', async t => {
  for (const one of CASES) {
    const { agent, gateway } = await inMode(t, 'observe')
    const got = await call(gateway.url + one.path, one.options)
    t.equal(got.status, 200, one.name)
    t.equal(got.headers['gateway-decision'], undefined)
    t.equal(agent.received.length, 1, one.name)
    const [request] = agent.received
    t.equal(request?.body.toString(), one.options.body)
    t.equal(request?.url, one.path)
    for (const name of ['content-type', 'content-encoding', 'a2a-version', 'a2a-extensions']) {
      t.same(lines(request?.rawHeaders ?? [], name), lines(one.options.headers ?? [], name), `${one.name}: ${name}`)
    }
    t.match(gateway.audits(), [{ decision: 'observed', agent: 'agent', reason: one.reason, rule: one.rule }], one.name)
    t.equal(
      await gateway.metric(
        `a2a_gateway_violations_total{agent="agent",extension="${one.extension}",rule="${one.rule}",phase="request",mode="observe"}`
      ),
      1,
      `${one.name}: counted`
    )
  }
})

t.test('observe does not strip unlisted extensions', async t => {
  const { agent, gateway } = await inMode(t, 'observe', ', unlistedExtensions: strip')
  await call(`${gateway.url}/rpc`, { headers: [...JSON_1_0, 'a2a-extensions', `urn:x,${REQUIRED}`], body: send })
  t.same(lines(agent.received[0]?.rawHeaders ?? [], 'a2a-extensions'), ['urn:x', REQUIRED])
})

t.test('off proxies, records nothing, and still serves the rewritten card', async t => {
  const { agent, gateway } = await inMode(t, 'off')
  for (const one of CASES) {
    agent.received.length = 0
    const got = await call(gateway.url + one.path, one.options)
    t.equal(got.status, 200, one.name)
    t.equal(agent.received[0]?.body.toString(), one.options.body)
    for (const name of ['content-type', 'content-encoding', 'a2a-version', 'a2a-extensions']) {
      t.same(lines(agent.received[0]?.rawHeaders ?? [], name), lines(one.options.headers ?? [], name), `${one.name}: ${name}`)
    }
  }
  t.same(gateway.audits(), [])
  t.notMatch((await call(`${gateway.url}/.well-known/agent-card.json`)).text, agent.url)
  t.equal((await call(`${gateway.url}/elsewhere`)).status, 404)
})

t.test('unknownMethods: forward lets extension methods through, checked like messages', async t => {
  const { agent, gateway } = await inMode(t, 'enforce', ', unknownMethods: forward')
  t.match((await call(`${gateway.url}/rpc`, { headers: JSON_1_0, body: rpcBody('Dance', { a: 1 }) })).json(), { error: { code: -32008 } })
  const body = rpcBody('Dance', { a: 1 })
  t.equal((await call(`${gateway.url}/rpc`, { headers: [...JSON_1_0, 'a2a-extensions', REQUIRED], body })).status, 200)
  t.equal(agent.received[0]?.body.toString(), body)
  t.equal(
    await gateway.metric('a2a_gateway_requests_total{agent="agent",operation="Other",binding="JSONRPC",version="1.0",outcome="forwarded"}'),
    1
  )
})

t.test('one policy may observe while the agent enforces, and the other way round', async t => {
  const agent = await fakeAgent(t, {
    card: url =>
      plainCard(url, {
        capabilities: {
          extensions: [
            { uri: REQUIRED, required: true },
            { uri: 'urn:b', required: true }
          ]
        }
      })
  })
  const policies = (mode: string): string => `extensions: {mine: {uri: "${REQUIRED}", mode: ${mode}}}`
  const lenient = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, extensions: [mine]}]\n${policies('observe')}`
  })
  const refused = await call(`${lenient.url}/rpc`, { headers: JSON_1_0, body: send })
  t.match(refused.text, /"missingExtensions":"urn:b"/)
  t.equal(
    await lenient.metric('a2a_gateway_violations_total{agent="agent",extension="mine",rule="required",phase="request",mode="observe"}'),
    1
  )
  t.equal((await call(`${lenient.url}/rpc`, { headers: [...JSON_1_0, 'a2a-extensions', 'urn:b'], body: send })).status, 200)
  const strict = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, mode: observe, extensions: [mine]}]\n${policies('enforce')}`
  })
  t.match((await call(`${strict.url}/rpc`, { headers: JSON_1_0, body: send })).json(), { error: { code: -32008 } })
})
