/** Rate, refusals and the gateway's own time over the last quarter of an hour: what was added in each slot of a few seconds. */
import type { Tally } from '../telemetry/metrics.js'

/** ms; slots begin at multiples of it, so that those of several processes can be added up. */
export const SLOT = 5_000
export const SLOTS = 180
/** Agents of one slot, those with the most calls; all are in the sum. */
const AGENTS = 20

/** Under this name, all agents together. */
export const ALL = ''

/** What was added in one slot: calls by outcome; decisions, seconds of them and their buckets. */
export interface Row {
  readonly calls: number
  readonly rejected: number
  readonly failed: number
  readonly aborted: number
  readonly decisions: number
  readonly seconds: number
  readonly buckets: readonly number[]
}

export interface Slot {
  /** Its end, ms since the epoch. */
  readonly at: number
  /** By agent; those without calls are not there. */
  readonly rows: Readonly<Record<string, Row>>
}

export interface SeriesPage {
  /** ms of one slot. */
  readonly slot: number
  /** Seconds, upper bounds of the buckets. */
  readonly bounds: readonly number[]
  /** Oldest first; without calls there is no slot. */
  readonly slots: readonly Slot[]
  /** Since when this has been recorded, ms since the epoch. */
  readonly since: number
}

interface Counted { readonly decisionBounds: readonly number[], tally (): ReadonlyMap<string, Tally> }

export class Series {
  private readonly metrics: Counted
  private readonly slots: Slot[] = []
  private before: ReadonlyMap<string, Tally>
  private readonly timer: NodeJS.Timeout
  private readonly since: number
  private current: number

  constructor (metrics: Counted) {
    this.metrics = metrics
    this.before = metrics.tally()
    this.since = Date.now()
    this.current = Math.floor(this.since / SLOT)
    this.timer = setInterval(() => { this.take(Date.now()) }, SLOT / 5).unref()
  }

  /** Ends the slot before, once its time is over. A process that was busy for longer makes one slot of it. */
  take (now: number): void {
    const slot = Math.floor(now / SLOT)
    if (slot <= this.current) return
    this.current = slot
    const after = this.metrics.tally()
    const rows = this.rowsOf(after)
    this.before = after
    if (rows !== null) this.slots.push({ at: slot * SLOT, rows })
    const oldest = (slot - SLOTS) * SLOT
    while (this.slots[0] !== undefined && this.slots[0].at <= oldest) this.slots.shift()
  }

  page (): SeriesPage {
    this.take(Date.now())
    return { slot: SLOT, bounds: this.metrics.decisionBounds, slots: this.slots, since: this.since }
  }

  close (): void {
    clearInterval(this.timer)
  }

  private rowsOf (after: ReadonlyMap<string, Tally>): Record<string, Row> | null {
    const rows: [string, Row][] = []
    for (const [agent, tally] of after) {
      const row = difference(this.before.get(agent), tally)
      if (row !== null) rows.push([agent, row])
    }
    if (rows.length === 0) return null
    const all = rows.map(([, row]) => row).reduce(sum)
    return Object.fromEntries([[ALL, all], ...rows.toSorted(([, a], [, b]) => b.calls - a.calls).slice(0, AGENTS)])
  }
}

function difference (before: Tally | undefined, after: Tally): Row | null {
  const since = (outcome: keyof Tally['outcomes']): number => after.outcomes[outcome] - (before?.outcomes[outcome] ?? 0)
  const rejected = since('rejected')
  const failed = since('upstream_error') + since('gateway_error')
  const aborted = since('client_aborted')
  const calls = since('forwarded') + rejected + failed + aborted
  const decisions = after.decisions - (before?.decisions ?? 0)
  if (calls === 0 && decisions === 0) return null
  return { calls, rejected, failed, aborted, decisions, seconds: after.seconds - (before?.seconds ?? 0), buckets: after.buckets.map((count, i) => count - (before?.buckets[i] ?? 0)) }
}

function sum (a: Row, b: Row): Row {
  return {
    calls: a.calls + b.calls,
    rejected: a.rejected + b.rejected,
    failed: a.failed + b.failed,
    aborted: a.aborted + b.aborted,
    decisions: a.decisions + b.decisions,
    seconds: a.seconds + b.seconds,
    buckets: a.buckets.map((count, i) => count + (b.buckets[i] ?? 0))
  }
}

/** Of several processes, one. */
export function mergeSeries (pages: readonly SeriesPage[]): SeriesPage {
  const slots = new Map<number, Map<string, Row>>()
  for (const { at, rows } of pages.flatMap(page => page.slots)) {
    let slot = slots.get(at)
    if (slot === undefined) slots.set(at, slot = new Map())
    for (const [agent, row] of Object.entries(rows)) {
      const other = slot.get(agent)
      slot.set(agent, other === undefined ? row : sum(other, row))
    }
  }
  return {
    slot: SLOT,
    bounds: pages.find(page => page.bounds.length > 0)?.bounds ?? [],
    slots: [...slots].toSorted(([a], [b]) => a - b).map(([at, rows]) => ({ at, rows: Object.fromEntries(rows) })),
    since: Math.min(Date.now(), ...pages.map(page => page.since))
  }
}
