/** Lines of the log and of the audit as log records of OpenTelemetry, at a collector, over both protocols. */
import t from 'tap'
import { createAudit } from '#telemetry/audit.js'
import type { Log } from '#telemetry/log.js'
import { createLogger } from '#telemetry/logging.js'
import { ExportedLines } from '#telemetry/otlp/exports.js'
import { until } from '../helpers/http.js'
import { startCollector } from '../helpers/otlp.js'
import type { AuditEntry } from '#telemetry/audit-fields.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

interface Exported { readonly log: Log, readonly lines: ExportedLines, lost: number, output (): Record<string, unknown>[] }

async function exported (env: NodeJS.ProcessEnv): Promise<Exported> {
  let text = ''
  const lines = new ExportedLines()
  const log: Log = createLogger({ level: 'debug', format: 'json' }, { write (line) { text += line } }, lines.add)
  const found: Exported = {
    log,
    lines,
    lost: 0,
    output: () => text.split('\n').filter(line => line !== '').map(line => JSON.parse(line) as Record<string, unknown>)
  }
  await lines.connect({ version: '1.2.3', env, log, onLost: n => { found.lost += n } })
  return found
}

const AUDIT: AuditEntry = {
  phase: 'request',
  agent: 'fight',
  operation: 'SendMessage',
  binding: 'JSONRPC',
  version: '1.0',
  decision: 'rejected',
  reason: 'EXTENSION_SUPPORT_REQUIRED',
  extension: 'x',
  rule: 'required',
  edited: [],
  violations: [{ reason: 'EXTENSION_SUPPORT_REQUIRED', extension: 'x', rule: 'required', path: null, message: 'm' }],
  task_id: null,
  context_id: null,
  trace_id: TRACE,
  span_id: SPAN,
  client: '192.0.2.7',
  request_id: 'r-1'
}

t.test('each line is a record, with severity, trace and span, under the names of docs/reference/logs.md', async t => {
  for (const protocol of ['http/protobuf', 'http/json']) {
    const collector = await startCollector(t)
    const { log, lines, lost, output } = await exported({
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_SERVICE_NAME: 'edge'
    })
    const audit = createAudit({ enabled: true, lines: { put: () => true }, onLine: lines.add })
    const before = Date.now()
    log.debug({ agent: 'a' }, 'debug')
    log.child({ worker: 2 }).info({ trace_id: TRACE, span_id: SPAN, status: 200, duration_ms: 1.5, agents: ['a', 'b'] }, 'request')
    log.info({ trace_id: TRACE }, 'of the client')
    log.warn({ err: new Error('below error', { cause: new Error('why') }) }, 'warn')
    log.error({ err: Object.assign(new TypeError('broken'), { code: 'E_X' }) }, 'error')
    log.fatal('fatal')
    log.info({ caller: { id: 'c', token: 'S3CRET' } } as object, 'Bearer abc123.def456')
    audit.record(AUDIT)
    await lines.shutdown()
    t.same([...new Set(collector.posts.map(({ path }) => path))], ['/v1/logs'])
    const records = collector.records()
    t.same(records.map(({ severity, body }) => [...severity, body]), [
      [5, 'debug', 'debug'],
      [9, 'info', 'request'],
      [9, 'info', 'of the client'],
      [13, 'warn', 'warn'],
      [17, 'error', 'error'],
      [21, 'fatal', 'fatal'],
      [9, 'info', 'Bearer [redacted]'],
      [9, 'info', 'request rejected']
    ])
    const [debug, request, client, warn, error, , secret, audited] = records
    t.same(debug?.attributes, { agent: 'a' })
    t.same(request?.attributes, { worker: 2, status: 200, duration_ms: 1.5, agents: ['a', 'b'] })
    t.same([request?.traceId, request?.spanId], [TRACE, SPAN])
    t.same([client?.traceId, client?.spanId], [TRACE, ''])
    t.same(warn?.attributes, {
      'exception.type': 'Error',
      'exception.message': 'below error',
      err: { cause: { type: 'Error', message: 'why' } }
    })
    t.match(error?.attributes, { 'exception.type': 'TypeError', 'exception.message': 'broken', 'exception.stacktrace': /otlp-logs/, err: { code: 'E_X' } })
    t.same(secret?.attributes, { caller: { id: 'c', token: '[redacted]' } })
    t.match(audited, { traceId: TRACE, spanId: SPAN })
    t.match(audited?.attributes, { audit: true, phase: 'request', decision: 'rejected', rule: 'required', task_id: null, violations: [{ message: 'm' }] })
    t.ok(records.every(({ time }) => time >= before - 1 && time <= Date.now()))
    t.match(request?.resource, { 'service.name': 'edge', 'service.version': '1.2.3', 'service.instance.id': /^[0-9a-f-]{36}$/ })
    t.equal(lost, 0)
    t.equal(output().length, 7, 'stdout has the lines of the log as before')
  }
})

t.test('records are sent in batches, after a delay', async t => {
  const collector = await startCollector(t)
  const { log, lines } = await exported({
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: collector.url + '/logs',
    OTEL_BLRP_SCHEDULE_DELAY: '30',
    OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: '10'
  })
  log.info('first')
  await until(() => collector.records().length === 1)
  for (let i = 0; i < 25; i++) log.info(`line ${i}`)
  await lines.shutdown()
  t.equal(collector.records().length, 26)
  t.ok(collector.posts.length >= 4)
})

t.test('lines that find no room are lost and counted, and logging goes on', async t => {
  const collector = await startCollector(t, false)
  const found = await exported({ OTEL_LOGS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BLRP_MAX_QUEUE_SIZE: '100', OTEL_EXPORTER_OTLP_TIMEOUT: '2500' })
  const { log, lines, output } = found
  for (let i = 0; i < 1_000; i++) log.info(`line ${i}`)
  t.equal(found.lost, 801, '100 are under way and 100 wait; the line about the loss is lost too')
  t.equal(output().length, 1_001)
  t.same(output().filter(({ level }) => level === 'warn').map(({ msg }) => msg), [
    'there are more log records than the log collector accepts; the gateway drops the records that do not fit into the queue'
  ])
  const begin = performance.now()
  await lines.shutdown()
  t.ok(performance.now() - begin < 4_000, 'a stop waits 2 s')
})

t.test('long lines do not fill the memory', async t => {
  const collector = await startCollector(t, false)
  const found = await exported({ OTEL_LOGS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
  for (let i = 0; i < 20; i++) found.log.info({ problem: 'x'.repeat(500_000) }, 'long')
  t.ok(found.lost >= 10 && found.lost <= 13, `${found.lost} of 20 lines of 500 kB are lost, and 4 MiB are kept`)
})

t.test('a collector that rejects records is logged once, and so is its return', async t => {
  const collector = await startCollector(t)
  collector.status = 400
  const found = await exported({
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BLRP_SCHEDULE_DELAY: '10'
  })
  const messages = (level: string): unknown[] => found.output().filter(line => line.level === level).map(({ msg }) => msg)
  found.log.debug('lost')
  await until(() => messages('warn').length === 1)
  found.log.debug('lost too')
  await until(() => found.lost === 3)
  t.same(messages('warn'), ['the log collector does not accept records'])
  collector.status = 200
  found.log.debug('arrives')
  await until(() => messages('info').length === 1)
  await found.lines.shutdown()
  t.same(messages('info'), ['the log collector accepts records again'])
  t.same(messages('warn').length, 1)
  t.ok(collector.records().some(({ body }) => body === 'arrives'))
})

t.test('logs are sent only where the environment asks for logs', async t => {
  for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, { OTEL_LOGS_EXPORTER: 'none' }]) {
    const { lines, output } = await exported(env)
    await lines.shutdown()
    t.same(output(), [])
  }
  const { output } = await exported({ OTEL_LOGS_EXPORTER: 'file' })
  t.match(output(), [{ level: 'warn', err: { message: 'OTEL_LOGS_EXPORTER has "file". It can be otlp or none.' } }])
})
