/**
 * Verifications for addresses whose failures are beyond a limit. Anybody can forge a token whose header, key and claims are plausible, so
 * only a verification tells a caller who renews a token from a flood at the same address. The verifications have a rate, and tokens wait
 * for their turn: the CPU is bounded, and valid tokens come through.
 */
import { RecentMap } from '#wire/recent-map.js'

/** Verifications in a second, in this process: about 8% of a core at 320 µs each. */
const RATE = 250
/** Tokens that may wait in each of the two lanes. With half of the rate, the last one waits for one second. */
const ROOM = RATE / 2
/** Time between two turns, ms. */
const TICK = 4
/** Verifications after a pause. */
const BURST = 10
/** Subjects in memory. */
const SUBJECTS = 20_000

interface Waiting { readonly enter: (admitted: boolean) => void }

/** Tokens that wait, in a fair order: each address has its turn. */
class Lane {
  readonly #byAddress = new Map<string, Waiting[]>()
  size = 0

  /** Adds a token. Without room, a random token of the address with the most tokens loses its place, which may be the new one. */
  add (address: string, waiting: Waiting): void {
    const list = this.#byAddress.get(address)
    if (list === undefined) this.#byAddress.set(address, [waiting])
    else list.push(waiting)
    if (++this.size > ROOM) this.#drop()
  }

  next (): Waiting | null {
    for (const [address, list] of this.#byAddress) {
      const first = list.shift()
      // The address goes to the end.
      this.#byAddress.delete(address)
      if (list.length > 0) this.#byAddress.set(address, list)
      if (first === undefined) continue
      this.size--
      return first
    }
    return null
  }

  #drop (): void {
    let longest = ''
    let length = 0
    for (const [address, list] of this.#byAddress) {
      if (list.length <= length) continue
      longest = address
      length = list.length
    }
    const list = this.#byAddress.get(longest)
    const [dropped] = list?.splice(Math.floor(Math.random() * length), 1) ?? []
    if (list?.length === 0) this.#byAddress.delete(longest)
    this.size--
    dropped?.enter(false)
  }
}

export class VerificationQueue {
  /** Tokens of subjects that had a valid token before. */
  readonly #known = new Lane()
  readonly #others = new Lane()
  readonly #subjects = new RecentMap<true>(SUBJECTS)
  #knownNext = true
  #credit = BURST
  #since = performance.now()
  #timer: NodeJS.Timeout | null = null

  /** Number of tokens that wait. */
  get size (): number {
    return this.#known.size + this.#others.size
  }

  /** Notes the subject of a valid token. */
  note (issuer: string, subject: string): void {
    this.#subjects.set(keyOf(issuer, subject), true)
  }

  /**
   * Resolves when the token may be verified, after one second at most.
   * @param address network of the client
   * @returns false when more tokens wait than the queue has room for
   */
  enter (address: string, issuer: string, subject: string): Promise<boolean> {
    const lane = this.#subjects.get(keyOf(issuer, subject)) === undefined ? this.#others : this.#known
    return new Promise(resolve => {
      lane.add(address, { enter: resolve })
      this.#admit()
    })
  }

  #admit (): void {
    const now = performance.now()
    this.#credit = Math.min(BURST, this.#credit + (now - this.#since) * RATE / 1_000)
    this.#since = now
    while (this.#credit >= 1) {
      // The lanes alternate, so that a flood in one of them leaves half of the rate to the other.
      const [first, second] = this.#knownNext ? [this.#known, this.#others] : [this.#others, this.#known]
      const next = first.next() ?? second.next()
      if (next === null) return
      this.#knownNext = !this.#knownNext
      this.#credit--
      next.enter(true)
    }
    if (this.size === 0) return
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.#admit()
    }, TICK)
  }
}

function keyOf (issuer: string, subject: string): string {
  return `${issuer}\n${subject}`
}

/** The queue of this process: the CPU belongs to all sources and listeners together. */
export const verificationQueue = new VerificationQueue()
