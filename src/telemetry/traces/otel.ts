/**
 * Tracing with the OpenTelemetry SDK. tracing.ts loads this module by `import()` only when tracing is on. Contexts are passed explicitly
 * and nothing is registered globally, so that several gateways can run in one process.
 */
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import type { Resource } from '@opentelemetry/resources'
import type { Log } from '../log.js'
import { RecordedSpan } from './recorded-span.js'
import { ReportingExporter } from './reporting-exporter.js'
import { SpanQueue } from './span-queue.js'
import type { ExporterProtocol, Tracing, TracingOptions } from './span.js'

const SERVICE_NAME = 'a2a-extension-gateway'
/** Milliseconds that a stop waits for the collector. */
const SHUTDOWN_TIMEOUT = 5_000
/** Spans per batch, unless OTEL_BSP_MAX_EXPORT_BATCH_SIZE is set. Serializing a batch blocks all calls (docs/performance.md). */
const BATCH = 128
/** Maximum number of waiting spans, unless OTEL_BSP_MAX_QUEUE_SIZE is set. Equal to the SDK's default. */
const QUEUE = 2_048
const SAMPLERS = ['always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio']

/** Starts the SDK, which sends batches to OTLP or writes lines. The standard `OTEL_*` variables configure it. */
export async function createRecorder (options: TracingOptions, protocol: ExporterProtocol): Promise<Tracing> {
  const { log, env } = options
  checkSampler(env, log)
  const processor = await processorFor(protocol, options)
  const provider = withEnvironment(env, () => new BasicTracerProvider({ resource: resource(options), spanProcessors: [processor()] }))
  const tracer = provider.getTracer(SERVICE_NAME, options.version)
  return {
    startRequest: (request, at) => new RecordedSpan(tracer, request, at),
    shutdown: () => stop(provider, log)
  }
}

/** @returns a function that creates the processor, to be called while `process.env` is replaced (see withEnvironment) */
async function processorFor (
  protocol: ExporterProtocol,
  { log, env, stream = process.stdout, onLost }: TracingOptions
): Promise<() => SpanProcessor> {
  if (protocol === 'console') {
    const { LineExporter } = await import('./line-exporter.js')
    return () => new SimpleSpanProcessor(new LineExporter(stream, onLost))
  }
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  return () =>
    new SpanQueue(new ReportingExporter(new OTLPTraceExporter() as SpanExporter, log, onLost), {
      size: queueSize(env),
      batch: batchSize(env),
      log,
      onLost
    })
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

/** @returns undefined when the SDK reads the value from the environment */
function batchSize (env: NodeJS.ProcessEnv): number | undefined {
  return env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE?.trim() ? undefined : BATCH
}

function queueSize (env: NodeJS.ProcessEnv): number {
  const size = Number(env.OTEL_BSP_MAX_QUEUE_SIZE?.trim() || QUEUE)
  return Number.isInteger(size) && size > 0 ? size : QUEUE
}

/** Warns about an unknown sampler. The SDK falls back to its default without a warning, unless its diagnostics have a listener. */
function checkSampler (env: NodeJS.ProcessEnv, log: Log): void {
  const sampler = env.OTEL_TRACES_SAMPLER?.trim()
  if (sampler && !SAMPLERS.includes(sampler)) {
    log.warn({ sampler }, `OTEL_TRACES_SAMPLER is not one of ${SAMPLERS.join(', ')}; parentbased_always_on is used.`)
  }
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

async function stop (provider: BasicTracerProvider, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`The collector did not accept the last spans within ${SHUTDOWN_TIMEOUT} ms.`))
    }, SHUTDOWN_TIMEOUT)
  })
  try {
    await Promise.race([provider.shutdown(), late])
  } catch (err) {
    log.warn({ err }, 'Some spans were lost while stopping.')
  } finally {
    clearTimeout(timer)
  }
}
