/** The part of the console in each serving process. It records there, and the process with the admin listener queries it. */
import type { ConsoleConfig } from '#config/model/model.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import { Decisions } from './decisions.js'
import { RequestLog } from './playground/request-log.js'
import { Series } from './series.js'

export interface ConsolePart {
  readonly decisions: Decisions
  readonly series: Series
  /** Null without `console.requests`. */
  readonly requests: RequestLog | null
  close (): void
}

/**
 * Starts recording.
 * @returns null when the console is disabled
 */
export function consolePart (config: ConsoleConfig, metrics: Metrics): ConsolePart | null {
  if (!config.enabled) return null
  const decisions = new Decisions(config.decisions)
  const series = new Series(metrics)
  const requests = config.playground && config.requests > 0 ? new RequestLog(config.requests) : null
  const close = (): void => {
    decisions.close()
    series.close()
  }
  return { decisions, series, requests, close }
}
