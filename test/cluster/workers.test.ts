/** Several processes serve one listener, and appear as one gateway to clients and to the system that stops them. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { AUDIT_FIELDS } from '#telemetry/audit-fields.js'
import { LINE_FIELDS, LOG_FIELDS } from '#telemetry/log-fields.js'
import { oneAgent } from '../helpers/gateway.js'
import { call, freePort, rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { sampleIn } from '../helpers/samples.js'
import { serve } from '../helpers/serve.js'
import { alive, cluster, COUNTED, load, more, REQUESTS } from './kit.js'

t.test('calls are distributed, counted together, and survive the death of a worker', async t => {
  const cards: string[] = []
  const agent = await fakeAgent(t, { card: url => { cards.push(url); return plainCard(url) } })
  const gateway = await cluster(t, `${oneAgent(agent.url)}\ntelemetry: {logs: {level: debug}}`)
  t.equal(cards.length, 2, 'one process asks for the card, in its two variants')

  const first = load(`${gateway.url}/rpc`)
  await more(first, 300)
  await first.stop()
  t.same(first.bad, [])
  const ids = (await gateway.heard(/^request$/, first.good())).map(line => line.request_id)
  t.equal(new Set(ids).size, ids.length, 'no two workers give the same id')
  t.equal(await gateway.metric(REQUESTS), first.good())
  t.equal(await gateway.metric(COUNTED), first.good())
  t.equal(await gateway.metric('a2a_gateway_config_info'), 1)
  t.equal(await gateway.metric('a2a_gateway_workers'), 2)
  t.equal(await gateway.metric('a2a_gateway_build_info'), 1)
  t.match(await (await fetch(`${gateway.adminUrl}/agents`)).json(), [
    { name: 'agent', gateway: { name: 'a2a-extension-gateway', workers: 2, startedAt: /^\d{4}-/ } }
  ])

  const second = load(`${gateway.url}/rpc`)
  await more(second)
  const seen = await gateway.metric(REQUESTS)
  const [[id, pid] = [0, 0]] = gateway.workers()
  process.kill(pid, 'SIGKILL')
  const killed = performance.now()
  await until(() => gateway.said(new RegExp(`^worker ${id} ended: SIGKILL$`)).length === 1)
  t.ok(await gateway.metric(REQUESTS) >= seen, 'totals do not fall')
  await more(second)
  await until(() => gateway.workers().size === 2, 'another in its place', 60_000)
  await more(second)
  await second.stop()
  t.same(second.bad.filter(one => one.began > killed), [], 'only calls in flight on it have failed')
  t.ok(second.bad.length <= 8, 'at most those')
  t.ok(await gateway.metric(REQUESTS) >= seen + 50)
  t.equal(await gateway.metric('a2a_gateway_worker_restarts_total'), 1)
  t.equal(cards.length, 2, 'the new one was handed the card')
  await until(() => gateway.said(/^worker \d+ serves$/).length === 3, 'the line of the new worker')
  const fields = new Set(gateway.said(/./).flatMap(line => Object.keys(line)))
  for (const name of ['worker', 'workers', 'of', 'pid', 'serving', 'how']) t.ok(fields.has(name), `lines have ${name}`)
  t.same(
    [...fields].filter(name => !Object.hasOwn(LOG_FIELDS, name) && !Object.hasOwn(LINE_FIELDS, name) && !Object.hasOwn(AUDIT_FIELDS, name)),
    [],
    'docs/reference/logs.md has each'
  )

  const [[, other] = [0, 0]] = gateway.workers()
  process.kill(other, 'SIGTERM')
  process.kill(other, 'SIGINT')
  process.kill(other, 'SIGHUP')
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
  t.ok(alive(other), 'signals are for the primary')

  // Refusals of both: while one stands still, the other answers.
  for (const pid of gateway.workers().values()) {
    process.kill(pid, 'SIGSTOP')
    try {
      // Some may be waiting at the one that stands still.
      const refused = Array.from({ length: 6 }, () => rpc(`${gateway.url}/rpc`, 'NoSuchMethod'))
      t.match((await Promise.any(refused)).json().error, { code: -32601 })
      process.kill(pid, 'SIGCONT')
      await Promise.all(refused)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  }
  const [described] = await (await fetch(`${gateway.adminUrl}/agents`)).json() as [{ ready: boolean, lastRefusals: { at: string }[] }]
  t.equal(described.ready, true)
  t.equal(described.lastRefusals.length, 5)
  t.same(described.lastRefusals.map(one => one.at), described.lastRefusals.map(one => one.at).toSorted().reverse(), 'newest first')
})

t.test('server.metrics: one listener for all workers, while workers come and go', async t => {
  const agent = await fakeAgent(t)
  const metrics = `127.0.0.1:${await freePort()}`
  const gateway = await cluster(t, oneAgent(agent.url), { metrics })
  const status = async (path: string): Promise<number> =>
    (await call(`http://${metrics}${path}`, { headers: ['host', 'gateway.monitoring.svc'] })).status
  const calls = load(`${gateway.url}/rpc`)
  await more(calls, 100)
  await calls.stop()
  const counted = async (): Promise<number> => sampleIn((await call(`http://${metrics}/metrics`)).text, REQUESTS)
  t.equal(await counted(), calls.good(), 'the calls of both workers')
  const [[id, pid] = [0, 0]] = gateway.workers()
  process.kill(pid, 'SIGKILL')
  await until(() => gateway.said(new RegExp(`^worker ${id} ended: SIGKILL$`)).length === 1)
  t.equal(await counted(), calls.good(), 'the calls of a worker that is gone')
  await until(() => gateway.workers().size === 2, 'another worker', 60_000)
  t.same([await status('/metrics'), await status('/livez'), await status('/readyz')], [200, 200, 200])
  t.same([await status('/agents'), await status('/'), await status('/console/'), await status('/console/api/status')], [404, 404, 404, 404])
  gateway.kill('SIGTERM')
  t.equal(await gateway.exited, 0)
  await t.rejects(status('/metrics'), { code: 'ECONNREFUSED' }, 'the listener is closed')
})

t.test('without a primary the workers finish their calls and end', async t => {
  let answer = (): void => {}
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      answer = () => {
        response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
      }
    }
  })
  const gateway = await cluster(t, oneAgent(agent.url), { drainTimeout: '30s' })
  const pids = [...gateway.workers().values()]
  const inFlight = rpc(`${gateway.url}/rpc`)
  await until(() => agent.received.length === 1)
  process.kill(gateway.pid, 'SIGKILL')
  await until(() => pids.filter(alive).length === 1, 'the idle one to end', 30_000)
  await t.rejects(rpc(`${gateway.url}/rpc`), { code: 'ECONNREFUSED' })
  answer()
  t.equal((await inFlight).status, 200)
  await until(() => pids.filter(alive).length === 0, 'the other to end', 30_000)
})

t.test('one process by default', async t => {
  const agent = await fakeAgent(t)
  const gateway = await serve(t, oneAgent(agent.url))
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
  t.same(await gateway.heard(/^worker/, 0), [])
  await t.rejects(gateway.metric('a2a_gateway_workers'), /no samples named a2a_gateway_workers/)
  t.equal(readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').trim(), '', 'it has no children')
})
