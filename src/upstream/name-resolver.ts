/**
 * Resolves names of hosts that clients write into requests (`push.resolve`). Nothing is dialled.
 *
 * `dns.lookup` reads what an agent on the same machine reads: the hosts file, search domains, DNS. Each look-up occupies a thread of the
 * pool that Node also uses for files and cryptography, so few run at once.
 */
import dns from 'node:dns'
import { BACKGROUND, guarded } from '#guard.js'

/** Milliseconds that a request waits. The look-up itself may take longer, and its result then serves later requests. */
const TIMEOUT = 2_000
/** Milliseconds for which addresses are known; failures are known for a shorter time. */
const KNOWN = 30_000
const FAILED = 2_000
/** Names that are remembered; the oldest goes first. */
const MAX_NAMES = 1_000
/** Look-ups that run at once: half of the threads that Node has by default. */
const MAX_RUNNING = 2
/** Names that wait for a look-up. */
const MAX_WAITING = 100

type Addresses = readonly string[] | null

export class NameResolver {
  private readonly known = new Map<string, { readonly addresses: Addresses, readonly until: number }>()
  /** Look-ups that run or wait, one for each name. */
  private readonly pending = new Map<string, Promise<Addresses>>()
  private readonly waiting: (() => void)[] = []
  private running = 0

  /** @returns null when the name does not resolve, or not in time. Never rejects. */
  async resolve (name: string): Promise<Addresses> {
    const entry = this.known.get(name)
    if (entry !== undefined && entry.until > performance.now()) return entry.addresses
    const pending = this.pending.get(name) ?? this.begin(name)
    if (pending === null) return null
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<null>(resolve => { timer = setTimeout(guarded(BACKGROUND, () => { resolve(null) }), TIMEOUT) })
    return await Promise.race([pending, late]).finally(() => { clearTimeout(timer) })
  }

  /** @returns null when too many names wait */
  private begin (name: string): Promise<Addresses> | null {
    if (this.waiting.length >= MAX_WAITING) return null
    const lookup = new Promise<Addresses>(resolve => {
      const run = (): void => {
        this.running++
        dns.lookup(name, { all: true, verbatim: true }, (error, addresses) => {
          this.running--
          this.waiting.shift()?.()
          resolve(error === null ? addresses.map(({ address }) => address) : null)
        })
      }
      if (this.running < MAX_RUNNING) run()
      else this.waiting.push(run)
    }).then(addresses => {
      this.pending.delete(name)
      this.known.delete(name)
      this.known.set(name, { addresses, until: performance.now() + (addresses === null ? FAILED : KNOWN) })
      const [oldest] = this.known.keys()
      if (this.known.size > MAX_NAMES && oldest !== undefined) this.known.delete(oldest)
      return addresses
    })
    this.pending.set(name, lookup)
    return lookup
  }
}
