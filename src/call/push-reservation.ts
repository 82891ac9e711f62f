import { randomBytes } from 'node:crypto'
import type { PushCount, PushResponse } from '#policy/push/count.js'
import { pushEntryOf, readPushResponse } from '#policy/push/count.js'
import type { PushChange, PushCounted } from '#state/store.js'
import { pendingOf } from '#wire/when-ready.js'

/** Configurations that a request in flight has counted. The first call of a method that ends the request counts. */
export class PushReservation {
  private readonly count: PushCount
  /** Entries that this request was the first to count. */
  private readonly added: readonly string[]
  private readonly token: string
  private readonly change: (kind: PushChange['kind'], entries: readonly string[], token: string) => PushCounted | Promise<PushCounted>
  private settled = false

  constructor (count: PushCount, added: readonly boolean[], token: string, change: PushReservation['change']) {
    this.count = count
    this.added = count.entries.filter((_, i) => added[i] === true)
    this.token = token
    this.change = change
  }

  /** True when the response tells what became of the configuration. A message may fail after the agent has stored its configuration. */
  get readsResponse (): boolean {
    return this.count.kind !== 'send'
  }

  /** The agent did not get the request. */
  unsent (): void {
    if (this.end() && this.count.kind !== 'delete') this.free()
  }

  /** Nobody knows what the agent did: what it may have stored counts. */
  unknown (): void {
    this.responded({ succeeded: null, id: null })
  }

  /** @param body null: too long to read. @returns a promise, which never rejects, when the store needs time */
  read (rpc: boolean, status: number, body: Buffer | null): Promise<unknown> | null {
    return this.responded(readPushResponse(rpc, status, body))
  }

  private responded ({ succeeded, id }: PushResponse): Promise<unknown> | null {
    if (!this.end()) return null
    const { count: { kind, entries } } = this
    if (kind === 'delete') return succeeded === true ? pendingOf(this.change('free', entries, this.token)) : null
    if (succeeded === false && kind === 'create') return this.free()
    const actual = id === null || entries.length !== 1 ? entries : [pushEntryOf([id])]
    // A new token: a delete that began earlier no longer frees the configuration.
    const keeping = pendingOf(this.change('keep', actual, newToken()))
    const freed = actual[0] === entries[0] ? null : this.free()
    return keeping === null ? freed : Promise.all([keeping, freed])
  }

  private free (): Promise<unknown> | null {
    return this.added.length === 0 ? null : pendingOf(this.change('free', this.added, this.token))
  }

  private end (): boolean {
    const first = !this.settled
    this.settled = true
    return first
  }
}

/** A token of a request for its configurations in the store. */
export function newToken (): string {
  return randomBytes(9).toString('base64url')
}
