/** What the console needs in each process that serves: it records there, and is asked from where the admin listener is. */
import type { ConsoleConfig } from '../config/model/model.js'
import type { Metrics } from '../telemetry/metrics/metrics.js'
import { Decisions } from './decisions.js'
import { Series } from './series.js'

export interface ConsolePart {
  readonly decisions: Decisions
  readonly series: Series
  close (): void
}

/** @returns null where there is no console */
export function consolePart (config: ConsoleConfig, metrics: Metrics): ConsolePart | null {
  if (!config.enabled) return null
  const decisions = new Decisions(config.decisions)
  const series = new Series(metrics)
  const close = (): void => {
    decisions.close()
    series.close()
  }
  return { decisions, series, close }
}
