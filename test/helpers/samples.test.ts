/** What reads metrics and what waits fails where it would otherwise hold for a wrong name, or say nothing. */
import t from 'tap'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { readings, until, untilAtMost, untilSame } from './http.js'
import { sampleIn } from './samples.js'
import { ended } from './ended-request.js'

t.test('a selector sums the samples with its labels, and names only what exists', async t => {
  const metrics = new Metrics({ process: false })
  t.teardown(() => { metrics.close() })
  for (const operation of ['SendMessage', 'GetTask'] as const) {
    ended(metrics, ['a', operation, 'JSONRPC', '1.0', 'forwarded', 'http'], 0.1)
  }
  metrics.add('upstream_errors_total', 'b "{,}" \\', 'dns')
  const text = await metrics.text()
  const rows: readonly [selector: string, expected: number | RegExp][] = [
    ['a2a_gateway_requests_total', 2],
    ['a2a_gateway_requests_total{operation="GetTask"}', 1],
    ['a2a_gateway_requests_total{agent="a",operation="GetTask",binding="JSONRPC",version="1.0",outcome="forwarded",front="http"}', 1],
    ['a2a_gateway_requests_total{front="grpc",outcome="rejected"}', 0],
    ['a2a_gateway_request_duration_seconds_count', 2],
    ['a2a_gateway_request_duration_seconds_bucket{le="0.05"}', 0],
    ['a2a_gateway_request_duration_seconds_bucket{operation="GetTask",le="0.1"}', 1],
    ['a2a_gateway_upstream_errors_total{agent="b \\"{,}\\" \\\\",kind="dns"}', 1],
    ['a2a_gateway_upstream_errors_total{agent="a",kind="dns"}', 0],
    ['a2a_gateway_held_bytes', 0],
    ['a2a_gateway_request_total', /no samples named a2a_gateway_request_total; it has .*a2a_gateway_requests_total/],
    ['requests_total', /no samples named/],
    ['a2a_gateway_request_duration_seconds', /no samples named/],
    ['a2a_gateway_requests_total_count', /no samples named/],
    ['a2a_gateway_requests_total{outcom="forwarded"}', /has no label outcom, only agent, operation/],
    ['a2a_gateway_requests_total{le="1"}', /has no label le/],
    ['a2a_gateway_requests_total{outcome="forward"}', /outcome of a2a_gateway_requests_total is never "forward", only forwarded/],
    ['a2a_gateway_requests_total{outcome=~"forwarded"}', /not a selector/],
    ['a2a_gateway_requests_total{outcome="forwarded"', /not a selector/]
  ]
  for (const [selector, expected] of rows) {
    if (typeof expected === 'number') t.equal(sampleIn(text, selector), expected, selector)
    else t.throws(() => sampleIn(text, selector), expected, selector)
  }
})

t.test('a condition that does not come true is reported with the last readings', async t => {
  const condition = (): boolean => readings.set('a2a_gateway_held_bytes', 7).size === 0
  await t.rejects(until(condition, 'the bytes to be given back', 20), {
    message: /^waited 20 ms in vain for the bytes to be given back: .*size === 0\n {2}a2a_gateway_held_bytes is 7$/
  })
})

t.test('a wait for a value asserts the last one', async t => {
  const seen: unknown[][] = []
  const record = (...args: unknown[]): number => seen.push(args)
  const recorder = { ok: record, strictSame: record } as unknown as typeof t
  let n = 0
  await untilSame(recorder, () => ++n, 3, 'three')
  await untilSame(recorder, () => 'other', 'this', 'never', 20)
  await untilAtMost(recorder, () => Math.max(2, n--), 2, 'two')
  await untilAtMost(recorder, () => 3, 2, 'never two', 20)
  t.same(seen, [[3, 3, 'three'], ['other', 'this', 'never'], [true, 'two: 2 of at most 2'], [false, 'never two: 3 of at most 2']])
})
