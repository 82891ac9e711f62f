/**
 * The variables of OpenTelemetry that traces, metrics and logs share:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. This file loads no package.
 */
import { OperatorError } from '#operator-errors.js'
import type { Log } from '../log.js'

export type OtlpSignal = 'TRACES' | 'METRICS' | 'LOGS'
export type OtlpProtocol = 'http/protobuf' | 'http/json'

/** Everything that an export of metrics or logs needs from its process. */
export interface ExportOptions {
  /** The gateway's version, for `service.version`. */
  readonly version: string
  /** Environment with the standard `OTEL_*` variables. */
  readonly env: NodeJS.ProcessEnv
  readonly log: Log
}

const NAMES: Readonly<Record<OtlpSignal, string>> = { TRACES: 'Traces', METRICS: 'Metrics', LOGS: 'Log records' }

/** @throws Error that names the legal values, for a protocol that the gateway does not have */
export function otlpProtocol (env: NodeJS.ProcessEnv, signal: OtlpSignal): OtlpProtocol {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`
  const name = env[own] ? own : 'OTEL_EXPORTER_OTLP_PROTOCOL'
  const value = env[name]?.trim() || 'http/protobuf'
  if (value === 'http/protobuf' || value === 'http/json') return value
  throw new OperatorError(
    'A2AGW_ERR_TELEMETRY', `${name} is "${value}". ${NAMES[signal]} can be exported with http/protobuf (the default) or http/json.`
  )
}

export function sdkDisabled (env: NodeJS.ProcessEnv): boolean {
  return env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true'
}

/** @returns the value of a variable that is a whole number above zero, or else the default */
export function positiveOf (env: NodeJS.ProcessEnv, name: string, fallback: number): number {
  const value = Number(env[name]?.trim() || fallback)
  return Number.isInteger(value) && value > 0 ? value : fallback
}

/** Longest delay of a timer of Node, ms. A longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647

/** @returns the value of a variable with milliseconds, or else the default */
export function delayOf (env: NodeJS.ProcessEnv, name: string, fallback: number): number {
  return Math.min(positiveOf(env, name, fallback), MAX_TIMER_MS)
}

/** Signals that have no setting in the configuration, with the values of `OTEL_METRICS_EXPORTER` and `OTEL_LOGS_EXPORTER`. */
const EXPORTERS: Readonly<Record<'METRICS' | 'LOGS', readonly string[]>> = {
  METRICS: ['otlp', 'prometheus', 'none'], LOGS: ['otlp', 'none']
}

/**
 * Reads whether a signal is sent to a collector. `OTEL_EXPORTER_OTLP_ENDPOINT` alone sends traces only: metrics are read at `/metrics` and
 * logs from stdout, and both would be stored twice.
 * @returns null when the signal is not sent
 * @throws Error that names the legal values
 */
function exportedWith (env: NodeJS.ProcessEnv, signal: 'METRICS' | 'LOGS'): OtlpProtocol | null {
  const name = `OTEL_${signal}_EXPORTER`
  const legal = EXPORTERS[signal]
  const exporters = (env[name] ?? '').split(',').map(exporter => exporter.trim()).filter(exporter => exporter !== '')
  for (const exporter of exporters) {
    if (!legal.includes(exporter)) {
      throw new OperatorError(
        'A2AGW_ERR_TELEMETRY', `${name} has "${exporter}". It can be ${legal.slice(0, -1).join(', ')} or ${legal.at(-1) ?? ''}.`
      )
    }
  }
  const wanted = exporters.length > 0 ? exporters.includes('otlp') : (env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]?.trim() ?? '') !== ''
  return wanted && !sdkDisabled(env) ? otlpProtocol(env, signal) : null
}

/**
 * Loads what exports a signal, if the environment asks for it. The variables may be meant for other programs, so those that cannot be used
 * are a warning.
 * @param load loads the OpenTelemetry packages, which take memory and time
 * @returns null when the signal is not sent
 */
export async function exportOf<T> (
  signal: 'METRICS' | 'LOGS',
  { env, log }: Pick<ExportOptions, 'env' | 'log'>,
  load: (protocol: OtlpProtocol) => Promise<T>
): Promise<T | null> {
  try {
    const protocol = exportedWith(env, signal)
    return protocol === null ? null : await load(protocol)
  } catch (err) {
    log.warn(
      { err }, `${NAMES[signal]} are not sent, because the OTEL_* variables are not valid: fix them, or set OTEL_${signal}_EXPORTER=none`
    )
    return null
  }
}
