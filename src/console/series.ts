/** Records rates, rejections and the gateway's own latency over the last quarter of an hour: the increase in each slot of a few seconds. */
import { DECISION_BUCKETS } from '#telemetry/metrics/definitions.js'
import type { HistogramCell, Metrics } from '#telemetry/metrics/metrics.js'

/** Length of a slot, ms. Slots begin at multiples of it, so that the slots of several processes can be added up. */
export const SLOT = 5_000
export const SLOTS = 180
/** Largest number of agents in one slot: those with the most calls. The sum covers all agents. */
const AGENTS = 20

/** Name of the row that covers all agents. */
export const ALL = ''

/** The increase in one slot: calls by outcome; decisions, with their total seconds and their buckets. */
export interface Row {
  readonly calls: number
  readonly rejected: number
  readonly failed: number
  /** Error responses of the agent. */
  readonly errors: number
  readonly aborted: number
  readonly decisions: number
  readonly seconds: number
  readonly buckets: readonly number[]
}

export interface Slot {
  /** End of the slot, ms since the epoch. */
  readonly at: number
  /** Rows by agent. Agents without calls are omitted. */
  readonly rows: Readonly<Record<string, Row>>
}

export interface SeriesPage {
  /** Length of one slot, ms. */
  readonly slot: number
  /** Upper bounds of the buckets, seconds. */
  readonly bounds: readonly number[]
  /** Oldest first. There is no slot for a time without calls. */
  readonly slots: readonly Slot[]
  /** Start of the recording, ms since the epoch. */
  readonly since: number
}

export class Series {
  private readonly metrics: Pick<Metrics, 'cells'>
  private readonly slots: Slot[] = []
  /** Values of the cells at the end of the last slot, by index. */
  private readonly before: { readonly ended: Past[], readonly decided: Past[] } = { ended: [], decided: [] }
  private readonly timer: NodeJS.Timeout
  private readonly since: number
  private current: number

  constructor (metrics: Pick<Metrics, 'cells'>) {
    this.metrics = metrics
    this.rows()
    this.since = Date.now()
    this.current = Math.floor(this.since / SLOT)
    this.timer = setInterval(() => { this.take(Date.now()) }, SLOT / 5).unref()
  }

  /** Ends the previous slot once its time is over. When the process was busy for several slots, they become one slot. */
  take (now: number): void {
    const slot = Math.floor(now / SLOT)
    if (slot <= this.current) return
    this.current = slot
    const rows = this.rows()
    if (rows !== null) this.slots.push({ at: slot * SLOT, rows })
    const oldest = (slot - SLOTS) * SLOT
    while (this.slots[0] !== undefined && this.slots[0].at <= oldest) this.slots.shift()
  }

  page (): SeriesPage {
    this.take(Date.now())
    return { slot: SLOT, bounds: DECISION_BUCKETS, slots: this.slots, since: this.since }
  }

  close (): void {
    clearInterval(this.timer)
  }

  /** Returns the increase since the last call. Most cells have not changed and cost one comparison. */
  private rows (): Record<string, Row> | null {
    const rows = new Map<string, MutableRow>()
    const of = (agent: string): MutableRow => {
      let row = rows.get(agent)
      if (row === undefined) {
        rows.set(
          agent,
          (row = {
            calls: 0,
            rejected: 0,
            failed: 0,
            errors: 0,
            aborted: 0,
            decisions: 0,
            seconds: 0,
            buckets: DECISION_BUCKETS.map(() => 0)
          })
        )
      }
      return row
    }
    grown(this.metrics.cells('request_duration_seconds'), this.before.ended, ({ labels }, calls) => {
      const row = of(labels.agent ?? '')
      row.calls += calls
      if (labels.outcome === 'rejected') row.rejected += calls
      else if (labels.outcome === 'agent_error') row.errors += calls
      else if (labels.outcome === 'client_aborted') row.aborted += calls
      else if (labels.outcome !== 'forwarded') row.failed += calls
    })
    grown(this.metrics.cells('decision_duration_seconds'), this.before.decided, ({ labels, sum, counts }, decisions, past) => {
      const row = of(labels.agent ?? '')
      row.decisions += decisions
      row.seconds += sum - past.sum
      counts.forEach((count, i) => { row.buckets[i] = (row.buckets[i] ?? 0) + count - (past.counts[i] ?? 0) })
    })
    if (rows.size === 0) return null
    const all: Row = [...rows.values()].reduce<Row>(sum, {
      calls: 0,
      rejected: 0,
      failed: 0,
      errors: 0,
      aborted: 0,
      decisions: 0,
      seconds: 0,
      buckets: DECISION_BUCKETS.map(() => 0)
    })
    return Object.fromEntries([[ALL, all], ...[...rows].toSorted(([, a], [, b]) => b.calls - a.calls).slice(0, AGENTS)])
  }
}

interface MutableRow {
  calls: number
  rejected: number
  failed: number
  errors: number
  aborted: number
  decisions: number
  seconds: number
  readonly buckets: number[]
}

interface Past { readonly count: number, readonly sum: number, readonly counts: readonly number[] }

const NO_COUNTS: Past = { count: 0, sum: 0, counts: [] }

function grown (cells: readonly HistogramCell[], before: Past[], tell: (cell: HistogramCell, more: number, past: Past) => void): void {
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i] as HistogramCell
    const past = before[i] ?? NO_COUNTS
    if (cell.count === past.count) continue
    tell(cell, cell.count - past.count, past)
    before[i] = { count: cell.count, sum: cell.sum, counts: [...cell.counts] }
  }
}

function sum (a: Row, b: Row): Row {
  return {
    calls: a.calls + b.calls,
    rejected: a.rejected + b.rejected,
    failed: a.failed + b.failed,
    errors: a.errors + b.errors,
    aborted: a.aborted + b.aborted,
    decisions: a.decisions + b.decisions,
    seconds: a.seconds + b.seconds,
    buckets: a.buckets.map((count, i) => count + (b.buckets[i] ?? 0))
  }
}

/** Merges the series of several processes into one. */
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
