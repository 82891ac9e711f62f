/**
 * Task state in the memory of this process. The store is bounded, evicts the least recently used task first, and is empty after a restart.
 */
import type { StateStoreConfig } from '#config/model/model.js'
import type { Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { MemoryOwners } from './memory-owners.js'
import { fieldLength, MAX_FIELDS, MAX_LENGTH, recordKey, pushKey } from './record-key.js'
import type { ClaimKey, Lookup, OwnedName, PushChange, PushCounted, TaskKey, TaskStore } from './store.js'

/** Maximum size of all records together, in UTF-16 code units. `maxTasks` bounds the number of records. */
const MAX_TOTAL = 256 * 1024 * 1024
/** Approximate cost of a record in addition to its fields. */
const RECORD_COST = 256

/** Maximum owners for each of `maxTasks`: of a task, and of its context. */
const OWNERS = 2

interface Entry {
  readonly key: string
  fields: Map<string, string>
  length: number
  /** Time of expiry, in the time of the store's clock. */
  expires: number
  newer: Entry | null
  older: Entry | null
}

export class MemoryStore implements TaskStore {
  private readonly ttl: number
  private readonly maxTasks: number
  private readonly maxTotal: number
  private readonly now: () => number
  private readonly entries = new Map<string, Entry>()
  /** Entries in order of last use, which is also the order of expiry. No entry therefore needs a timer. */
  private newest: Entry | null = null
  private oldest: Entry | null = null
  private total = 0
  private readonly claims: MemoryClaims
  private readonly owned: MemoryOwners
  private readonly push: MemoryPush

  /** @param now a clock that never goes back, ms */
  constructor (
    { ttl, maxTasks }: Pick<StateStoreConfig, 'ttl' | 'maxTasks'>,
    now: () => number = () => performance.now(),
    maxTotal = MAX_TOTAL
  ) {
    this.ttl = ttl
    this.maxTasks = maxTasks
    this.maxTotal = maxTotal
    this.now = now
    this.claims = new MemoryClaims(now)
    this.owned = new MemoryOwners(now, ttl, OWNERS * maxTasks)
    this.push = new MemoryPush(now, ttl, maxTasks)
  }

  /** Number of tasks in the store. */
  get size (): number {
    this.sweep()
    return this.entries.size
  }

  read (key: TaskKey): Lookup {
    this.sweep()
    const entry = this.entries.get(recordKey(key))
    if (entry === undefined) return 'unknown'
    this.touch(entry)
    // A copy, because writes in the meantime belong to another request.
    return new Map(entry.fields)
  }

  write (key: TaskKey, fields: TaskRecord): null | Promise<boolean> {
    this.sweep()
    const name = recordKey(key)
    let entry = this.entries.get(name)
    if (entry === undefined) {
      entry = { key: name, fields: new Map(), length: RECORD_COST, expires: 0, newer: null, older: null }
      this.entries.set(name, entry)
      this.total += entry.length
      this.link(entry)
    } else {
      this.touch(entry)
    }
    entry.expires = this.now() + this.ttl
    const isKept = this.add(entry, fields)
    while (this.oldest !== null && this.oldest !== entry && (this.entries.size > this.maxTasks || this.total > this.maxTotal)) {
      this.forget(this.oldest)
    }
    return isKept ? null : LOST
  }

  claim (agent: string, claims: readonly ClaimKey[]): readonly Claimed[] {
    return this.claims.claim(agent, claims)
  }

  release (agent: string, claims: readonly ClaimKey[]): void {
    this.claims.release(agent, claims)
  }

  owners (agent: string, names: readonly OwnedName[], claim: string | null): readonly (string | null)[] {
    return this.owned.owners(agent, names, claim)
  }

  pushConfigs (change: PushChange): PushCounted {
    return this.push.change(change)
  }

  async close (): Promise<void> {
    this.claims.clear()
    this.owned.clear()
    this.push.clear()
    this.entries.clear()
    this.newest = this.oldest = null
    this.total = 0
  }

  /**
   * @returns false when a field did not fit. The old value of that field is then deleted, because no value is better than an outdated
   * value.
   */
  private add (entry: Entry, fields: TaskRecord): boolean {
    let isKept = true
    for (const [field, value] of fields) {
      const old = entry.fields.get(field)
      const freed = old === undefined ? 0 : fieldLength(field, old)
      const length = entry.length - freed + fieldLength(field, value)
      if (length - RECORD_COST <= MAX_LENGTH && (old !== undefined || entry.fields.size < MAX_FIELDS)) {
        entry.fields.set(field, value)
        this.resize(entry, length)
      } else {
        isKept = false
        if (entry.fields.delete(field)) this.resize(entry, entry.length - freed)
      }
    }
    return isKept
  }

  private resize (entry: Entry, length: number): void {
    this.total += length - entry.length
    entry.length = length
  }

  private sweep (): void {
    const now = this.now()
    while (this.oldest !== null && this.oldest.expires <= now) this.forget(this.oldest)
  }

  private touch (entry: Entry): void {
    entry.expires = this.now() + this.ttl
    if (entry === this.newest) return
    this.unlink(entry)
    this.link(entry)
  }

  private forget (entry: Entry): void {
    this.entries.delete(entry.key)
    this.total -= entry.length
    this.unlink(entry)
  }

  private link (entry: Entry): void {
    entry.older = this.newest
    if (this.newest !== null) this.newest.newer = entry
    this.newest = entry
    this.oldest ??= entry
  }

  private unlink (entry: Entry): void {
    if (entry.newer === null) this.newest = entry.older
    else entry.newer.older = entry.older
    if (entry.older === null) this.oldest = entry.newer
    else entry.older.newer = entry.newer
    entry.newer = entry.older = null
  }
}

const LOST = Promise.resolve(false)

// Claimed values in the memory of this process. The memory is bounded, and empty after a restart.

/**
 * Maximum number of claims, at about 200 bytes each. Further values are `unavailable`: forgetting an earlier claim would allow its replay.
 */
const MAX_CLAIMS = 500_000

export class MemoryClaims {
  private readonly now: () => number
  private readonly max: number
  /** Times of expiry by name, for each window. In one window the order of claims is the order of expiry, so no claim needs a timer. */
  private readonly windows = new Map<number, Map<string, number>>()
  private count = 0

  /** @param now a clock that never goes back, ms */
  constructor (now: () => number, max = MAX_CLAIMS) {
    this.now = now
    this.max = max
  }

  claim (agent: string, claims: readonly ClaimKey[]): readonly Claimed[] {
    this.sweep()
    return claims.map(({ key, window }) => {
      const name = `${agent}:${key}`
      // A reload may have changed the window of a rule.
      for (const names of this.windows.values()) if (names.has(name)) return 'seen'
      if (this.count >= this.max) return 'unavailable'
      let names = this.windows.get(window)
      if (names === undefined) this.windows.set(window, names = new Map())
      names.set(name, this.now() + window)
      this.count++
      return 'new'
    })
  }

  release (agent: string, claims: readonly ClaimKey[]): void {
    for (const { key } of claims) {
      for (const names of this.windows.values()) if (names.delete(`${agent}:${key}`)) this.count--
    }
  }

  clear (): void {
    this.windows.clear()
    this.count = 0
  }

  private sweep (): void {
    const now = this.now()
    for (const [window, names] of this.windows) {
      for (const [name, expires] of names) {
        if (expires > now) break
        names.delete(name)
        this.count--
      }
      if (names.size === 0) this.windows.delete(window)
    }
  }
}

/* Push notification configurations of tasks in the memory of this process. The memory is bounded, and empty after a restart. */

interface Task {
  /** Token of the last change, by digest of the configuration's id. */
  readonly entries: Map<string, string>
  expires: number
}

class MemoryPush {
  private readonly now: () => number
  private readonly ttl: number
  private readonly max: number
  /** In order of last use, which is also the order of expiry. No entry therefore needs a timer. */
  private readonly tasks = new Map<string, Task>()

  /**
   * @param now a clock that never goes back, ms
   * @param ttl ms after the last use
   * @param max number of tasks; the least recently used is forgotten first
   */
  constructor (now: () => number, ttl: number, max: number) {
    this.now = now
    this.ttl = ttl
    this.max = max
  }

  /** As `TaskStore.pushConfigs`, and as the script in `push-script.ts`. */
  change ({ agent, taskId, kind, entries, token, max }: PushChange): PushCounted {
    this.sweep()
    const key = pushKey(agent, taskId)
    const tokens = this.tasks.get(key)?.entries ?? new Map<string, string>()
    const added = entries.map(entry => !tokens.has(entry))
    const count = added.filter(Boolean).length
    const full = kind === 'reserve' && count > 0 && tokens.size + count > max
    entries.forEach((entry, i) => {
      if (kind === 'free') {
        if (tokens.get(entry) === token) tokens.delete(entry)
      } else if (!full && (kind !== 'mark' || added[i] === false)) tokens.set(entry, token)
    })
    this.tasks.delete(key)
    if (tokens.size > 0) this.tasks.set(key, { entries: tokens, expires: this.now() + this.ttl })
    const [oldest] = this.tasks.keys()
    if (this.tasks.size > this.max && oldest !== undefined) this.tasks.delete(oldest)
    return full ? 'full' : added
  }

  clear (): void {
    this.tasks.clear()
  }

  private sweep (): void {
    const now = this.now()
    for (const [key, { expires }] of this.tasks) {
      if (expires > now) return
      this.tasks.delete(key)
    }
  }
}
