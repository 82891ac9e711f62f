import t from 'tap'
import { cacheLifetime, MAX_TIMER, nextRefresh, nextRetry, readValidators } from '#agents/card/card-cache.js'

const s = 1000
const hour = 3600 * s

t.test('lifetime', async (t) => {
  const cases: [string | string[] | undefined, number | null][] = [
    [undefined, null], ['', null], ['public', null],
    ['max-age=60', 60 * s], ['public, Max-Age=60', 60 * s], ['max-age="60"', 60 * s], ['max-age=0', 0],
    ['max-age=60, s-maxage=10', 10 * s], ['s-maxage=100, max-age=10', 100 * s], ['max-age=60, max-age=10', 10 * s],
    ['no-store', 0], ['no-cache, max-age=60', 0], ['private, max-age=60', 0], ['no-cache="x"', 0],
    ['max-age=-1', 0], ['max-age', 0], ['max-age=1e9', 0], [['max-age=60', 'no-store'], 0]
  ]
  for (const [value, expected] of cases) {
    t.equal(cacheLifetime(value === undefined ? {} : { 'cache-control': value as string }), expected, String(value))
  }
  t.equal(cacheLifetime({ 'cache-control': 'max-age=60', age: '20' }), 40 * s)
  t.equal(cacheLifetime({ 'cache-control': 'max-age=60', age: '200' }), 0)
  t.equal(cacheLifetime({ 'cache-control': 'max-age=60', age: 'x' }), 60 * s)
})

t.test('next refresh', async (t) => {
  const at = (random: number, refresh = 60 * s, maxStale = hour) => ({ refresh, maxStale, random: () => random })
  t.equal(nextRefresh(null, at(0.5)), 60 * s)
  t.equal(nextRefresh(0, at(0.5)), 60 * s, 'never below the floor')
  t.equal(nextRefresh(300 * s, at(0.5)), 300 * s)
  t.equal(nextRefresh(300 * s, at(0)), 270 * s)
  t.equal(nextRefresh(300 * s, at(1)), 330 * s)
  t.equal(nextRefresh(24 * hour, at(0.5)), hour / 2, 'soon enough to try again before the card expires')
  t.equal(nextRefresh(hour, at(0.5, 60 * s, 0)), 60 * s, 'maxStale below refresh')
  t.equal(nextRefresh(null, at(0.5, 0, hour)), 10, 'never a busy loop')
  t.equal(nextRefresh(9e15, at(0.5, 9e15, 9e15)), MAX_TIMER)
})

t.test('next retry', async (t) => {
  const at = (random: number, refresh = 60 * s) => ({ refresh, maxStale: hour, random: () => random })
  t.same([1, 2, 3, 4, 8, 9, 5000].map((n) => nextRetry(n, at(0.5))), [500, 1000, 2000, 4000, 60 * s, 60 * s, 60 * s])
  t.equal(nextRetry(1, at(0)), 450)
  t.equal(nextRetry(1, at(0.5, 100)), 100)
})

t.test('validators', async (t) => {
  t.same(readValidators('u', {}), null)
  t.same(readValidators('u', { etag: 'W/"x"' }), { from: 'u', etag: 'W/"x"', lastModified: null })
  t.same(readValidators('u', { etag: '"ü"', 'last-modified': 'yesterday' }), { from: 'u', etag: null, lastModified: 'yesterday' })
})
