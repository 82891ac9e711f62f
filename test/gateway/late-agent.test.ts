/** An agent that starts after the gateway. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { freePort, rpc, until } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'

const FAILED = 'a2a_gateway_card_refreshes_total{agent="agent",outcome="unreachable"}'

async function startAgent (t: Test, port: number): Promise<{ readonly server: Server, readonly cardRequests: () => number }> {
  let cards = 0
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url?.includes('/.well-known/') !== true) return response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
    cards++
    response.end(JSON.stringify(plainCard(`http://127.0.0.1:${port}`)))
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, cardRequests: () => cards }
}

t.test('a client that waits as long as Retry-After says is served', async t => {
  const port = await freePort()
  const gateway = await gatewayFor(t, { yaml: oneAgent(`http://127.0.0.1:${port}`) }, false)
  // The gateway now waits 4 s until its next attempt.
  await until(async () => await gateway.metric(FAILED) >= 4, 'four attempts')
  await startAgent(t, port)
  const first = await rpc(`${gateway.url}/rpc`)
  t.equal(first.status, 503)
  const wait = Number(first.headers['retry-after'])
  t.ok(wait >= 1 && wait <= 2, `Retry-After: ${wait}`)
  await sleep(wait * 1_000)
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
})

t.test('many requests cause one attempt a second', async t => {
  const port = await freePort()
  const gateway = await gatewayFor(t, { yaml: oneAgent(`http://127.0.0.1:${port}`) }, false)
  await until(async () => await gateway.metric(FAILED) >= 1, 'the first attempt')
  const startedAt = performance.now()
  await until(async () => {
    t.equal((await rpc(`${gateway.url}/rpc`)).status, 503)
    return await gateway.metric(FAILED) >= 4
  }, 'three more attempts')
  const seconds = (performance.now() - startedAt) / 1_000
  // The gateway's own attempts follow after 0.5 s, 1 s and 2 s, without requests 3.5 s in all.
  t.ok(seconds > 2.3, `three attempts in ${seconds.toFixed(1)} s`)
})
