/** Memory of tasks in this process: bounded, the task not seen for longest forgotten first, gone with a restart. */
import type { StateStoreConfig } from '../config/model/model.js'
import type { TaskRecord } from '../policy/task/memory.js'
import { fieldLength, MAX_FIELDS, MAX_LENGTH, recordKey } from './record-key.js'
import type { Lookup, TaskKey, TaskStore } from './store.js'

/** What all records together may come to, in UTF-16 code units; `maxTasks` bounds their number. */
const MAX_TOTAL = 256 * 1024 * 1024
/** What a record costs beside its fields, roughly. */
const RECORD_COST = 256

interface Entry {
  readonly key: string
  fields: Map<string, string>
  length: number
  /** In the clock's time. */
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
  /** By when they were last seen, which is the order in which they expire: so no entry needs a timer. */
  private newest: Entry | null = null
  private oldest: Entry | null = null
  private total = 0

  /** @param now a clock that never goes back, ms */
  constructor ({ ttl, maxTasks }: Pick<StateStoreConfig, 'ttl' | 'maxTasks'>, now: () => number = () => performance.now(), maxTotal = MAX_TOTAL) {
    this.ttl = ttl
    this.maxTasks = maxTasks
    this.maxTotal = maxTotal
    this.now = now
  }

  /** Tasks remembered now. */
  get size (): number {
    this.sweep()
    return this.entries.size
  }

  read (key: TaskKey): Lookup {
    this.sweep()
    const entry = this.entries.get(recordKey(key))
    if (entry === undefined) return 'unknown'
    this.touch(entry)
    // A copy: what is written meanwhile belongs to another request.
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
    const kept = this.add(entry, fields)
    while (this.oldest !== null && this.oldest !== entry && (this.entries.size > this.maxTasks || this.total > this.maxTotal)) this.forget(this.oldest)
    return kept ? null : LOST
  }

  async close (): Promise<void> {
    this.entries.clear()
    this.newest = this.oldest = null
    this.total = 0
  }

  /** @returns false where something did not fit. What it was to replace is gone then: better nothing than what is no longer so. */
  private add (entry: Entry, fields: TaskRecord): boolean {
    let kept = true
    for (const [field, value] of fields) {
      const old = entry.fields.get(field)
      const freed = old === undefined ? 0 : fieldLength(field, old)
      const length = entry.length - freed + fieldLength(field, value)
      if (length - RECORD_COST <= MAX_LENGTH && (old !== undefined || entry.fields.size < MAX_FIELDS)) {
        entry.fields.set(field, value)
        this.resize(entry, length)
      } else {
        kept = false
        if (entry.fields.delete(field)) this.resize(entry, entry.length - freed)
      }
    }
    return kept
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
