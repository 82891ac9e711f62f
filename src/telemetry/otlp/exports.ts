/** Starts the exports of metrics and logs. Their code and the OpenTelemetry packages are loaded only if the environment asks for them. */
import { exportOf } from './environment.js'
import type { LogExport, LogExportOptions } from './log-export.js'
import type { MetricsExport, MetricsExportOptions } from './metrics-export.js'

/** @returns null when metrics are not sent */
export function exportMetrics (options: MetricsExportOptions): Promise<Pick<MetricsExport, 'shutdown'> | null> {
  return exportOf('METRICS', options, async protocol => new (await import('./metrics-export.js')).MetricsExport(options, protocol))
}

/** Passes the lines of the log and of the audit to their export, if there is one. The logger exists before the export, which logs too. */
export class ExportedLines {
  private to: LogExport | null = null

  readonly add = (line: string): void => {
    this.to?.add(line)
  }

  async connect (options: LogExportOptions): Promise<void> {
    this.to = await exportOf('LOGS', options, async protocol => new (await import('./log-export.js')).LogExport(options, protocol))
  }

  /** Sends the remaining lines, for at most 2 seconds. Never rejects. */
  async shutdown (): Promise<void> {
    await this.to?.shutdown()
  }
}
