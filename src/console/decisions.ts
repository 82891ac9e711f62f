/**
 * What the calls of one process came to, for whoever looks later: refusals, faults and findings always, other calls only while somebody looks.
 * A call costs one look at two fields until then. What is kept is put into words when it is asked for.
 */
import type { Rejection } from '../a2a/errors.js'
import type { Violation } from '../policy/violation.js'
import type { Outcome } from '../telemetry/metrics/metrics.js'
import type { DecisionEntry } from './entry.js'
import { entryOf } from './entry.js'
import { Ring } from './ring.js'

/** What rules found in a request and its answer, in the order of finding. */
export interface Found {
  readonly phase: 'request' | 'response'
  readonly violations: readonly Violation[]
  /** `policy/rule` of what was changed. */
  readonly edited: readonly string[]
}

/** One call that has ended. It must hold nothing of the exchange but what is here: that may have megabytes. */
export interface Ended {
  /** ms since the epoch */
  readonly at: number
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  readonly outcome: Outcome
  readonly status: number
  readonly seconds: number
  readonly requestId: string
  readonly traceId: string | null
  /** Of the client's end of the connection, 0 where it is not known any more. */
  readonly port: number
  readonly refusal: Rejection | null
  readonly found: readonly Found[]
}

/** What is new since a reader last looked. */
export interface DecisionPage {
  /** What to ask with the next time. */
  readonly last: number
  /** Calls in between that are not kept any more, or too many for one page. */
  readonly missed: number
  /** Oldest first. */
  readonly entries: readonly DecisionEntry[]
}

/** How long calls with nothing to tell are kept after somebody looked, ms. */
const LOOKING = 5_000
/** Entries of one page, of all processes together too. */
export const PAGE = 500
/** Findings of one call: a stream may have any number. */
const FINDINGS = 20

interface Kept { readonly number: number, readonly ended: Ended }

export class Decisions {
  /** Whether calls with nothing to tell are wanted. */
  watched = false
  private readonly notable: Ring<Kept>
  private readonly plain: Ring<Kept>
  private count = 0
  private timer: NodeJS.Timeout | null = null

  /** @param size of each of the two rings */
  constructor (size: number) {
    this.notable = new Ring(size)
    this.plain = new Ring(size)
  }

  /** Asked before anything is made of a call: most are not wanted. */
  wants (outcome: Outcome, found: readonly Found[] | null): boolean {
    return this.watched || isNotable(outcome, found)
  }

  add (ended: Ended): void {
    if (!this.wants(ended.outcome, ended.found)) return
    const ring = isNotable(ended.outcome, ended.found) ? this.notable : this.plain
    ring.push({ number: ++this.count, ended })
  }

  /** @param last of the page before; -1: all that is kept */
  since (last: number): DecisionPage {
    this.look()
    const kept = [...newerThan(this.notable, last), ...newerThan(this.plain, last)].toSorted((a, b) => a.number - b.number).slice(-PAGE)
    const missed = last < 0 ? 0 : this.count - last - kept.length
    return { last: this.count, missed: Math.max(0, missed), entries: kept.map(({ number, ended }) => entryOf(String(number), ended)) }
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

function isNotable (outcome: Outcome, found: readonly Found[] | null): boolean {
  return outcome !== 'forwarded' || (found !== null && found.length > 0)
}

function newerThan (ring: Ring<Kept>, last: number): Kept[] {
  const found: Kept[] = []
  for (const kept of ring.newest()) {
    if (kept.number <= last) break
    found.push(kept)
  }
  return found
}

const LONGEST = 500
const VIOLATIONS = 20

/** One more finding of a call, bounded: paths name members of what a client sent, and a name may be megabytes. */
export function withFound (before: readonly Found[] | null, next: Found): readonly Found[] {
  const found = before ?? []
  if (found.length >= FINDINGS) return found
  const small = next.violations.length <= VIOLATIONS && next.violations.every(one => one.path.length <= LONGEST && one.message.length <= LONGEST)
  return [...found, small ? next : { ...next, violations: next.violations.slice(0, VIOLATIONS).map(one => ({ ...one, path: cut(one.path), message: cut(one.message) })) }]
}

/** A copy: a slice would keep the whole text alive. */
export function cut (text: string): string {
  return text.length <= LONGEST ? text : Buffer.from(`${text.slice(0, LONGEST)}…`).toString()
}
