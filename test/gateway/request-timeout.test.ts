/** The gateway gives up a request that does not arrive completely, and notifies the client. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'

/** Sends a beginning, then one byte at a time for as long as it may. */
async function dribble (t: Test, url: string, beginning: string, byte: string, every = 50): Promise<{ text: string, took: number }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => { text += chunk.toString('latin1') })
  socket.on('error', () => {})
  await once(socket, 'connect')
  const begun = Date.now()
  socket.write(beginning)
  const pump = byte === '' ? null : setInterval(() => { if (socket.writable) socket.write(byte) }, every)
  const closed = once(socket, 'close')
  await Promise.race([closed, until(() => text !== '', 'an answer', 20_000)])
  const took = Date.now() - begun
  if (pump !== null) clearInterval(pump)
  await new Promise(resolve => setTimeout(resolve, 50))
  socket.destroy()
  t.ok(took < 15_000, `${took} ms`)
  return { text, took }
}

t.test('a body that does not arrive in time is 408 in the caller\'s binding', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {requestTimeout: 400ms}']) })
  const head = (target: string, extra: string): string =>
    `POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${extra}\r\n`
  const table: Array<[string, string, string, RegExp]> = [
    [
      'JSON-RPC 1.0',
      head('/rpc', 'a2a-version: 1.0\r\ncontent-length: 1000\r\n') + '{',
      ' ',
      /"jsonrpc":"2\.0","id":null,"error":\{"code":-32603,"message":"[^"]*0\.4 s/
    ],
    [
      'JSON-RPC 0.3, chunked',
      head('/rpc', 'transfer-encoding: chunked\r\n') + '1\r\n{\r\n',
      '1\r\n \r\n',
      /"jsonrpc":"2\.0","id":null,"error":\{"code":-32603/
    ],
    [
      'HTTP+JSON 1.0',
      head('/rest/message:send', 'a2a-version: 1.0\r\ncontent-length: 1000\r\n') + '{',
      '',
      /"error":\{"code":408,"status":"DEADLINE_EXCEEDED"/
    ],
    ['HTTP+JSON 0.3', head('/rest/v1/message:send', 'content-length: 1000\r\n') + '{', ' ', /\{"code":-32603,"message"/]
  ]
  for (const [name, beginning, byte, shape] of table) {
    const { text, took } = await dribble(t, gateway.url, beginning, byte)
    t.match(text, /^HTTP\/1\.1 408 /, name)
    t.match(text, /gateway-decision: reject;rule="gateway\/request-timeout"/)
    t.match(text, shape, name)
    t.ok(took >= 350, 'not before its time')
  }
  t.equal(agent.received.length, 0)
  await until(
    async () =>
      (await gateway.metric(
        'a2a_gateway_requests_total{agent="agent",operation="Other",binding="JSONRPC",version="1.0",outcome="rejected"}'
      )) === 1
  )
})

t.test('headers that do not arrive in time end the connection', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {requestTimeout: 400ms}']) })
  const { text } = await dribble(t, gateway.url, 'POST /rpc HTTP/1.1\r\nhost: x\r\n', 'x-a: b\r\n')
  t.match(text, /^(HTTP\/1\.1 408 |$)/)
  const { text: none } = await dribble(t, gateway.url, 'POST', '')
  t.match(none, /^(HTTP\/1\.1 408 |$)/)
  t.equal(agent.received.length, 0)
})

t.test('the time to receive a request does not limit its response', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { setTimeout(() => { response.end('{"late":true}') }, 2_500) } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {requestTimeout: 400ms}']) })
  const got = await fetch(`${gateway.url}/rest/tasks/1`, { headers: { 'a2a-version': '1.0' } })
  t.equal(await got.text(), '{"late":true}')
})

t.test('bytes that are not HTTP, and heads that are too large, get an error', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  t.match((await dribble(t, gateway.url, 'hello there\r\n\r\n', '')).text, /^HTTP\/1\.1 400 /)
  t.match(
    (await dribble(t, gateway.url, `GET /rpc HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(40_000)}\r\n\r\n`, '')).text,
    /^HTTP\/1\.1 431 /
  )
  t.match((await dribble(t, gateway.url, 'BREW /rpc HTTP/1.1\r\nhost: x\r\n\r\n', '')).text, /^HTTP\/1\.1 400 /)
  t.equal(agent.received.length, 0)
})
