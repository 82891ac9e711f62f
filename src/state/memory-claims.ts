/** Claimed values in the memory of this process. The memory is bounded, and empty after a restart. */
import type { Claimed } from '#policy/request/claims.js'
import type { ClaimKey } from './store.js'

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
