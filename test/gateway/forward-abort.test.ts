/** Either side may disconnect at any time. The other side is notified, and the outcome is counted once. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { JSON_TYPE, MESSAGE, open, rawAgent, rpc, rpcBody, until, untilSame, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'

const BODY = rpcBody('SendMessage', { message: MESSAGE })
const outcome = (name: string, operation = 'SendMessage'): string =>
  `a2a_gateway_requests_total{agent="agent",operation="${operation}",binding="JSONRPC",version="1.0",outcome="${name}"}`

t.test('a client that disconnects before the response aborts the agent\'s request', async t => {
  const responses: ServerResponse[] = []
  const agent = await fakeAgent(t, { answer: (_request, response) => { responses.push(response) } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const outgoing = open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: BODY })
  outgoing.on('error', () => {})
  outgoing.end(BODY)
  await until(() => responses.length === 1, 'the call to reach the agent')
  const closed = once(responses[0] as ServerResponse, 'close')
  outgoing.destroy()
  await closed
  t.notOk(responses[0]?.writableFinished)
  await until(async () => await gateway.metric(outcome('client_aborted')) === 1, 'client_aborted')
  t.equal(await gateway.metric(outcome('forwarded')), 0)
  t.equal(await gateway.metric(outcome('upstream_error')), 0)
  t.equal(agent.received.length, 1, 'and the task is not cancelled: no other call is made')
})

t.test('a client that disconnects while it sends causes no connection to the agent', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const framing of [`content-length: ${BODY.length}`, 'transfer-encoding: chunked']) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(
      `POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n${framing}\r\n\r\n${framing.startsWith('t') ? '5\r\n' : ''}${BODY.slice(0, 5)}`
    )
    await new Promise(resolve => setTimeout(resolve, 50))
    socket.resetAndDestroy()
  }
  await until(async () => await gateway.metric(outcome('client_aborted', 'Other')) === 2, 'client_aborted')
  t.equal(agent.received.length, 0)
})

t.test('a client that disconnects while its call waits for a free connection causes no connection to the agent', async t => {
  const responses: ServerResponse[] = []
  const agent = await fakeAgent(t, { answer: (_request, response) => { responses.push(response) } })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${agent.url}", connections: 1}}]` })
  const first = rpc(`${gateway.url}/rpc`)
  await until(() => responses.length === 1)
  const outgoing = open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: BODY })
  outgoing.on('error', () => {})
  outgoing.end(BODY)
  await new Promise(resolve => setTimeout(resolve, 100))
  outgoing.destroy()
  await until(async () => await gateway.metric(outcome('client_aborted')) === 1)
  responses[0]?.end('{}')
  t.equal((await first).status, 200)
  const third = rpc(`${gateway.url}/rpc`)
  await until(() => responses.length === 2)
  responses[1]?.end('{"third":1}')
  t.equal((await third).text, '{"third":1}', 'the next in line gets its own answer')
  t.equal(agent.received.length, 2)
})

t.test('an agent that dies before it responds is a 502', async t => {
  const agent = await rawAgent(t, socket => { socket.resetAndDestroy() })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const got = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, [], '12345678901234567890')
  t.equal(got.status, 502)
  t.match(got.text, '"id":12345678901234567890,')
  t.match(got.headers['gateway-decision'], /upstream-reset/)
  t.equal(agent.requests.length, 1, 'and the call is not made again')
  await until(async () => await gateway.metric(outcome('upstream_error')) === 1)
})

t.test('a hundred clients that disconnect at any moment leave nothing behind', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { setTimeout(() => { response.end('{}') }, 20) } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  await Promise.all(Array.from({ length: 100 }, async (_, i) => {
    const outgoing = open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: BODY })
    outgoing.on('error', () => {})
    outgoing.on('response', incoming => { incoming.on('error', () => {}).resume() })
    // The whole request leaves the client first, because nothing counts a request that never arrives.
    await new Promise<void>(resolve => { outgoing.end(BODY, resolve) })
    await new Promise(resolve => setTimeout(resolve, i % 40))
    outgoing.destroy()
  }))
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
  const ended = (outcome = ''): Promise<number> => gateway.metric(`a2a_gateway_requests_total{agent="agent",binding="JSONRPC"${outcome}}`)
  await untilSame(t, ended, 101, 'the end of each call')
  t.equal(await ended(',outcome="client_aborted"') + await ended(',outcome="forwarded"'), 101, 'no call has another outcome')
})
