/** Workers share limits and budgets: the primary counts. */
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { call, rpc } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { cluster } from './kit.js'

t.test('of 50 requests at once on two workers, 10 pass', async t => {
  const agent = await fakeAgent(t)
  const gateway = await cluster(
    t,
    `${oneAgent(agent.url, ['passthrough: [/docs]'], ['rates: [{id: narrow, by: [address], rate: 10/1h}, {id: each, by: [operation], rate: 5/1h, on: [GetTask]}]'])}\ntelemetry: {logs: {level: debug}}`
  )
  const found = await Promise.all(Array.from({ length: 50 }, (_, i) => i % 5 === 0 ? call(`${gateway.url}/docs/x`) : rpc(`${gateway.url}/rpc`)))
  t.equal(found.filter(({ status }) => status === 200).length, 10)
  t.equal(found.filter(({ status }) => status === 429).length, 40)
  t.equal(new Set((await gateway.heard(/^request$/, 50)).map(line => line.worker)).size, 2, 'both workers took part')
  t.equal(agent.received.length, 10)
})

t.test('a replaced worker changes no count', async t => {
  const agent = await fakeAgent(t)
  const gateway = await cluster(t, oneAgent(agent.url, [], ['rates: [{id: each, by: [operation], rate: 5/1h, on: [GetTask]}]']))
  const statuses = async (n: number): Promise<number[]> =>
    await Promise.all(Array.from({ length: n }, async () => (await rpc(`${gateway.url}/rpc`, 'GetTask', { id: '1' })).status))
  t.same((await statuses(4)).sort(), [200, 200, 200, 200])
  const [pid] = gateway.workers().values()
  process.kill(pid as number, 'SIGKILL')
  let rest: number[] = []
  for (let i = 0; i < 50 && rest.length < 6; i++) rest = [...rest, ...await statuses(1).catch(() => [])]
  t.same(rest.sort(), [200, 429, 429, 429, 429, 429])
})
