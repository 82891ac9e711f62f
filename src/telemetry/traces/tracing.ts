import type { ExporterProtocol, RequestSpan, Tracing, TracingOptions } from './span.js'
import { parseTraceParent } from './trace-context.js'

export type { RequestSpan, Tracing } from './span.js'

/**
 * Creates tracing as configured. The OpenTelemetry packages are loaded only when tracing is on; `OTEL_SDK_DISABLED=true` turns it off.
 * Throws an Error that names the legal values when the environment selects an unsupported exporter.
 */
export async function createTracing (options: TracingOptions): Promise<Tracing> {
  if (!options.enabled) return SILENT
  if (options.env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') {
    options.log.info({}, 'Tracing is off: OTEL_SDK_DISABLED=true.')
    return SILENT
  }
  const exporter = options.env.OTEL_TRACES_EXPORTER?.trim() || 'otlp'
  if (!EXPORTERS.includes(exporter)) {
    throw new Error(`OTEL_TRACES_EXPORTER is "${exporter}". It can be otlp (the default), console (a line per span on stdout) or none.`)
  }
  if (exporter === 'none') {
    options.log.info({}, 'Tracing is off: OTEL_TRACES_EXPORTER=none.')
    return SILENT
  }
  const protocol = exporter === 'console' ? 'console' : exporterProtocol(options.env)
  const { createRecorder } = await import('./otel.js')
  return createRecorder(options, protocol)
}

const EXPORTERS = ['otlp', 'console', 'none']

function exporterProtocol (env: NodeJS.ProcessEnv): ExporterProtocol {
  const name = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ? 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL' : 'OTEL_EXPORTER_OTLP_PROTOCOL'
  const value = env[name]?.trim() || 'http/protobuf'
  if (value === 'http/protobuf' || value === 'http/json') return value
  throw new Error(`${name} is "${value}". Traces can be exported with http/protobuf (the default) or http/json.`)
}

/** Records nothing; knows only the client's trace id. */
class SilentSpan implements RequestSpan {
  readonly traceId: string | null

  constructor (traceId: string | null) {
    this.traceId = traceId
  }

  name (): void {}
  set (): void {}
  observed (): void {}
  upstreamStarted (): void {}
  upstreamEnded (): void {}
  outgoing (): null { return null }
  end (): void {}
}

const UNTRACED = new SilentSpan(null)

const SILENT: Tracing = {
  startRequest (headers) {
    const header = headers.traceparent
    if (header === undefined) return UNTRACED
    const parent = parseTraceParent(header)
    return parent === null ? UNTRACED : new SilentSpan(parent.traceId)
  },
  async shutdown () {}
}
