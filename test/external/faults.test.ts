/**
 * Policy servers that fail, each under 60 calls, or 1,000 in the nightly suite: no call is lost, none passes without a decision while
 * `onError` is `reject`, and a failing server costs neither time nor memory once the breaker is open.
 */
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:https'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { freePort, MESSAGE, rpc, untilSame } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { WHOLE } from '../helpers/seed.js'
import type { FakeAgent } from '../helpers/raw.js'
import { PERMIT, pointLine, policyServer } from './kit.js'

const CALLS = WHOLE ? 1_000 : 60
const AT_ONCE = 50
const REST = { message: MESSAGE }

interface Outcomes { readonly passed: number, readonly denied: number, readonly unavailable: number, readonly other: readonly string[] }

async function manyCalls (url: string, count = CALLS): Promise<Outcomes> {
  const found = { passed: 0, denied: 0, unavailable: 0, other: [] as string[] }
  let left = count
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) {
      const { status, text } = await rpc(`${url}/rpc`, 'SendMessage', REST)
      if (status === 200 && text.includes('"result"')) found.passed++
      else if (status === 200 && text.includes('-32004')) found.denied++
      else if (status === 503 && text.includes('EXTERNAL_DECISION_UNAVAILABLE')) found.unavailable++
      else found.other.push(`${status} ${text.slice(0, 100)}`)
    }
  }))
  return found
}

async function setup (t: Test, url: string, more = '', onError = 'reject'): Promise<{ agent: FakeAgent, gateway: TestGateway }> {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: spend, use: corp}]'], [pointLine(url, `onError: ${onError}${more === '' ? '' : `, ${more}`}`)]) })
  return { agent, gateway }
}

const NONE = { passed: 0, denied: 0, unavailable: CALLS, other: [] }

const json = (response: ServerResponse, text: string, status = 200, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(text)
}

const ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'a status': response => { json(response, '{"decision":true}', 500) },
  'another success': response => { json(response, '{"decision":true}', 201) },
  'a redirect': response => { json(response, '{"decision":true}', 307, { location: '/elsewhere' }) },
  'no JSON': response => { json(response, '{"decision":true') },
  'two values': response => { json(response, '{"decision":true}{"decision":true}') },
  'a member twice': response => { json(response, '{"decision":false,"decision":true}') },
  'a list': response => { json(response, '[{"decision":true}]') },
  'a wrong type': response => { json(response, '{"decision":"true"}') },
  'a wrong context': response => { json(response, '{"decision":true,"context":"x"}') },
  'another media type': response => { json(response, '{"decision":true}', 200, { 'content-type': 'text/html' }) },
  'a compressed body': response => { json(response, '{"decision":true}', 200, { 'content-encoding': 'gzip' }) },
  'a huge body': response => { json(response, `{"decision":true,"context":{"x":"${'x'.repeat(100_000)}"}}`) },
  'half a body': response => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"decision":true')
    response.socket?.end()
  },
  'no bytes': response => { response.socket?.destroy() }
}

t.test('answers that are no decision', async t => {
  for (const [name, answer] of Object.entries(ANSWERS)) {
    const server = await policyServer(t, (_, response) => {
      answer(response)
      return undefined
    })
    const { agent, gateway } = await setup(t, server.url, 'timeout: 5s')
    t.same(await manyCalls(gateway.url), NONE, name)
    t.equal(agent.received.length, 0, `${name}: nothing passes`)
    t.equal(server.received.some(one => one.path === '/elsewhere'), false)
    t.equal(await gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="spend",outcome="error"}'), CALLS)
  }
})

t.test('a server that is down: the breaker opens, and calls pass only with onError: forward', async t => {
  const url = `http://127.0.0.1:${await freePort()}/access/v1/evaluation`
  const { agent, gateway } = await setup(t, url)
  t.same(await manyCalls(gateway.url), NONE)
  t.equal(agent.received.length, 0)
  const open = await setup(t, url, '', 'forward')
  t.same(await manyCalls(open.gateway.url), { ...NONE, unavailable: 0, passed: CALLS })
  t.equal(await open.gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="spend",outcome="forwarded"}'), CALLS)
})

t.test('a slow server: a call waits for the timeout at most, and the server gets few questions', async t => {
  let open = 0
  let most = 0
  const server = await policyServer(t, (_, response) => {
    most = Math.max(most, ++open)
    response.on('close', () => { open-- })
    return undefined
  })
  const { agent, gateway } = await setup(t, server.url, 'timeout: 200ms, concurrency: 8')
  const startedAt = performance.now()
  t.same(await manyCalls(gateway.url), NONE)
  t.ok(performance.now() - startedAt < 20_000, `${performance.now() - startedAt} ms`)
  t.ok(most <= 8, `${most} questions at once`)
  t.ok(server.received.length < CALLS / 2, `${server.received.length} questions: the breaker is open`)
  t.equal(agent.received.length, 0)
  await untilSame(t, () => open, 0, 'questions under way')
})

t.test('a flapping server: every call passes with a decision, or does not pass', async t => {
  let count = 0
  const server = await policyServer(t, (_, response) => {
    if (count++ % 4 === 0) return PERMIT
    response.socket?.destroy()
    return undefined
  })
  const { agent, gateway } = await setup(t, server.url, 'timeout: 5s')
  const found = await manyCalls(gateway.url)
  t.equal(found.passed + found.unavailable, CALLS)
  t.same(found.other, [])
  t.equal(agent.received.length, found.passed)
  const answered = Math.ceil(count / 4)
  t.ok(found.passed <= answered, `${found.passed} of ${answered}`)
})

t.test('a server that comes back is asked again', async t => {
  let works = false
  const server = await policyServer(t, (_, response) => {
    if (works) return PERMIT
    response.socket?.destroy()
    return undefined
  })
  const { gateway } = await setup(t, server.url)
  t.same(await manyCalls(gateway.url), NONE)
  works = true
  await untilSame(t, async () => (await manyCalls(gateway.url, AT_ONCE)).passed, AT_ONCE, 'calls that pass')
})

t.test('a server with another certificate, and one without TLS', async t => {
  const certs = inTests('fixtures/tls')
  const server = createTlsServer({ key: readFileSync(join(certs, 'right.key.pem')), cert: readFileSync(join(certs, 'right.pem')) }, (_, response) => { response.end('{"decision":true}') })
  const plain = createTcpServer((socket: Socket) => { socket.on('error', () => {}).end('hello') })
  for (const one of [server, plain]) {
    await new Promise<void>(resolve => one.listen(0, '127.0.0.1', resolve))
    t.teardown(() => { one.close() })
    const { agent, gateway } = await setup(t, `https://127.0.0.1:${(one.address() as AddressInfo).port}/access/v1/evaluation`)
    t.same(await manyCalls(gateway.url), NONE)
    t.equal(agent.received.length, 0)
  }
})
