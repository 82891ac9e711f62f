/** Bytes of bodies that the process holds: requests from their first byte to the end of the exchange, and responses that are read whole. */
export class MemoryBudget {
  /** `limits.memory`. A lower limit does not release bytes that are already held. */
  limit: number
  held = 0

  /** @param limit bytes */
  constructor (limit: number) {
    this.limit = limit
  }

  /** Reserves bytes. Each `true` is followed by a `give` of the same number. @returns false when no room is left */
  take (bytes: number): boolean {
    if (this.held + bytes > this.limit) return false
    this.held += bytes
    return true
  }

  give (bytes: number): void {
    this.held -= bytes
  }
}
