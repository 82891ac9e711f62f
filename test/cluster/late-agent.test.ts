/** An agent that starts after a gateway with workers: the process that got the request is not the process that reads the card. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort, rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { cluster } from './kit.js'

t.test('a client that waits as long as Retry-After says is served', async t => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const early = await fakeAgent(t)
  const entry = (name: string, at: string): string => `  - {name: ${name}, path: /${name}, upstream: {url: "${at}"}}`
  const gateway = await cluster(t, `agents:\n${entry('early', early.url)}`)
  gateway.rewrite(`agents:\n${entry('early', early.url)}\n${entry('late', url)}`)
  const failed = async (): Promise<number> => await gateway.metric('a2a_gateway_card_refreshes_total{agent="late",outcome="unreachable"}')
  await until(async () => await failed() >= 4, 'four attempts')
  const agent = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(request.url?.includes('/.well-known/') === true ? JSON.stringify(plainCard(url)) : '{"jsonrpc":"2.0","id":1,"result":{}}')
  }).listen(port, '127.0.0.1')
  await once(agent, 'listening')
  t.teardown(() => {
    agent.closeAllConnections()
    agent.close()
  })
  const first = await rpc(`${gateway.url}/late/rpc`)
  t.equal(first.status, 503)
  const wait = Number(first.headers['retry-after'])
  t.ok(wait >= 1 && wait <= 2, `Retry-After: ${wait}`)
  await sleep(wait * 1_000)
  t.equal((await rpc(`${gateway.url}/late/rpc`)).status, 200)
})
