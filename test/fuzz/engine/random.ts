/** Numbers from a seed, so that every run can be repeated. */
export class Random {
  #state: number

  /** @param seed any integer */
  constructor (seed: number) {
    this.#state = seed >>> 0
  }

  /** @param bytes content that determines the numbers: a target can make choices without reading them from its input */
  static of (bytes: Buffer): Random {
    let hash = 0x811c9dc5 // FNV-1a
    for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
    return new Random(hash)
  }

  /** An integer from 0 to limit - 1; 0 for a limit of 0. Mulberry32. */
  below (limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296 * limit)
  }

  chance (oneIn: number): boolean {
    return this.below(oneIn) === 0
  }

  pick<T> (from: readonly T[]): T {
    return from[this.below(from.length)] as T
  }

  bytes (length: number): Buffer {
    const out = Buffer.allocUnsafe(length)
    for (let i = 0; i < length; i++) out[i] = this.below(256)
    return out
  }

  shuffled<T> (list: readonly T[]): T[] {
    const out = [...list]
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      ;[out[i], out[j]] = [out[j] as T, out[i] as T]
    }
    return out
  }
}
