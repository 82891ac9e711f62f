/**
 * Queue of one agent's calls that wait for a connection. The pool has its own queue, but its entries never time out: an abandoned call
 * stays there with its body until a connection is free. A call is therefore passed to the pool only while the pool has room.
 */
import { BACKGROUND, guarded, listen } from '#guard.js'

/** A call that has not begun. Its methods never throw. */
export interface Waiter {
  /** @returns false when the pool has no room for another call */
  begin (): boolean
  /** Called when the call has waited for too long. */
  expired (): void
}

/**
 * The part of a ConnectionPool that the queue needs. Its `dispatch` returns false when the pool is full, and it emits `drain` when it has
 * room again.
 */
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
    listen(BACKGROUND, pool, 'drain', () => {
      this.full = false
      this.admit()
    })
  }

  /** Begins the call now, or later in order. No timer is needed while the pool has room. */
  beginOrWait (waiter: Waiter): void {
    if (!this.full) {
      this.full = !waiter.begin()
      return
    }
    this.waiting.set(waiter, setTimeout(guarded(BACKGROUND, () => {
      this.waiting.delete(waiter)
      waiter.expired()
    }), this.timeout))
  }

  /** Lets calls wait from now on: the pool has lost its room, and will emit `drain` when it has room again. */
  markFull (): void {
    this.full = true
  }

  /** Removes a waiting call. Does nothing for a call that does not wait. */
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
