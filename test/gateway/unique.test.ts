/** `unique` in a running gateway: of equal requests, the agent gets one. */
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { freePort, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { nonceCard, nonceGateway, sendAtOnce, sendNonce } from '../helpers/unique.js'

t.test('of 50 equal requests at once, one passes', async t => {
  const agent = await fakeAgent(t, { card: nonceCard })
  const gateway = await gatewayFor(t, { yaml: nonceGateway(agent.url) })
  const { passed, rejections } = await sendAtOnce([gateway.url], 'a')
  t.equal(passed, 1)
  t.equal(rejections.length, 49)
  for (const text of rejections) t.match(text, /parts\[0\]\.data\.nonce was accepted before; send a new value/)
  t.equal(agent.received.length, 1)
  t.equal((await sendAtOnce([gateway.url], 'b')).passed, 1, 'another value')
  const claims = (outcome: string): Promise<number> => gateway.metric(`a2a_gateway_unique_claims_total{agent="agent",outcome="${outcome}"}`)
  t.same([await claims('new'), await claims('seen')], [2, 98])
  await until(() => gateway.audits().filter(one => one.rule === 'once').length === 98, 'audit lines')
})

t.test('requests that the gateway rejects for another reason claim nothing', async t => {
  const agent = await fakeAgent(t, { card: nonceCard, answer: () => {} })
  const gateway = await gatewayFor(t, { yaml: nonceGateway(agent.url, { agent: ['concurrency: {requests: 1}'] }) })
  t.match((await sendNonce(gateway.url, 'a', 1)).text, /"rule":"text"/, 'another rule')
  const first = sendNonce(gateway.url, 'first').catch(() => null)
  await until(() => agent.received.length === 1, 'the first request')
  for (let i = 0; i < 2; i++) t.notMatch((await sendNonce(gateway.url, 'a')).text, /accepted before/, 'no capacity')
  t.match((await sendNonce(gateway.url, 'first')).text, /accepted before/, 'the one in flight has claimed its value')
  await gateway.close()
  await first
})

t.test('observe: repetitions are recorded and forwarded', async t => {
  const agent = await fakeAgent(t, { card: nonceCard })
  const gateway = await gatewayFor(t, { yaml: nonceGateway(agent.url, { agent: ['mode: observe'] }) })
  t.equal((await sendAtOnce([gateway.url], 'a', 3)).passed, 3)
  t.equal(agent.received.length, 3)
  await until(() => gateway.audits().filter(one => one.decision === 'observed' && one.rule === 'once').length === 2, 'two audit lines')
})

t.test('without its store: onUnknown decides', async t => {
  const agent = await fakeAgent(t, { card: nonceCard })
  const root = [`state: {store: "redis://127.0.0.1:${await freePort()}"}`]
  const strict = await gatewayFor(t, { yaml: nonceGateway(agent.url, { root }) })
  t.match((await sendNonce(strict.url, 'a')).text, /does not know whether it has accepted the value before; try again later/)
  t.equal(agent.received.length, 0)
  const lenient = await gatewayFor(t, { yaml: nonceGateway(agent.url, { root, unique: '{window: 10m, onUnknown: allow}' }) })
  t.equal((await sendAtOnce([lenient.url], 'a', 2)).passed, 2)
  t.equal(await lenient.metric('a2a_gateway_unique_claims_total{agent="agent",outcome="unavailable"}'), 2, 'no skipped check is silent')
})
