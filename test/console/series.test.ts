/** Rate, rejections and the gateway's own time in slots, of one process and of several processes. */
import t from 'tap'
import { ALL, mergeSeries, Series, SLOT, SLOTS } from '#console/series.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { ended } from '../helpers/ended-request.js'

t.test('slots contain the added values, and are empty otherwise', t => {
  const metrics = new Metrics({ process: false })
  ended(metrics, ['a', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.1)
  const series = new Series(metrics)
  t.teardown(() => { series.close() })
  const begin = Math.floor(Date.now() / SLOT) * SLOT
  for (let i = 0; i < 3; i++) {
    ended(metrics, ['a', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.1)
  }
  ended(metrics, ['b', 'GetTask', 'JSONRPC', '1.0', 'rejected', 'http'], 0.1)
  ended(metrics, ['b', 'GetTask', 'JSONRPC', '1.0', 'upstream_error', 'http'], 0.1)
  ended(metrics, ['b', 'GetTask', 'JSONRPC', '1.0', 'agent_error', 'http'], 0.1)
  metrics.observe('decision_duration_seconds', 0.0002, null, 'a')
  series.take(begin + SLOT)
  series.take(begin + SLOT + 1)
  series.take(begin + 2 * SLOT)
  ended(metrics, ['a', 'SendMessage', 'JSONRPC', '1.0', 'client_aborted', 'http'], 0.1)
  series.take(begin + 3 * SLOT)
  const { slots, bounds } = series.page()
  t.same(slots.map(one => one.at), [begin + SLOT, begin + 3 * SLOT])
  t.match(slots[0]?.rows, {
    [ALL]: { calls: 6, rejected: 1, failed: 1, errors: 1 },
    a: { calls: 3, decisions: 1, errors: 0 },
    b: { calls: 3, errors: 1 }
  })
  t.equal(slots[0]?.rows.a?.buckets[bounds.indexOf(0.00025)], 1)
  t.match(slots[1]?.rows, { [ALL]: { calls: 1, aborted: 1 }, a: { calls: 1 } })
  t.equal(slots[1]?.rows.b, undefined)
  ended(metrics, ['a', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.1)
  series.take(begin + (SLOTS + 5) * SLOT)
  t.same(series.page().slots.map(one => one.at), [begin + (SLOTS + 5) * SLOT], 'old ones are forgotten')
  t.end()
})

t.test('a scrape between two slots changes nothing', async t => {
  const metrics = new Metrics({ process: false })
  const series = new Series(metrics)
  t.teardown(() => { series.close() })
  const begin = Math.floor(Date.now() / SLOT) * SLOT
  ended(metrics, ['a', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.1)
  await metrics.text()
  ended(metrics, ['a', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.1)
  await metrics.snapshot()
  series.take(begin + SLOT)
  t.equal(series.page().slots[0]?.rows[ALL]?.calls, 2)
})

t.test('of many agents, those with most calls have rows, and all count in the sum', t => {
  const metrics = new Metrics({ process: false })
  const series = new Series(metrics)
  t.teardown(() => { series.close() })
  for (let i = 0; i < 50; i++) {
    for (let n = 0; n <= i; n++) {
      ended(metrics, [`agent-${i}`, 'GetTask', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.1)
    }
  }
  series.take(Date.now() + SLOT)
  const rows = series.page().slots[0]?.rows ?? {}
  t.equal(Object.keys(rows).length, 21)
  t.ok(rows['agent-49'])
  t.equal(rows[ALL]?.calls, 50 * 51 / 2)
  t.end()
})

t.test('several processes are summed', t => {
  const row = (calls: number) =>
    ({ calls, rejected: 1, failed: 0, errors: calls, aborted: 0, decisions: calls, seconds: 1, buckets: [calls, 0] })
  const page = (at: number, calls: number) => ({
    slot: SLOT,
    bounds: [1, 2],
    since: at,
    slots: [{ at, rows: { [ALL]: row(calls), a: row(calls) } }]
  })
  const merged = mergeSeries([page(20, 1), page(10, 2), page(20, 4)])
  t.same(merged.slots.map(one => [one.at, one.rows[ALL]?.calls, one.rows.a?.errors, one.rows.a?.buckets]), [
    [10, 2, 2, [2, 0]],
    [20, 5, 5, [5, 0]]
  ])
  t.equal(merged.since, 10)
  t.same(mergeSeries([]).slots, [])
  t.end()
})
