/** Merges the metrics of all processes: `/metrics` of a gateway with workers. */
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { MetricsSnapshot } from '#telemetry/metrics/registry.js'
import { openMetrics } from '#telemetry/metrics/open-metrics.js'
import { lasting, mergeSnapshots } from '#telemetry/metrics/registry.js'
import type { WorkerHandle } from './worker-handle.js'

export class Totals {
  readonly contentType: string
  private readonly own: Metrics
  private readonly all: ReadonlySet<WorkerHandle>
  /** Metrics of all workers that have ended. Without them, totals would fall. */
  private departed: MetricsSnapshot = []
  private folding: Promise<void> = Promise.resolve()
  /** Workers that have ended and are not yet part of `departed`. */
  private readonly ending = new Set<WorkerHandle>()

  constructor (own: Metrics, all: ReadonlySet<WorkerHandle>) {
    this.own = own
    this.all = all
    this.contentType = own.contentType
  }

  async text (): Promise<string> {
    return await (await this.merged()).text()
  }

  /** As `Metrics` does. */
  async openMetrics (): Promise<string | null> {
    return this.own.exemplars ? openMetrics(await this.snapshot()) : null
  }

  async snapshot (): Promise<MetricsSnapshot> {
    return await (await this.merged()).snapshot()
  }

  /** Merges all metrics. A worker that does not respond counts with its last known metrics. */
  private async merged (): Promise<ReturnType<typeof mergeSnapshots>> {
    await Promise.all([...this.all].map(async worker => {
      const metrics = await worker.ask('metrics')
      if (metrics !== null) worker.metrics = metrics
    }))
    const own = await this.own.snapshot()
    return mergeSnapshots([
      own,
      this.departed,
      ...[...this.ending].map(workerHandle => lasting(workerHandle.metrics)),
      ...[...this.all].map(workerHandle => workerHandle.metrics)
    ])
  }

  ended (worker: WorkerHandle): void {
    this.ending.add(worker)
    this.folding = this.folding.then(async () => {
      const next = await mergeSnapshots([this.departed, lasting(worker.metrics)]).snapshot()
      this.ending.delete(worker)
      this.departed = next
    })
  }
}
