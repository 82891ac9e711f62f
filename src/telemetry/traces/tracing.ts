import { OperatorError } from '#operator-errors.js'
import { otlpProtocol, sdkDisabled } from '../otlp/environment.js'
import type { RequestSpan, Tracing, TracingOptions } from './span.js'
import { parseTraceParent } from './trace-context.js'

export type { RequestSpan, Tracing } from './span.js'

/** Variables of which each switches tracing on, unless the configuration decides. */
export const SWITCHES = ['OTEL_TRACES_EXPORTER', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const

/**
 * Creates tracing as configured. Without a configured value, a variable of {@link SWITCHES} turns tracing on. The OpenTelemetry packages
 * are loaded only when tracing is on; `OTEL_SDK_DISABLED=true` turns it off.
 * @throws Error that names the legal values when the configuration enables tracing and the environment selects an unsupported exporter.
 *   When only the environment asks for traces, its variables may be meant for other programs: the problem is then a warning.
 */
export async function createTracing (options: TracingOptions): Promise<Tracing> {
  if (options.enabled !== undefined) return options.enabled ? enabledTracing(options) : SILENT
  if (!SWITCHES.some(name => (options.env[name]?.trim() ?? '') !== '')) return SILENT
  try {
    return await enabledTracing(options)
  } catch (err) {
    options.log.warn(
      { err }, 'tracing is off, because the OTEL_* variables are not valid: fix them, or set telemetry.traces.enabled: false'
    )
    return SILENT
  }
}

async function enabledTracing (options: TracingOptions): Promise<Tracing> {
  if (sdkDisabled(options.env)) {
    options.log.info({}, 'tracing is off: OTEL_SDK_DISABLED=true')
    return SILENT
  }
  const exporter = options.env.OTEL_TRACES_EXPORTER?.trim() || 'otlp'
  if (!EXPORTERS.includes(exporter)) {
    throw new OperatorError(
      'A2AGW_ERR_TELEMETRY',
      `OTEL_TRACES_EXPORTER is "${exporter}". It can be otlp (the default), console (a line per span on stdout) or none.`
    )
  }
  if (exporter === 'none') {
    options.log.info({}, 'tracing is off: OTEL_TRACES_EXPORTER=none')
    return SILENT
  }
  const protocol = exporter === 'console' ? 'console' : otlpProtocol(options.env, 'TRACES')
  const { createRecorder } = await import('./otel.js')
  return createRecorder(options, protocol)
}

const EXPORTERS = ['otlp', 'console', 'none']

/** Records nothing; knows only the client's trace id. */
class SilentSpan implements RequestSpan {
  readonly traceId: string | null
  readonly spanId = null
  readonly recording = false

  constructor (traceId: string | null) {
    this.traceId = traceId
  }

  name (): void {}
  set (): void {}
  observed (): void {}
  dialled (): () => void { return () => {} }
  upstreamStarted (): void {}
  upstreamEnded (): void {}
  rpcError (): void {}
  grpcStatus (): void {}
  outgoing (): null { return null }
  end (): void {}
}

const UNTRACED = new SilentSpan(null)

const SILENT: Tracing = {
  startRequest ({ headers }) {
    const header = headers.traceparent
    if (header === undefined) return UNTRACED
    const parent = parseTraceParent(header)
    return parent === null ? UNTRACED : new SilentSpan(parent.traceId)
  },
  startFetch: () => () => {},
  async shutdown () {}
}
