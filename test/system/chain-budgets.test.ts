/** Budgets across agents that three gateways share through Redis: each of them counts what all agents of a chain report. */
import t from 'tap'
import { freePort } from '../helpers/http.js'
import { startRedis } from '../helpers/redis.js'
import { claimsIn, HEADER, headersOf, lineOf } from '../delegation/kit.js'

t.test('three gateways, one budget', async t => {
  const redis = await startRedis(t, await freePort())
  const { agents, gateways, send } = await lineOf(t, {
    tokens: { a: 1, b: 40, c: 40 },
    root: () => [`state: {store: "redis://127.0.0.1:${redis.port}", timeout: 5s}`, 'budgets: [{id: tokens, by: [chain], of: usage/tokens, limit: 100, window: 1h, scope: shared}]']
  })
  t.equal(await send('alice', 'a b c'), 'c was reached')
  t.match(claimsIn(headersOf(agents.c)[HEADER] ?? ''), { budgets: { tokens: [100, 100] } })
  // c and b report 40 each: the second round may begin with 80, and the third finds 160.
  t.match(await send('alice', 'a b*3 c'), /^c was reached \| c was reached \| a: .*The budget "tokens" of this call/)
  t.match(headersOf(agents.b)['a2a-budget'], 'tokens=20')
  // The way around gateway b: c counts the same chain.
  t.match(await send('alice', 'a c*4'), /^c was reached \| c was reached \| c was reached \| a: .*The budget/)
  t.equal(await send('alice', 'a b c'), 'c was reached', 'another call has a budget of its own')
  t.ok(await gateways.c.metric('a2a_gateway_rate_store_total{outcome="ok"}') > 0)
})
