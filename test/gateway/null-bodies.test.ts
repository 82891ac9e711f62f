/**
 * The Go SDK sends the body `null` with every HTTP+JSON request without content, including GET. The body has no meaning, and the gateway
 * accepts it.
 */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, V1 } from '../helpers/http.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'

t.test('`null` on operations without a payload counts as no payload', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const [method, path] of [
    ['GET', '/rest/tasks/t'],
    ['GET', '/rest/tasks'],
    ['POST', '/rest/tasks/t:cancel'],
    ['POST', '/rest/tasks/t:subscribe'],
    ['DELETE', '/rest/tasks/t/pushNotificationConfigs/c']
  ] as const) {
    agent.received.length = 0
    const got = await rawExchange(
      gateway.url,
      `${method} ${path} HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnull`
    )
    t.match(got, /^HTTP\/1\.1 200 /, `${method} ${path}`)
    t.equal(agent.received.length, 1)
    t.equal(
      agent.received[0]?.body.toString(),
      method === 'GET' ? '' : 'null',
      method === 'GET' ? 'a GET goes on without a body' : 'the same bytes'
    )
  }
})

t.test('a GET with another body is rejected, and so is a message that is `null`', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const body of ['{}', 'nul', '"null"', '{"message":{"parts":[]}}']) {
    const got = await rawExchange(
      gateway.url,
      `GET /rest/tasks/t HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
    )
    t.match(got, /^HTTP\/1\.1 400 /, body)
    t.match(got, 'gateway-decision: reject;rule="gateway/unexpected-body"')
  }
  const chunked = await rawExchange(
    gateway.url,
    'GET /rest/tasks/t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nnull\r\n0\r\n\r\n'
  )
  t.match(chunked, /^HTTP\/1\.1 400 /)
  const message = await call(`${gateway.url}/rest/message:send`, { method: 'POST', headers: [...JSON_TYPE, ...V1], body: 'null' })
  t.equal(message.status, 400)
  t.match(message.text, 'The body must be one JSON object')
  t.equal(agent.received.length, 0)
})
