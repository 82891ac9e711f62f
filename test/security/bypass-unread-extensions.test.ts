/** Calls that no rule reads carry nothing of an extension that their caller may not use: preflights, and paths of `passthrough`. */
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'

const PAY = 'https://x.test/ext/pay/v1'
const OPEN = 'https://x.test/ext/open/v1'

interface Guarded {
  readonly url: string
  readonly agent: FakeAgent
  readonly gateway: TestGateway
}

/** @param hasCard false while the agent has no card that can be read */
async function guardedAgent (t: Parameters<typeof fakeAgent>[0], hasCard: () => boolean = () => true): Promise<Guarded> {
  const agent = await fakeAgent(t, {
    card: url => hasCard() ? plainCard(url, { capabilities: { extensions: [{ uri: PAY }, { uri: OPEN }] } }) : 'broken',
    answer: (_request, response) => { response.writeHead(204).end() }
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, passthrough: [/docs], extensions: [pay]}]
extensions: {pay: {uri: "${PAY}", owns: {headers: [x-pay]}, activation: {callers: {groups: [finance]}}}}`
  }, hasCard())
  return { url: gateway.url, agent, gateway }
}

t.test('passthrough: neither the name, in any spelling, nor the headers', async t => {
  const { url, agent } = await guardedAgent(t)
  for (const name of ['A2A-Extensions', 'X-A2A-Extensions', 'a2a-extensions', 'x_a2a_extensions']) {
    for (const [sent, expected] of [
      [PAY, null], [`${OPEN}, ${PAY}`, OPEN], [`${PAY}/`, null], [`"${PAY}"`, null], [OPEN, OPEN], [`${OPEN},${PAY},HTTPS://X.test/ext/pay/v1`, OPEN]
    ] as const) {
      for (const owned of ['x-pay', 'X-PAY', 'x_pay', 'x.pay']) {
        agent.received.length = 0
        t.equal((await call(`${url}/docs/a`, { method: 'GET', headers: [name, sent, owned, 'data', 'x-other', 'kept'] })).status, 204)
        const [received] = agent.received
        const text = JSON.stringify(received?.rawHeaders)
        t.notMatch(text, /pay/i, `${name}: ${sent}`)
        t.match(text, /"x-other","kept"/)
        t.equal(text.includes(OPEN), expected !== null, `${name}: ${sent}`)
      }
    }
  }
})

t.test('a preflight forwards Origin and Access-Control-* only', async t => {
  const { url, agent } = await guardedAgent(t)
  for (const path of ['/rpc', '/rest/message:send', '/docs/a']) {
    agent.received.length = 0
    const headers = [
      'origin', 'https://app.test', 'access-control-request-method', 'POST', 'access-control-request-headers', 'a2a-extensions',
      'a2a-extensions', PAY, 'x-a2a-extensions', PAY, 'x-pay', 'data', 'x_pay', 'data', 'cookie', 'a=b', 'authorization', 'Bearer x', 'x-other', 'gone'
    ]
    await call(`${url}${path}`, { method: 'OPTIONS', headers })
    const [received] = agent.received
    t.equal(agent.received.length, 1, path)
    const names = (received?.rawHeaders ?? []).filter((_, i) => i % 2 === 0).map(name => name.toLowerCase())
    t.same(names.filter(name => !/^(?:host|via|connection|x-forwarded-.*|traceparent)$/.test(name)).sort(),
      ['access-control-request-headers', 'access-control-request-method', 'origin'], path)
    t.notMatch(JSON.stringify(received?.rawHeaders), /x\.test/)
  }
})

t.test('before the first card, nothing of a forbidden extension reaches the agent, and after it neither', async t => {
  let card: 'none' | 'card' = 'none'
  const { url, agent, gateway } = await guardedAgent(t, () => card === 'card')
  const headers = ['a2a-extensions', PAY, 'x-a2a-extensions', PAY, 'x-pay', 'data', 'x_pay', 'data', 'origin', 'https://app.test']
  const send = async (method: string): Promise<number> =>
    (await call(`${url}/docs/a`, { method, headers: method === 'OPTIONS' ? [...headers, 'access-control-request-method', 'POST'] : headers })).status
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    t.equal(await send(method), 503, method)
    t.notMatch(JSON.stringify(agent.received.map(one => one.rawHeaders)), /pay/i, method)
  }
  card = 'card'
  await until(async () => (await fetch(`${gateway.adminUrl}/readyz`)).ok, 'the card', 60_000)
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    agent.received.length = 0
    t.equal(await send(method), 204, method)
    t.equal(agent.received.length, 1)
    t.notMatch(JSON.stringify(agent.received[0]?.rawHeaders), /pay/i, method)
  }
})
