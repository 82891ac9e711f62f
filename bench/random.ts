/** Random numbers that repeat for the same seed. */
export class Random {
  private state: number

  constructor (seed: number) {
    this.state = seed >>> 0
  }

  /** A number from 0 (inclusive) to 1 (exclusive) (mulberry32). */
  next (): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let t = this.state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  below (n: number): number {
    return Math.floor(this.next() * n)
  }

  of<T> (values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }
}
