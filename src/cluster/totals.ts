/** What all processes count, as one: `/metrics` of a gateway with workers. */
import type { Metrics, MetricsSnapshot } from '../telemetry/metrics.js'
import { lasting, mergeSnapshots } from '../telemetry/metrics.js'
import type { Member } from './member.js'

export class Totals {
  readonly contentType: string
  private readonly own: Metrics
  private readonly members: ReadonlySet<Member>
  /** Of all workers that have ended: without it, totals would fall. */
  private departed: MetricsSnapshot = []
  private folding: Promise<void> = Promise.resolve()
  /** Ended, and not yet in `departed`. */
  private readonly ending = new Set<Member>()

  constructor (own: Metrics, members: ReadonlySet<Member>) {
    this.own = own
    this.members = members
    this.contentType = own.contentType
  }

  async text (): Promise<string> {
    return await (await this.merged()).text()
  }

  async snapshot (): Promise<MetricsSnapshot> {
    return await (await this.merged()).snapshot()
  }

  /** A worker that does not answer counts with what it last said. */
  private async merged (): Promise<ReturnType<typeof mergeSnapshots>> {
    await Promise.all([...this.members].map(async member => {
      const metrics = await member.ask('metrics')
      if (metrics !== null) member.metrics = metrics
    }))
    const own = await this.own.snapshot()
    return mergeSnapshots([own, this.departed, ...[...this.ending].map(one => lasting(one.metrics)), ...[...this.members].map(one => one.metrics)])
  }

  ended (member: Member): void {
    this.ending.add(member)
    this.folding = this.folding.then(async () => {
      const next = await mergeSnapshots([this.departed, lasting(member.metrics)]).snapshot()
      this.ending.delete(member)
      this.departed = next
    })
  }
}
