/** The soak of `npm run soak`, for 15 seconds: too short to measure memory, but long enough for responses and descriptors. */
import t from 'tap'
import { soak } from '../../bench/soak/run.js'
import { trendOf } from '../../bench/soak/trend.js'
import { SEED } from '../helpers/seed.js'

t.test('a short soak finds no problem', async t => {
  const { counts, broken, faults, reloads } = await soak({ seconds: 15, seed: SEED, memory: false, say: text => { t.comment(text) } })
  t.same(broken, [])
  t.same([counts.lost, counts.crossed], [0, 0])
  t.ok(counts.own > 20 && counts.refused > 0 && counts.left > 0, JSON.stringify(counts))
  t.ok(faults > 0 && reloads > 0, `${faults} faults, ${reloads} reloads`)
})

t.test('a trend is the slope of the line through the points', async t => {
  t.same(trendOf([[0, 10], [1, 12], [2, 14], [3, 16]]), { mean: 13, rise: 6 })
  t.same(trendOf([[0, 5], [1, 5], [2, 5]]), { mean: 5, rise: 0 })
  t.ok(Math.abs(trendOf([[0, 1], [1, 3], [2, 1], [3, 3]]).rise - 1.2) < 1e-9)
})
