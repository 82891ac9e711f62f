/**
 * Tracing with OpenTelemetry: samplers, resource, queue and exporter of the SDK, and spans of the gateway. tracing.ts loads this module by
 * `import()` only when tracing is on. Contexts are passed explicitly and nothing is registered globally, so that several gateways can run
 * in one process.
 */
import { SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import type { Resource } from '@opentelemetry/resources'
import type { Log } from '../log.js'
import { limitsOf, samplerOf } from './environment.js'
import type { GatewaySpan, SpanOrigin } from './gateway-span.js'
import { GatewayTracer } from './gateway-tracer.js'
import { RecordedSpan, startFetch } from './recorded-span.js'
import { ReportingExporter } from './reporting-exporter.js'
import { SpanQueue } from './span-queue.js'
import type { ExporterProtocol, Tracing, TracingOptions } from './span.js'

const SERVICE_NAME = 'a2a-extension-gateway'
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
  const { log, env, version } = options
  const sampler = samplerOf(env, log)
  const origin = { resource: withEnvironment(env, () => resource(options)), scope: { name: SERVICE_NAME, version } }
  const sink = await sinkFor(protocol, options, origin)
  const tracer = new GatewayTracer({ ...origin, ...limitsOf(env), onEnd: span => { sink.onEnd(span) } }, sampler)
  return {
    startRequest: (request, at) => new RecordedSpan(tracer, request, at),
    startFetch: (name, attributes) => startFetch(tracer, name, attributes),
    shutdown: () => stop(sink, log)
  }
}

async function sinkFor (
  protocol: ExporterProtocol,
  { log, env, stream = process.stdout, onLost }: TracingOptions,
  origin: Pick<SpanOrigin, 'resource' | 'scope'>
): Promise<Sink> {
  if (protocol === 'console') {
    const { LineExporter } = await import('./line-exporter.js')
    return new SimpleSpanProcessor(new LineExporter(stream, onLost))
  }
  const encoder =
    protocol === 'http/json'
      ? new (await import('./json-spans.js')).JsonSpans(origin)
      : new (await import('./protobuf-spans.js')).ProtobufSpans(origin)
  const { otlpExporter } = await import('./otlp-exporter.js')
  return withEnvironment(env, () =>
    new SpanQueue(new ReportingExporter(otlpExporter(encoder), log, onLost), encoder, {
      size: queueSize(env),
      log,
      onLost
    })
  )
}

/** Merges the SDK's own attributes, then the gateway's name and version, then OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. */
function resource (options: TracingOptions): Resource {
  const detected = detectResources({ detectors: [envDetector] })
  const given = Object.keys(detected.attributes).length - (options.env.OTEL_SERVICE_NAME ? 1 : 0)
  if (given === 0 && options.env.OTEL_RESOURCE_ATTRIBUTES?.trim()) {
    options.log.warn(
      {},
      'OTEL_RESOURCE_ATTRIBUTES is not valid and is ignored. Write key=value,key=value with "," and "=" inside them percent-encoded.'
    )
  }
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME, 'service.version': options.version }))
    .merge(detected)
}

function queueSize (env: NodeJS.ProcessEnv): number {
  const size = Number(env.OTEL_BSP_MAX_QUEUE_SIZE?.trim() || QUEUE)
  return Number.isInteger(size) && size > 0 ? size : QUEUE
}

/** Replaces `process.env` by `env` while `make` runs. The SDK reads `process.env` in its constructors and offers no other way. */
function withEnvironment<T> (env: NodeJS.ProcessEnv, make: () => T): T {
  if (env === process.env) return make()
  const own = process.env
  process.env = env
  try {
    return make()
  } finally {
    process.env = own
  }
}

async function stop (sink: Sink, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`The collector did not accept the last spans within ${SHUTDOWN_TIMEOUT} ms.`))
    }, SHUTDOWN_TIMEOUT)
  })
  try {
    await Promise.race([sink.shutdown(), late])
  } catch (err) {
    log.warn({ err }, 'Some spans were lost while stopping.')
  } finally {
    clearTimeout(timer)
  }
}
