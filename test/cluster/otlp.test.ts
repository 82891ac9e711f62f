/** A gateway of several processes at a collector: metrics arrive once, with the calls of all workers, and logs from each process. */
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { rpc } from '../helpers/http.js'
import { attributesOf, startCollector } from '../helpers/otlp.js'
import { fakeAgent } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'

const CALLS = 20

t.test('metrics, log lines, audit lines and spans of all processes arrive at the collector, the last ones at the stop', async t => {
  const collector = await startCollector(t)
  const agent = await fakeAgent(t)
  const yaml = `${oneAgent(agent.url)}\ntelemetry: {logs: {level: debug}}`
  const gateway = await serve(t, yaml, {
    A2A_GATEWAY_WORKERS: '2',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp'
  })
  for (let i = 0; i < CALLS; i++) await rpc(`${gateway.url}/rpc`)
  t.match((await rpc(`${gateway.url}/rpc`, 'no-method')).json(), { error: { code: -32601 } })
  gateway.kill('SIGTERM')
  t.equal(await gateway.exited, 0, gateway.output())

  const exports = collector.metrics()
  t.equal(new Set(exports.map(({ resource }) => resource['service.instance.id'])).size, 1, 'one process sends metrics')
  const requests = exports.at(-1)?.metrics.find(({ name }) => name === 'a2a_gateway_requests_total')?.sum?.dataPoints ?? []
  const counts = requests.map(({ attributes, asDouble }) => [attributesOf(attributes).outcome, asDouble])
  t.same(Object.fromEntries(counts), { forwarded: CALLS, rejected: 1 })
  const [histogram] = exports.at(-1)?.metrics.filter(({ name }) => name === 'a2a_gateway_decision_duration_seconds') ?? []
  t.equal(histogram?.histogram?.dataPoints.reduce((sum, { count }) => sum + count, 0), CALLS + 1)

  const records = collector.records()
  const lines = records.filter(({ body }) => body === 'request')
  t.equal(lines.length, CALLS + 1)
  t.ok(lines.every(({ attributes }) => attributes.worker === 1 || attributes.worker === 2))
  t.ok(lines.every(({ traceId, spanId }) => /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(spanId)))
  const spans = Buffer.concat(collector.posts.filter(({ path }) => path === '/v1/traces').map(({ body }) => body))
  t.ok(lines.every(({ spanId }) => spans.includes(Buffer.from(spanId, 'hex'))), 'each line has the span that was sent')
  const [audit] = records.filter(({ body }) => body === 'request rejected')
  t.match(audit?.attributes, { audit: true, decision: 'rejected', span_id: undefined })
  t.ok(lines.some(({ spanId }) => spanId === audit?.spanId), 'an audit line has the span of its request')
  t.equal(records.filter(({ body }) => body === 'listening').length, 1)
  t.equal(records.at(-1)?.body, 'stopped', 'the last line arrives')
})
