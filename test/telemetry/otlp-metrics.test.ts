/** Metrics at a collector are the metrics of `/metrics`: the same names, labels and values, over both protocols. */
import t from 'tap'
import type { Test } from 'tap'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { exportMetrics } from '#telemetry/otlp/exports.js'
import { recordOne } from '../helpers/every-metric.js'
import { until } from '../helpers/http.js'
import { loggedTo, memoryLog } from '../helpers/memory-log.js'
import type { Collector, OtlpMetric } from '../helpers/otlp.js'
import { attributesOf, startCollector } from '../helpers/otlp.js'
import { ended } from '../helpers/ended-request.js'

const PROTOCOLS = { 'http/protobuf': 'application/x-protobuf', 'http/json': 'application/json' }

/** The samples that Prometheus would have of these metrics. */
function samplesOf (metrics: readonly OtlpMetric[]): string[] {
  const samples: string[] = []
  const add = (name: string, labels: Record<string, unknown>, value: number): void => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${String(text)}"`)
    samples.push(`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`)
  }
  for (const { name, sum, gauge, histogram } of metrics) {
    const numbers = [...sum?.dataPoints ?? [], ...gauge?.dataPoints ?? []]
    for (const { attributes, asDouble } of numbers) add(name, attributesOf(attributes), asDouble)
    for (const point of histogram?.dataPoints ?? []) {
      const labels = attributesOf(point.attributes)
      let cumulative = 0
      for (const [i, count] of point.bucketCounts.entries()) {
        cumulative += count
        add(`${name}_bucket`, { ...labels, le: point.explicitBounds[i] ?? '+Inf' }, cumulative)
      }
      add(`${name}_sum`, labels, point.sum)
      add(`${name}_count`, labels, point.count)
    }
  }
  return samples.sort()
}

const lastOf = (collector: Collector): { resource: Record<string, unknown>, metrics: OtlpMetric[] } => {
  const last = collector.metrics().at(-1)
  if (last === undefined) throw new Error('no export')
  return last
}

t.test('the collector gets what /metrics shows', async t => {
  // Node's own numbers change all the time: they are compared by name below.
  const metrics = new Metrics({ process: false })
  t.teardown(() => { metrics.close() })
  recordOne(metrics)
  ended(metrics, ['agent', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.02)
  ended(metrics, ['agent', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 500)
  ended(metrics, ['agent', 'GetTask', 'GRPC', '1.0', 'rejected', 'grpc'], 0.0005)
  const exposed = (await metrics.text()).split('\n').filter(line => line !== '' && !line.startsWith('#')).sort()
  const before = Date.now()
  for (const [protocol, contentType] of Object.entries(PROTOCOLS)) {
    const collector = await startCollector(t)
    const { log, lines } = memoryLog()
    const pushed = await exportMetrics({
      version: '1.2.3',
      env: {
        OTEL_METRICS_EXPORTER: 'otlp,prometheus',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=blue',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test'
      },
      log,
      read: () => metrics.snapshot()
    })
    await pushed?.shutdown()
    t.same(lines, [])
    t.same(collector.posts.map(({ path, headers }) => [path, headers['content-type'], headers['x-tenant']]), [['/v1/metrics', contentType, 'blue']])
    const { resource, metrics: sent } = lastOf(collector)
    t.match(resource, {
      'service.name': 'a2a-extension-gateway',
      'service.version': '1.2.3',
      'service.instance.id': /^[0-9a-f-]{36}$/,
      'deployment.environment.name': 'test'
    })
    t.same(samplesOf(sent), exposed, protocol)
    const by = new Map(sent.map(metric => [metric.name, metric]))
    t.equal(by.get('a2a_gateway_request_duration_seconds')?.unit, 's')
    t.equal(by.get('a2a_gateway_held_bytes')?.unit, 'By')
    t.equal(by.get('a2a_gateway_requests_total')?.unit ?? '', '')
    const { sum, description } = by.get('a2a_gateway_requests_total') as OtlpMetric
    t.equal(description, 'Requests, by outcome.')
    t.match(sum, { isMonotonic: true, aggregationTemporality: 2 })
    t.equal(by.get('a2a_gateway_request_duration_seconds')?.histogram?.aggregationTemporality, 2)
    const [point] = sum?.dataPoints ?? []
    t.ok(point !== undefined && point.startTimeUnixNano / 1e6 >= before - 1 && point.timeUnixNano >= point.startTimeUnixNano)
  }
})

t.test('the metrics of Node are sent too, and numbers grow from export to export', async t => {
  const metrics = new Metrics()
  t.teardown(() => { metrics.close() })
  const collector = await startCollector(t)
  const pushed = await exportMetrics({
    version: '1',
    env: { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/own/metrics`, OTEL_METRIC_EXPORT_INTERVAL: '20' },
    log: memoryLog().log,
    read: () => metrics.snapshot()
  })
  const count = (): number =>
    lastOf(collector).metrics.find(({ name }) => name === 'a2a_gateway_streams_active')?.gauge?.dataPoints[0]?.asDouble ?? 0
  metrics.addAmount('streams_active', 1, 'a')
  await until(() => collector.posts.length > 0 && count() === 1)
  metrics.addAmount('streams_active', 1, 'a')
  await until(() => count() === 2)
  metrics.addAmount('streams_active', 1, 'a')
  await pushed?.shutdown()
  t.equal(count(), 3, 'the last numbers are sent at the stop')
  const sent = collector.posts.length
  t.equal(collector.posts[0]?.path, '/own/metrics')
  const names = lastOf(collector).metrics.map(({ name }) => name)
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds']) t.ok(names.includes(name), name)
  await new Promise(resolve => { setTimeout(resolve, 60) })
  t.equal(collector.posts.length, sent, 'nothing is sent after the stop')
})

t.test('a collector that is gone is logged once, and so is its return', async t => {
  const metrics = new Metrics({ process: false })
  t.teardown(() => { metrics.close() })
  const collector = await startCollector(t)
  collector.status = 400
  const { log, lines } = memoryLog()
  const pushed = await exportMetrics({
    version: '1',
    env: { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: '10' },
    log,
    read: () => metrics.snapshot()
  })
  await until(() => collector.posts.length > 3)
  collector.status = 200
  await until(() => loggedTo(lines, 'info').length > 0)
  await pushed?.shutdown()
  t.same(loggedTo(lines, 'warn'), ['the metrics collector does not accept metrics'])
  t.same(loggedTo(lines, 'info'), ['the metrics collector accepts metrics again'])
})

t.test('a collector that does not respond holds neither the exports nor the stop', async t => {
  const metrics = new Metrics({ process: false })
  t.teardown(() => { metrics.close() })
  const collector = await startCollector(t, false)
  const { log, lines } = memoryLog()
  let reads = 0
  const pushed = await exportMetrics({
    version: '1',
    env: { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: '10', OTEL_EXPORTER_OTLP_TIMEOUT: '2500' },
    log,
    read: () => { reads++; return metrics.snapshot() }
  })
  await until(() => collector.posts.length > 0)
  await new Promise(resolve => { setTimeout(resolve, 100) })
  t.equal(reads, 1, 'one export at a time')
  const begin = performance.now()
  await pushed?.shutdown()
  t.ok(performance.now() - begin < 4_000)
  t.same(loggedTo(lines, 'warn'), ['the last metrics were lost: the collector did not accept them within 2000 ms'])
})

async function without (t: Test, env: NodeJS.ProcessEnv): Promise<string[]> {
  const { log, lines } = memoryLog()
  const pushed = await exportMetrics({ version: '1', env, log, read: async () => [] })
  t.equal(pushed, null, JSON.stringify(env))
  return lines.map(({ message, fields }) => `${message} ${String((fields as { err?: Error }).err?.message ?? '')}`)
}

t.test('metrics are sent only where the environment asks for metrics', async t => {
  for (const env of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
    { OTEL_METRICS_EXPORTER: 'none', OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://127.0.0.1:1' },
    { OTEL_METRICS_EXPORTER: 'prometheus' },
    { OTEL_METRICS_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'true' }
  ]) t.same(await without(t, env), [])
  t.same(await without(t, { OTEL_METRICS_EXPORTER: 'otlp, console' }), [
    'Metrics are not sent, because the OTEL_* variables are not valid: fix them, or set OTEL_METRICS_EXPORTER=none ' +
    'OTEL_METRICS_EXPORTER has "console". It can be otlp, prometheus or none.'
  ])
  t.match(await without(t, { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), [
    /OTEL_EXPORTER_OTLP_PROTOCOL is "grpc". Metrics can be exported with http\/protobuf \(the default\) or http\/json\.$/
  ])
})

t.test('another temporality than cumulative is not available', async t => {
  const collector = await startCollector(t)
  const { log, lines } = memoryLog()
  const env = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta' }
  const pushed = await exportMetrics({ version: '1', env, log, read: async () => [] })
  await pushed?.shutdown()
  t.match(loggedTo(lines, 'warn'), [/is "delta"\. The gateway sends cumulative metrics/])
})
