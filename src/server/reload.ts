/** Applies configurations that come while the gateway runs, one after the other. Reports and counts each of them. */
import type { Diagnostic } from '#config/diagnostics.js'
import { formatDiagnostic } from '#config/diagnostics.js'
import type { Config } from '#config/model/model.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { ReloadReport } from '#agents/changes.js'
import { summary } from '#agents/changes.js'
import type { AgentRegistry, PreparedChange } from '#agents/agent-registry.js'
import type { ErrorCode } from '#operator-errors.js'
import { errorCode } from '#operator-errors.js'

interface ReloadsOptions {
  readonly registry: AgentRegistry
  /** Replaces the registry's own `prepareChange` when other processes have to be ready too. */
  readonly prepare?: (config: Config) => Promise<PreparedChange>
  readonly metrics: Metrics
  readonly log: Log
  /** Applies settings of the gateway itself, once the configuration is in force. */
  readonly apply: (config: Config) => void
}

export class Reloads {
  private readonly options: ReloadsOptions
  private last: Promise<unknown> = Promise.resolve()
  private closed = false

  constructor (options: ReloadsOptions) {
    this.options = options
  }

  reload (config: Config, warnings: readonly string[] = []): Promise<ReloadReport> {
    const next = this.last.then(() => this.change(config, warnings))
    this.last = next
    return next
  }

  /** Reports a configuration that could not be read. */
  reject (problems: readonly Diagnostic[]): ReloadReport {
    return this.#report(problems.map(problem => ({ problem: formatDiagnostic(problem), code: problem.code ?? null })))
  }

  #report (faults: readonly { readonly problem: string, readonly code: ErrorCode | null }[]): ReloadReport {
    const { metrics, log } = this.options
    const problems = faults.map(({ problem }) => problem)
    for (const { problem, code } of faults) log.error({ problem, ...code === null ? {} : { code } }, problem)
    log.error({ problems: problems.length }, 'the gateway does not use the new configuration; the last good one stays in use')
    metrics.add('config_reloads_total', 'invalid')
    metrics.set('config_last_reload_successful', 0)
    return { ok: false, problems }
  }

  /** Waits for the reload in progress. Later reloads are rejected. */
  async close (): Promise<void> {
    this.closed = true
    await this.last
  }

  private async change (config: Config, warnings: readonly string[]): Promise<ReloadReport> {
    if (this.closed) return { ok: false, problems: ['the gateway is shutting down'] }
    const { registry, metrics, log, apply, prepare = wanted => registry.prepareChange(wanted) } = this.options
    try {
      const changes = (await prepare(config)).commit()
      apply(registry.config)
      metrics.add('config_reloads_total', 'ok')
      metrics.set('config_last_reload_successful', 1)
      metrics.read('config_info', () => [[config.hash, 1]])
      const { needsRestart, ...inEffect } = changes
      log.info({ hash: config.hash, ...inEffect }, summary(changes))
      for (const warning of warnings) log.warn({}, warning)
      if (needsRestart.length > 0) {
        log.warn({ settings: needsRestart }, `needs a restart: ${needsRestart.join(', ')}; until then the gateway uses the old value`)
      }
      return { ok: true, ...changes }
    } catch (error) {
      return this.#report((error instanceof Error
        ? error.message
        : String(error)).split('\n').map(problem => ({ problem, code: errorCode(error) })))
    }
  }
}
