/** Bytes of bodies that the process holds: requests from their first byte to the end of the exchange, answers that are read whole. */
export class MemoryBudget {
  /** `limits.memory`; what is held when it is lowered stays. */
  limit: number
  held = 0

  /** @param limit bytes */
  constructor (limit: number) {
    this.limit = limit
  }

  /** Each `true` is followed by a `give` of as many. @returns false when there is no room */
  take (bytes: number): boolean {
    if (this.held + bytes > this.limit) return false
    this.held += bytes
    return true
  }

  give (bytes: number): void {
    this.held -= bytes
  }
}
