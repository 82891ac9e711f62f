/** Limits with several processes: the primary counts for all workers. */
import type { LimitKey, LimitStore, Spending, Taken } from '#state/limits/limit-store.js'
import { MemoryLimits } from '#state/limits/memory-limits.js'
import type { ToPrimary } from './messages.js'

export type LimitQuestion = ToPrimary & { readonly kind: 'limit' }

/** Milliseconds that a worker waits for the primary. After that, the worker counts for itself. */
const PATIENCE = 1_000

/** The counts in the primary. */
export class KeptLimits {
  private readonly counts = new MemoryLimits()

  /** @returns null when the worker expects no response */
  response ({ take, release, spend }: LimitQuestion): Taken | null {
    if (spend.length > 0) this.counts.spend(spend)
    if (release.length > 0) this.counts.release(release)
    return take.length > 0 ? this.counts.take(take) : null
  }
}

const NO_CHANGES = { take: [], release: [], spend: [] } as const

/** The counts as a worker sees them. */
export class RemoteLimits implements LimitStore {
  /** @returns false when the message cannot be sent to the primary */
  private readonly send: (question: LimitQuestion) => boolean
  private readonly waiting = new Map<number, (taken: Taken | null) => void>()
  private lastId = 0

  constructor (send: (question: LimitQuestion) => boolean) {
    this.send = send
  }

  take (take: readonly LimitKey[]): Promise<Taken | null> {
    return new Promise(resolve => {
      const id = ++this.lastId
      const timer = setTimeout(() => { this.settled(id, null) }, PATIENCE)
      this.waiting.set(id, taken => {
        this.waiting.delete(id)
        clearTimeout(timer)
        resolve(taken)
      })
      if (!this.send({ ...NO_CHANGES, kind: 'limit', id, take })) this.settled(id, null)
    })
  }

  release (release: readonly LimitKey[]): void {
    this.send({ ...NO_CHANGES, kind: 'limit', id: 0, release })
  }

  spend (spend: readonly Spending[]): boolean {
    return this.send({ ...NO_CHANGES, kind: 'limit', id: 0, spend })
  }

  /** Does nothing: the primary counts on. */
  async close (): Promise<void> {}

  settled (id: number, taken: Taken | null): void {
    this.waiting.get(id)?.(taken)
  }

  /** Settles all waiting questions with null. Called when the primary is gone. */
  lost (): void {
    for (const id of [...this.waiting.keys()]) this.settled(id, null)
  }
}
