/** Readiness waits for the workers that still prepare a card. Its clock is a number, because real workers are too fast to observe. */
import t from 'tap'
import { CardDistribution } from '#server/cluster/card-distribution.js'
import { call, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { cluster } from './kit.js'

interface FakeWorker { leaving: boolean, servingSince: number | null, carded: Set<string> }

const worker = (more: Partial<FakeWorker> = {}): FakeWorker => ({ leaving: false, servingSince: 0, carded: new Set(), ...more })

t.test('a card is on its way until every worker that serves has it', async t => {
  const [one, two] = [worker(), worker()]
  const starting = worker({ servingSince: null })
  const leaving = worker({ leaving: true })
  let now = 100
  const handed = new CardDistribution(() => [one, two, starting, leaving], () => now)
  t.equal(handed.isOnItsWay('a'), false, 'no card')
  handed.handedOut('a', true)
  t.equal(handed.isOnItsWay('a'), true)
  one.carded.add('a')
  t.equal(handed.isOnItsWay('a'), true)
  two.carded.add('a')
  t.equal(handed.isOnItsWay('a'), false)
  now = 5_000
  handed.handedOut('a', true)
  t.equal(handed.isOnItsWay('a'), false, 'a new card of the agent: the workers serve with the old one')
  starting.servingSince = now
  t.equal(handed.isOnItsWay('a'), true, 'a new worker')
  starting.carded.add('a')
  handed.handedOut('a', false)
  t.equal(handed.isOnItsWay('a'), false, 'expired: the primary itself is not ready')
  handed.handedOut('a', true)
  t.equal(handed.isOnItsWay('a'), true, 'and usable again')
})

t.test('a worker that does not get there in time does not end the service', async t => {
  const slow = worker()
  let now = 0
  const handed = new CardDistribution(() => [slow], () => now)
  handed.handedOut('a', true)
  now = 9_999
  t.equal(handed.isOnItsWay('a'), true)
  now = 10_000
  t.equal(handed.isOnItsWay('a'), false)
})

t.test('real workers report their cards, and the gateway becomes ready', async t => {
  const agent = await fakeAgent(t)
  const gateway = await cluster(t, `agents:\n  - {name: a, upstream: {url: "${agent.url}"}}`, {}, 3)
  const begin = performance.now()
  await until(async () => (await call(`${gateway.adminUrl}/readyz`)).status === 200, 'ready')
  t.ok(performance.now() - begin < 9_000, 'by their reports, not because their time is over')
})
