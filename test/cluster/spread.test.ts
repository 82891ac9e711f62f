/** Connections are spread evenly over the workers, and none is lost with a worker that dies. */
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { cluster } from './kit.js'

t.test('keep-alive connections: no worker has more than 1.5 times the mean', async t => {
  const agent = await fakeAgent(t)
  const gateway = await cluster(t, `${oneAgent(agent.url)}\ntelemetry: {logs: {level: debug}}`, {}, 4)
  const connections = Array.from({ length: 32 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  t.teardown(() => { for (const one of connections) one.destroy() })
  const headers = [...JSON_TYPE, ...V1]
  const send = (one: Agent): Promise<number | undefined> => new Promise((resolve, reject) => {
    request(`${gateway.url}/rpc`, {
      agent: one,
      method: 'POST',
      headers: Object.fromEntries(headers.flatMap((name, i) => i % 2 === 0 ? [[name, headers[i + 1] as string]] : []))
    }, (response: IncomingMessage) => { response.resume().on('end', () => { resolve(response.statusCode) }) })
      .on('error', reject)
      .end(rpcBody('SendMessage', { message: MESSAGE }))
  })
  for (const one of connections) t.equal(await send(one), 200)
  await Promise.all(connections.map(send))
  const calls = new Map<number, number>()
  for (const { worker = 0 } of await gateway.heard(/^request$/, 64)) calls.set(worker, (calls.get(worker) ?? 0) + 1)
  t.equal(calls.size, 4)
  t.ok(Math.max(...calls.values()) <= 1.5 * 64 / 4, [...calls.values()].join(' '))
})

t.test('a connection on its way to a worker that dies is served by another worker', async t => {
  const agent = await fakeAgent(t)
  const gateway = await cluster(t, oneAgent(agent.url))
  for (let i = 0; i < 4; i++) t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
  const [[, pid] = [0, 0]] = gateway.workers()
  process.kill(pid, 'SIGSTOP')
  let served = 0
  const calls = Array.from({ length: 8 }, async () => {
    const { status } = await rpc(`${gateway.url}/rpc`)
    served++
    return status
  })
  await until(() => served === 7, 'all calls but the one at the worker that stands still', 30_000)
  process.kill(pid, 'SIGKILL')
  t.same(await Promise.all(calls), Array.from({ length: 8 }, () => 200))
  t.equal(agent.received.length, 12, 'each call once')
})
