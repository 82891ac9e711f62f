import t from 'tap'
import { difference, pairwise, quantile, ratio, spread } from '../../bench/statistics.js'

t.test('quantiles are at ranks, or between two of them', async t => {
  t.equal(quantile([3, 1, 2], 0.5), 2)
  t.equal(quantile([4, 1, 3, 2], 0.5), 2.5)
  t.equal(quantile([1, 2, 3, 4, 5], 0.25), 2)
  t.equal(quantile([10, 20], 0.75), 17.5)
  t.equal(quantile([7], 0.9), 7)
  t.ok(Number.isNaN(quantile([], 0.5)))
})

t.test('a list is not changed', async t => {
  const figures = [3, 1, 2]
  t.same(spread(figures), { median: 2, low: 1.5, high: 2.5 })
  t.same(figures, [3, 1, 2])
})

t.test('parties are compared round by round', async t => {
  t.same(pairwise([10, 30], [5, 10], ratio), [2, 3])
  t.same(pairwise([10, 30, 99], [4, 10], difference), [6, 20], 'rounds that only one has say nothing')
})
