/** `external` with several processes: each worker asks the policy servers itself, and all of them decide alike. */
import t from 'tap'
import { DENY, PERMIT, pointLine, policyServer } from '../external/kit.js'
import { oneAgent } from '../helpers/gateway.js'
import { rpc, until, untilSame } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { cluster } from './kit.js'

const ENTRY = 'external: [{id: spend, use: corp}]'
const count = (outcome: string): string => `a2a_gateway_external_decisions_total{agent="agent",rule="spend",outcome="${outcome}"}`

t.test('all workers ask, count together, follow a reload, and reject while the server is down', async t => {
  const agent = await fakeAgent(t)
  const first = await policyServer(t, question => question['action']?.['name'] as unknown === 'CancelTask' ? DENY : PERMIT)
  const yaml = (url: string, more = ''): string => oneAgent(agent.url, [ENTRY], [pointLine(url, `timeout: 10s${more}`), 'telemetry: {audit: {enabled: true}}'])
  const gateway = await cluster(t, yaml(first.url))
  const send = async (method = 'GetTask'): Promise<string> => (await rpc(`${gateway.url}/rpc`, method, { id: 't' })).text
  for (let i = 0; i < 8; i++) t.match(await send(), /"result"/)
  for (let i = 0; i < 8; i++) t.match(await send('CancelTask'), /-32004/)
  t.equal(first.received.length, 16, 'nothing is remembered')
  t.equal(agent.received.length, 8)
  await untilSame(t, () => gateway.metric(count('allow')), 8)
  await untilSame(t, () => gateway.metric(count('deny')), 8)
  await untilSame(t, () => gateway.output().match(/"decision":"rejected"/g)?.length, 8, 'audit lines')

  for (const pid of gateway.workers().values()) process.kill(pid, 'SIGKILL')
  await until(() => gateway.said(/^worker \d+ ended/).length === 2 && gateway.workers().size === 2, 'two other processes', 60_000)
  for (let i = 0; i < 4; i++) t.match(await send('CancelTask'), /-32004/, 'workers that replace others ask too')
  t.equal(agent.received.length, 8)

  const second = await policyServer(t, () => DENY)
  gateway.rewrite(yaml(second.url, ', cache: {ttl: 1h}'))
  await until(() => gateway.said(/^configuration reloaded/).length === 1, 'the reload', 60_000)
  for (let i = 0; i < 12; i++) t.match(await send(), /-32004/)
  t.equal(first.received.length, 20)
  t.ok(second.received.length <= 2, `${second.received.length} questions: each worker remembers the answer`)

  gateway.rewrite(yaml('http://127.0.0.1:1/x'))
  await until(() => gateway.said(/^configuration reloaded/).length === 2, 'the reload', 60_000)
  for (let i = 0; i < 16; i++) t.match(await send(), /EXTERNAL_DECISION_UNAVAILABLE/)
  await untilSame(t, () => gateway.metric(count('error')), 16)
  t.equal(agent.received.length, 8, 'nothing passes without a decision')
})
