/**
 * The calls of one agent that wait for a connection. undici has a queue of its own, but nothing in it ever gives up: what was abandoned stays,
 * body and all, until a connection is free. So a call is handed to undici only while the pool has room.
 */

/** A call, not yet begun. */
export interface Waiter {
  /** @returns false when the pool has no room for another */
  begin (): boolean
  /** It has waited for too long. */
  expired (): void
}

/** What is needed of undici's Pool, whose `dispatch` returns false, and which emits `drain` when it has room again. */
interface Room {
  on (event: 'drain', listener: () => void): unknown
}

export class ConnectionQueue {
  private readonly timeout: number
  private readonly waiting = new Map<Waiter, NodeJS.Timeout>()
  private full = false

  /** @param timeout ms */
  constructor (pool: Room, timeout: number) {
    this.timeout = timeout
    pool.on('drain', () => {
      this.full = false
      this.admit()
    })
  }

  /** Begins now, or in turn. No timer is needed while there is room. */
  pass (waiter: Waiter): void {
    if (!this.full) {
      this.full = !waiter.begin()
      return
    }
    this.waiting.set(waiter, setTimeout(() => {
      this.waiting.delete(waiter)
      waiter.expired()
    }, this.timeout))
  }

  /** Does nothing for one that does not wait. */
  leave (waiter: Waiter): void {
    const timer = this.waiting.get(waiter)
    if (timer === undefined) return
    clearTimeout(timer)
    this.waiting.delete(waiter)
  }

  private admit (): void {
    for (const [waiter, timer] of this.waiting) {
      if (this.full) return
      clearTimeout(timer)
      this.waiting.delete(waiter)
      this.full = !waiter.begin()
    }
  }
}
