/** Owners of tasks and contexts in the memory of this process. The memory is bounded, and empty after a restart. */
import { ownerKey } from './record-key.js'
import type { OwnedName } from './store.js'

interface Entry { readonly owner: string, expires: number }

export class MemoryOwners {
  private readonly now: () => number
  private readonly ttl: number
  private readonly max: number
  /** In order of last use, which is also the order of expiry. No entry therefore needs a timer. */
  private readonly entries = new Map<string, Entry>()

  /**
   * @param now a clock that never goes back, ms
   * @param ttl ms after the last use
   * @param max number of owners at about 250 bytes each; the least recently used is forgotten first
   */
  constructor (now: () => number, ttl: number, max: number) {
    this.now = now
    this.ttl = ttl
    this.max = max
  }

  get size (): number {
    return this.entries.size
  }

  /** As `TaskStore.owners`. */
  owners (agent: string, names: readonly OwnedName[], claim: string | null): readonly (string | null)[] {
    this.sweep()
    return names.map(name => {
      const key = ownerKey(agent, name)
      const owner = this.entries.get(key)?.owner ?? claim
      if (owner === null) return null
      this.entries.delete(key)
      this.entries.set(key, { owner, expires: this.now() + this.ttl })
      if (this.entries.size > this.max) this.forgetOldest()
      return owner
    })
  }

  clear (): void {
    this.entries.clear()
  }

  private forgetOldest (): void {
    const [oldest] = this.entries.keys()
    if (oldest !== undefined) this.entries.delete(oldest)
  }

  private sweep (): void {
    const now = this.now()
    for (const [key, { expires }] of this.entries) {
      if (expires > now) return
      this.entries.delete(key)
    }
  }
}
