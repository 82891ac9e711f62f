/**
 * Keeps the outcomes of the calls of one process for a later look: always rejections, faults and findings; other calls only while a viewer
 * is connected. Without a viewer, a call costs only a check of two fields. Entries are built when they are requested.
 */
import type { Rejection } from '#a2a/errors.js'
import type { Violation } from '#policy/violation.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import type { DecisionEntry } from './entry.js'
import { entryOf } from './entry.js'
import type { DecisionFilter } from './filter.js'
import { matches } from './filter.js'
import { Ring } from './ring.js'
import { cut, LONGEST } from './text.js'

/** The violations that rules found in a request and its response, in the order of evaluation. */
export interface Found {
  readonly phase: 'request' | 'response'
  readonly violations: readonly Violation[]
  /** `policy/rule` of each change. */
  readonly edited: readonly string[]
}

/** One completed call. It must hold no other data of the exchange, because the exchange may have megabytes. */
export interface Ended {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  /** `http`, `grpc`, `ext_authz` or `ext_proc`. */
  readonly front: string
  readonly outcome: Outcome
  readonly status: number
  /** Name of the status of gRPC; null over HTTP. */
  readonly grpcStatus: string | null
  readonly seconds: number
  readonly requestId: string
  readonly traceId: string | null
  /** Task and context of the call; null when it has none. */
  readonly taskId: string | null
  readonly contextId: string | null
  /** URIs of the extensions that the client requested. */
  readonly extensions: readonly string[]
  /** The caller, as log lines name it. */
  readonly caller: { readonly source: string, readonly id: string } | null
  /** Port of the client's end of the connection. 0 when it is no longer known. */
  readonly port: number
  readonly refusal: Rejection | null
  readonly found: readonly Found[]
}

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
  wants (outcome: Outcome, found: readonly Found[] | null): boolean {
    return this.watched || isNotable(outcome, found)
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
    const kept = [...newerThan(this.notable, last), ...newerThan(this.plain, last)].toSorted((a, b) => a.number - b.number)
    const dropped = last < 0 ? 0 : this.count - last - kept.length
    const built = (one: Kept): DecisionEntry => entryOf(String(one.number), one.ended)
    const found: readonly (Kept | DecisionEntry)[] = filter === null ? kept : kept.map(built).filter(one => matches(one, filter))
    const shown = found.slice(-PAGE).map(one => 'ended' in one ? built(one) : one)
    const beyond = last < 0 ? 0 : found.length - shown.length
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

const VIOLATIONS = 20

/** Adds one finding of a call, within bounds. Paths contain names that a client sent, and a name may have megabytes. */
export function withFound (before: readonly Found[] | null, next: Found): readonly Found[] {
  const found = before ?? []
  if (found.length >= FINDINGS) return found
  const small =
    next.violations.length <= VIOLATIONS && next.violations.every(one => one.path.length <= LONGEST && one.message.length <= LONGEST)
  return [
    ...found,
    small
      ? next
      : {
          ...next,
          violations: next.violations.slice(0, VIOLATIONS).map(one => ({ ...one, path: cut(one.path), message: cut(one.message) }))
        }
  ]
}
