/** Exemplars, and the format of OpenMetrics in which scrapers get them. A real Prometheus reads them in test/system/prometheus.test.ts. */
import t from 'tap'
import { buildAdmin } from '#server/admin/server.js'
import { createLogger } from '#telemetry/logging.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { acceptsOpenMetrics, openMetrics } from '#telemetry/metrics/open-metrics.js'
import { mergeSnapshots } from '#telemetry/metrics/registry.js'
import { ended } from '../helpers/ended-request.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const ENDED = ['a', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'] as const
/** What Prometheus sends. */
const PROMETHEUS = 'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'

function traced (exemplars = true): Metrics {
  const metrics = new Metrics({ process: false })
  metrics.exemplars = exemplars
  ended(metrics, ENDED, 0.02, { traceId: TRACE, spanId: SPAN })
  ended(metrics, ENDED, 500, { traceId: TRACE.replace('0a', '1b'), spanId: SPAN })
  ended(metrics, ENDED, 0.2, { traceId: TRACE, spanId: null })
  metrics.observe('decision_duration_seconds', 0.00004, { traceId: TRACE, spanId: SPAN }, 'a')
  metrics.observe('upstream_duration_seconds', 0.015, { traceId: TRACE, spanId: SPAN }, 'a', 'SendMessage')
  return metrics
}

const bucketsOf = (text: string): string[] => text.split('\n').filter(line => line.includes(' # ')).map(line => line.replace(/ [0-9.]+$/, ' TIME'))

const EXEMPLARS = [
  `a2a_gateway_request_duration_seconds_bucket{agent="a",operation="SendMessage",outcome="forwarded",le="0.025"} 1 # {trace_id="${TRACE}",span_id="${SPAN}"} 0.02 TIME`,
  `a2a_gateway_request_duration_seconds_bucket{agent="a",operation="SendMessage",outcome="forwarded",le="+Inf"} 3 # {trace_id="${TRACE.replace('0a', '1b')}",span_id="${SPAN}"} 500 TIME`,
  `a2a_gateway_decision_duration_seconds_bucket{agent="a",le="0.00005"} 1 # {trace_id="${TRACE}",span_id="${SPAN}"} 0.00004 TIME`,
  `a2a_gateway_upstream_duration_seconds_bucket{agent="a",operation="SendMessage",le="0.025"} 1 # {trace_id="${TRACE}",span_id="${SPAN}"} 0.015 TIME`
]

t.test('each bucket has the last traced observation as exemplar, and the format is that of OpenMetrics', async t => {
  const metrics = traced()
  t.teardown(() => { metrics.close() })
  const text = await metrics.openMetrics() ?? ''
  t.same(bucketsOf(text), EXEMPLARS, 'a span that no collector has is no exemplar')
  t.match(text, /\n# EOF\n$/)
  t.match(text, '# TYPE a2a_gateway_requests counter\n# HELP a2a_gateway_requests Requests, by outcome.\na2a_gateway_requests_total{')
  t.match(text, '# TYPE a2a_gateway_config_last_reload_successful gauge\n')
  t.notMatch(text, /_total_total|\n\n/)
  t.notMatch(await metrics.text(), TRACE, 'the text format of Prometheus has no exemplars')
  ended(metrics, ENDED, 0.021, { traceId: TRACE.replace('0a', '2c'), spanId: SPAN })
  t.match(await metrics.openMetrics(), TRACE.replace('0a', '2c'), 'the last one')

  const off = traced(false)
  t.teardown(() => { off.close() })
  t.equal(await off.openMetrics(), null)
  t.notMatch(openMetrics(await off.snapshot()), ' # ')
})

t.test('texts and values are escaped', async t => {
  const text = openMetrics([
    {
      name: 'x',
      help: 'a "b"\n\\c',
      type: 'gauge' as never,
      aggregator: 'sum',
      collect: () => {},
      values: [Infinity, -Infinity, NaN, 1e21].map((value, i) => ({ labels: { l: `"${i}"\n\\` }, value, exemplar: null }))
    }
  ])
  t.equal(text, [
    '# TYPE x gauge',
    '# HELP x a \\"b\\"\\n\\\\c',
    'x{l="\\"0\\"\\n\\\\"} +Inf',
    'x{l="\\"1\\"\\n\\\\"} -Inf',
    'x{l="\\"2\\"\\n\\\\"} NaN',
    'x{l="\\"3\\"\\n\\\\"} 1e+21',
    '# EOF\n'
  ].join('\n'))
})

t.test('several processes: the last exemplar of each bucket', async t => {
  // Histograms of prom-client, such as that of garbage collection, have buckets whose exemplar is null.
  const own = [{ name: 'x', help: 'x', type: 'histogram' as never, aggregator: 'sum' as const, collect: () => {}, values: [{ labels: { le: 1 }, value: 1, exemplar: null }] }]
  const [first, second] = [traced(), traced(false)]
  t.teardown(() => { first.close(); second.close() })
  second.exemplars = true
  const later = TRACE.replace('0a', '3d')
  await new Promise(resolve => { setTimeout(resolve, 5) })
  ended(second, ENDED, 0.02, { traceId: later, spanId: SPAN })
  const merged = await mergeSnapshots([structuredClone(await second.snapshot()), structuredClone(await first.snapshot()), own]).snapshot()
  const buckets = bucketsOf(openMetrics(merged))
  t.equal(buckets.length, EXEMPLARS.length)
  t.ok(buckets.includes(`a2a_gateway_request_duration_seconds_bucket{agent="a",operation="SendMessage",outcome="forwarded",le="0.025"} 3 # {trace_id="${later}",span_id="${SPAN}"} 0.02 TIME`), buckets.join('\n'))
})

t.test('a scraper gets the format that it asks for, if the gateway keeps exemplars', async t => {
  for (const [accept, accepts] of [
    [PROMETHEUS, true],
    ['application/openmetrics-text', true],
    ['application/openmetrics-text; version=1.0.0; q=0', false],
    ['text/plain', false],
    ['*/*', false],
    [undefined, false]
  ] as const) t.equal(acceptsOpenMetrics(accept), accepts, accept ?? 'none')
  for (const exemplars of [true, false]) {
    const metrics = traced(exemplars)
    const admin = buildAdmin({
      state: { live: () => true, ready: () => ({ ready: true, reasons: [] }), agents: () => [] },
      metrics,
      log: createLogger({ level: 'silent', format: 'json' })
    }, { headersTimeout: 10_000, requestTimeout: 30_000, idleTimeout: 5_000, connections: 0 })
    t.teardown(() => admin.close())
    const typeFor = async (headers: Record<string, string>): Promise<unknown> => (await admin.inject({ url: '/metrics', headers })).headers['content-type']
    t.match(await typeFor({ accept: PROMETHEUS }), exemplars ? 'application/openmetrics-text; version=1.0.0' : 'text/plain; version=0.0.4')
    t.match(await typeFor({}), 'text/plain; version=0.0.4')
  }
})
