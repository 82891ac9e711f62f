/** A call that holds more than this is large, bytes. */
const LARGE = 1024 * 1024
/** Share of the budget that several large calls may fill together. The rest is for small calls, whatever large calls do. */
const LARGE_SHARE = 0.75

/** Bytes of bodies that the process holds: requests from their first byte to the end of the exchange, and responses that are read whole. */
export class MemoryBudget {
  /** `limits.memory`. A lower limit does not release bytes that are already held. */
  limit: number
  held = 0

  /** @param limit bytes */
  constructor (limit: number) {
    this.limit = limit
  }

  /**
   * Reserves bytes. Each `true` is followed by a `give` of the same number.
   * @param own bytes that the same call has reserved already
   * @returns false when no room is left
   */
  reserve (bytes: number, own = 0): boolean {
    const isLarge = own + bytes > LARGE && this.held > own
    if (this.held + bytes > (isLarge ? this.limit * LARGE_SHARE : this.limit)) return false
    this.held += bytes
    return true
  }

  /** Counts bytes that nobody can refuse. A `give` of the same number follows. */
  add (bytes: number): void {
    this.held += bytes
  }

  release (bytes: number): void {
    this.held -= bytes
  }
}
