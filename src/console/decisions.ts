/**
 * Keeps the outcomes of the calls of one process for a later look: always rejections, faults and findings; other calls only while a viewer
 * is connected. Without a viewer, a call costs only a check of two fields. Entries are built when they are requested.
 */
import type { Outcome } from '#telemetry/metrics/metrics.js'
import type { DecisionEntry, Ended, PhaseFindings } from './entry.js'
import { decisionEntryOf } from './entry.js'
import type { DecisionFilter } from './filter.js'
import { matches } from './filter.js'
import { truncate, MAX_TEXT_CHARS } from './text.js'

/** The new entries since a reader's last look. */
export interface DecisionPage {
  /** Number to pass in the next call. */
  readonly last: number
  /** Number of calls in between that are no longer kept, or that exceed one page. */
  readonly missed: number
  /** Oldest first. */
  readonly entries: readonly DecisionEntry[]
}

/** Time that calls without findings are kept after a look, ms. */
const LOOKING = 5_000
/** Largest number of entries in one page, also for all processes together. */
export const PAGE = 500
/** Largest number of findings per call. A stream may have any number. */
const FINDINGS = 20

interface Kept { readonly number: number, readonly ended: Ended }

export class Decisions {
  /** True when calls without findings are kept. */
  watched = false
  private readonly notable: Ring<Kept>
  private readonly plain: Ring<Kept>
  private count = 0
  private timer: NodeJS.Timeout | null = null

  /** @param size size of each of the two rings */
  constructor (size: number) {
    this.notable = new Ring(size)
    this.plain = new Ring(size)
  }

  /** True when a call is kept. The caller checks this before it builds an entry, because most calls are not kept. */
  wants (outcome: Outcome, findings: readonly PhaseFindings[] | null): boolean {
    return this.watched || isNotable(outcome, findings)
  }

  add (ended: Ended): void {
    if (!this.wants(ended.outcome, ended.found)) return
    const ring = isNotable(ended.outcome, ended.found) ? this.notable : this.plain
    ring.push({ number: ++this.count, ended })
  }

  /**
   * Returns the entries after a number.
   * @param last number of the last entry of the previous page; -1 returns all kept entries
   * @param filter selects the entries, before the page is cut; null selects all
   */
  since (last: number, filter: DecisionFilter | null = null): DecisionPage {
    this.look()
    const calls = [...newerThan(this.notable, last), ...newerThan(this.plain, last)].toSorted((a, b) => a.number - b.number)
    const dropped = last < 0 ? 0 : this.count - last - calls.length
    const built = (call: Kept): DecisionEntry => decisionEntryOf(String(call.number), call.ended)
    const entries: readonly (Kept | DecisionEntry)[] = filter === null ? calls : calls.map(built).filter(entry => matches(entry, filter))
    const shown = entries.slice(-PAGE).map(entry => 'ended' in entry ? built(entry) : entry)
    const beyond = last < 0 ? 0 : entries.length - shown.length
    return { last: this.count, missed: Math.max(0, dropped) + beyond, entries: shown }
  }

  close (): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.watched = false
  }

  private look (): void {
    this.watched = true
    if (this.timer !== null) {
      this.timer.refresh()
      return
    }
    this.timer = setTimeout(() => {
      this.timer = null
      this.watched = false
      this.plain.clear()
    }, LOOKING).unref()
  }
}

function isNotable (outcome: Outcome, findings: readonly PhaseFindings[] | null): boolean {
  return outcome !== 'forwarded' || (findings !== null && findings.length > 0)
}

function newerThan (ring: Ring<Kept>, last: number): Kept[] {
  const entries: Kept[] = []
  for (const call of ring.newest()) {
    if (call.number <= last) break
    entries.push(call)
  }
  return entries
}

const VIOLATIONS = 20

/** Adds one finding of a call, within bounds. Paths contain names that a client sent, and a name may have megabytes. */
export function withFindings (before: readonly PhaseFindings[] | null, next: PhaseFindings): readonly PhaseFindings[] {
  const list = before ?? []
  if (list.length >= FINDINGS) return list
  const small =
    next.violations.length <= VIOLATIONS &&
    next.violations.every(({ path, message }) => Math.max(path.length, message.length) <= MAX_TEXT_CHARS)
  return [
    ...list,
    small
      ? next
      : {
          ...next,
          violations: next.violations.slice(0, VIOLATIONS).map(violation => ({
            ...violation, path: truncate(violation.path), message: truncate(violation.message)
          }))
        }
  ]
}

/** A ring buffer of the newest items. When it is full, a new item replaces the oldest. */
export class Ring<T> {
  private readonly size: number
  private readonly items: T[] = []
  /** Index of the next item once the ring is full. */
  private next = 0

  /** @param size at least 1 */
  constructor (size: number) {
    this.size = size
  }

  push (item: T): void {
    if (this.items.length < this.size) {
      this.items.push(item)
      return
    }
    this.items[this.next] = item
    this.next = (this.next + 1) % this.size
  }

  /** Newest first. */
  * newest (): Generator<T> {
    for (let i = 1; i <= this.items.length; i++) yield this.items[(this.next + this.items.length - i) % this.items.length] as T
  }

  clear (): void {
    this.items.length = 0
    this.next = 0
  }
}
