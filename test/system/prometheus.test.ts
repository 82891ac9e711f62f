/** A real Prometheus server reads the gateway's metrics. Needs the Debian package `prometheus` (server and promtool). */
import t from 'tap'
import { spawnSync } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { buildAdmin } from '#server/admin/server.js'
import { createLogger } from '#telemetry/logging.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { recordOne } from '../helpers/every-metric.js'
import { MISSING, startPrometheus, until } from '../helpers/prometheus.js'
import { ended } from '../helpers/ended-request.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

interface Exemplars {
  readonly seriesLabels: Record<string, string>
  readonly exemplars: { readonly labels: object, readonly value: string }[]
}

function record (metrics: Metrics): void {
  ended(metrics, ['weather', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.02)
  ended(metrics, ['weather', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.2)
  ended(metrics, ['weather', 'SendMessage', 'JSONRPC', '1.0', 'rejected', 'http'], 0.001)
  metrics.observe('decision_duration_seconds', 0.00004, null, 'weather')
  metrics.observe('upstream_duration_seconds', 0.015, null, 'weather', 'SendMessage')
  metrics.add('violations_total', 'weather', 'https://a.example/ext?q="x"\\y', 'schema', 'request', 'enforce')
  metrics.add('activations_total', 'weather', 'https://a.example/ext', 'client', 'confirmed')
  metrics.addAmount('streams_active', 1, 'weather')
  metrics.addAmount('stream_events_total', 3, 'weather')
  metrics.read('card_age_seconds', () => [['weather', 4.5]])
  metrics.add('card_refreshes_total', 'weather', 'unchanged')
  metrics.add('config_reloads_total', 'ok')
  metrics.read('config_info', () => [['0123456789ab', 1]])
  metrics.add('upstream_errors_total', 'weather', 'refused')
  for (const outcome of ['known', 'known', 'unknown', 'unavailable'] as const) metrics.add('task_lookups_total', 'weather', outcome)
  for (const outcome of ['kept', 'lost'] as const) metrics.add('task_writes_total', 'weather', outcome)
  metrics.read('tasks_remembered', () => 7)
  for (const reason of ['too_large', 'no_memory', 'encoding', 'content_type', 'malformed'] as const) metrics.add('answers_unread_total', 'weather', reason)
  metrics.add('refusals_total', 'weather', 'gateway/memory')
  metrics.add('client_errors_total', 'timeout')
  metrics.read('requests_active', () => [['weather', 3]])
  metrics.addAmount('observed_total', 12, 'weather', 'usage', 'tokens', 'small')
  metrics.addAmount('observed_total', 30, 'weather', 'usage', 'tokens', 'small')
  metrics.set('observed_value', 2.5, 'weather', 'usage', 'queue', '')
}

t.test('promtool accepts the metrics', async t => {
  const check = (input: string): { status: number | null, stderr: string } => {
    const { status, stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
    if (error !== undefined) throw new Error(`promtool ${MISSING}: ${error.message}`)
    return { status, stderr }
  }
  const own = new Metrics({ process: false })
  record(own)
  recordOne(own)
  t.same(check(await own.text()), { status: 0, stderr: '' }, 'every metric of the gateway')
  const primary = new Metrics({ process: false, serves: false })
  recordOne(primary)
  t.same(check(await primary.text()), { status: 0, stderr: '' }, 'and those of the primary')
  const all = new Metrics()
  t.teardown(() => { all.close() })
  record(all)
  // Some of prom-client's names of Node's own gauges end in _total: a matter of taste (status 3), not an error (1).
  const { status, stderr } = check(await all.text())
  t.ok(status === 0 || status === 3, stderr)
  t.same(stderr.split('\n').filter(line => line !== '' && !line.startsWith('nodejs_')), [])
})

t.test('Prometheus scrapes the admin listener', async t => {
  const metrics = new Metrics()
  record(metrics)
  const admin = buildAdmin({
    state: { live: () => true, ready: () => ({ ready: true, reasons: [] }), agents: () => [] },
    metrics,
    log: createLogger({ level: 'silent', format: 'json' })
  }, { headersTimeout: 10_000, requestTimeout: 30_000, idleTimeout: 5_000, connections: 0 })
  await admin.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => admin.close())

  const target = `127.0.0.1:${(admin.server.address() as AddressInfo).port}`
  const { query, ...prometheus } = await startPrometheus(t, target, { flags: ['--enable-feature=exemplar-storage'] })

  const targets = await prometheus.targets()
  t.equal(targets.length, 1)
  t.match(targets[0], { health: 'up', lastError: '', scrapeUrl: `http://${target}/metrics` })

  const requests = await query('a2a_gateway_requests_total')
  const by = (outcome: string): string | undefined => requests.find(({ metric }) => metric.outcome === outcome)?.value[1]
  t.equal(by('forwarded'), '2')
  t.equal(by('rejected'), '1')
  t.same(requests.find(({ metric }) => metric.outcome === 'forwarded')?.metric, {
    __name__: 'a2a_gateway_requests_total',
    agent: 'weather',
    operation: 'SendMessage',
    binding: 'JSONRPC',
    version: '1.0',
    outcome: 'forwarded',
    front: 'http',
    instance: target,
    job: 'gateway'
  })
  const violations = await query('a2a_gateway_violations_total')
  t.equal(violations[0]?.metric.extension, 'https://a.example/ext?q="x"\\y', 'labels survive quoting')
  t.equal((await query('a2a_gateway_card_age_seconds'))[0]?.value[1], '4.5')
  t.equal((await query('a2a_gateway_config_info'))[0]?.metric.hash, '0123456789ab')
  t.equal(
    (await query('histogram_quantile(0.5, a2a_gateway_decision_duration_seconds_bucket) < 0.00005'))[0]?.metric.agent,
    'weather',
    'histograms compute'
  )
  t.equal((await query('process_start_time_seconds')).length, 1)

  ended(metrics, ['weather', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.02)
  await until('later value', 15, async () =>
    (await query('a2a_gateway_requests_total{outcome="forwarded"}'))[0]?.value[1] === '3' ? true : null
  )

  const value = async (expression: string): Promise<string | undefined> => (await query(expression))[0]?.value[1]
  t.same(Object.fromEntries((await query('a2a_gateway_task_lookups_total')).map(({ metric, value }) => [metric.outcome, value[1]])), {
    known: '2',
    unknown: '1',
    unavailable: '1'
  })
  t.same(Object.fromEntries((await query('a2a_gateway_task_writes_total')).map(({ metric, value }) => [metric.outcome, value[1]])), {
    kept: '1',
    lost: '1'
  })
  t.equal(await value('a2a_gateway_tasks_remembered'), '7')
  t.equal(await value('sum(a2a_gateway_answers_unread_total)'), '5')
  t.equal(await value('a2a_gateway_refusals_total{rule="gateway/memory"}'), '1')
  t.equal(await value('a2a_gateway_client_errors_total{kind="timeout"}'), '1')
  t.equal(await value('a2a_gateway_requests_active{agent="weather"}'), '3')
  t.equal(await value('a2a_gateway_observed_total{agent="weather",extension="usage",metric="tokens",by="small"}'), '42')
  t.equal(await value('a2a_gateway_observed_value{metric="queue"}'), '2.5')

  const metadata = await prometheus.metadata()
  t.match(metadata.a2a_gateway_requests_total, [{ type: 'counter' }])
  t.match(metadata.a2a_gateway_request_duration_seconds, [{ type: 'histogram' }])
  for (const name of ['task_lookups_total', 'task_writes_total', 'answers_unread_total', 'observed_total']) {
    t.match(metadata[`a2a_gateway_${name}`], [{ type: 'counter' }], name)
  }
  for (const name of ['tasks_remembered', 'observed_value']) t.match(metadata[`a2a_gateway_${name}`], [{ type: 'gauge' }], name)

  metrics.exemplars = true
  metrics.observe('decision_duration_seconds', 0.002, { traceId: TRACE, spanId: SPAN }, 'traced')
  const series = await until('exemplar', 15, async () => {
    const [start, end] = [-60, 60].map(seconds => Date.now() / 1_000 + seconds)
    const query = `query_exemplars?query=a2a_gateway_decision_duration_seconds_bucket&start=${start}&end=${end}`
    return (await prometheus.api<Exemplars[]>(query))[0] ?? null
  })
  t.match(series.seriesLabels, { agent: 'traced', le: '0.0025' })
  t.match(series.exemplars, [{ labels: { trace_id: TRACE, span_id: SPAN }, value: '0.002' }], 'Prometheus asks for OpenMetrics')
  t.equal(await value('a2a_gateway_observed_value{metric="queue"}'), '2.5')
})
