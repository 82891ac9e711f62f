/**
 * Tracing with OpenTelemetry: samplers, resource, queue and exporter of the SDK, and spans of the gateway. tracing.ts loads this module by
 * `import()` only when tracing is on. Contexts are passed explicitly and nothing is registered globally, so that several gateways can run
 * in one process.
 */
import { SimpleSpanProcessor } from '#vendor/opentelemetry.js'
import type { Log } from '../log.js'
import { positiveOf } from '../otlp/environment.js'
import { originOf, withEnvironment } from '../otlp/origin.js'
import { limitsOf, samplerOf } from './environment.js'
import type { GatewaySpan, SpanOrigin } from './gateway-span.js'
import { GatewayTracer } from './gateway-tracer.js'
import { RecordedSpan, startFetch } from './recorded-span.js'
import { ReportingExporter } from './reporting-exporter.js'
import { SpanQueue } from './span-queue.js'
import { standardOutput } from '../standard-output.js'
import type { ExporterProtocol, Tracing, TracingOptions } from './span.js'

/** Milliseconds that a stop waits for the collector. */
const SHUTDOWN_TIMEOUT = 5_000
/** Maximum number of waiting spans, unless OTEL_BSP_MAX_QUEUE_SIZE is set. Equal to the SDK's default. */
const QUEUE = 2_048

/** Receives the spans that ended. */
interface Sink {
  onEnd (span: GatewaySpan): void
  /** Sends the remaining spans. */
  shutdown (): Promise<void>
}

/** Starts tracing, which sends batches to OTLP or writes lines. The standard `OTEL_*` variables configure it. */
export async function createRecorder (options: TracingOptions, protocol: ExporterProtocol): Promise<Tracing> {
  const { log, env } = options
  const sampler = samplerOf(env, log)
  const origin = originOf(options)
  const sink = await sinkFor(protocol, options, origin)
  const tracer = new GatewayTracer({ ...origin, ...limitsOf(env), onEnd: span => { sink.onEnd(span) } }, sampler)
  return {
    startRequest: (request, at) => new RecordedSpan(tracer, request, at),
    startFetch: (name, attributes) => startFetch(tracer, name, attributes),
    shutdown: () => shutDown(sink, log)
  }
}

async function sinkFor (
  protocol: ExporterProtocol,
  { log, env, lines = standardOutput(), onLost }: TracingOptions,
  origin: Pick<SpanOrigin, 'resource' | 'scope'>
): Promise<Sink> {
  if (protocol === 'console') {
    const { LineExporter } = await import('./line-exporter.js')
    return new SimpleSpanProcessor(new LineExporter(lines, onLost))
  }
  const encoder =
    protocol === 'http/json'
      ? new (await import('./json-spans.js')).JsonSpans(origin)
      : new (await import('./protobuf-spans.js')).ProtobufSpans(origin)
  const { spanExporter } = await import('./span-exporter.js')
  return withEnvironment(env, () =>
    new SpanQueue(new ReportingExporter(spanExporter(encoder), log, onLost), encoder, {
      size: positiveOf(env, 'OTEL_BSP_MAX_QUEUE_SIZE', QUEUE),
      log,
      onLost
    })
  )
}

async function shutDown (sink: Sink, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`the collector did not accept the last spans within ${SHUTDOWN_TIMEOUT} ms`))
    }, SHUTDOWN_TIMEOUT)
  })
  try {
    await Promise.race([sink.shutdown(), late])
  } catch (err) {
    log.warn({ err }, 'some spans were lost while the gateway stopped')
  } finally {
    clearTimeout(timer)
  }
}
