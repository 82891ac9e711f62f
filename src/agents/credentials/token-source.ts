/**
 * The access tokens of one entry of `upstream.credentials.send`, in memory. A token that is known is there at once. One fetch for each key
 * is under way, however many calls wait for it.
 */
import type { TokenResponse } from './token-endpoint.js'

/** A token for the agent. */
export interface HeldToken {
  readonly key: string
  /** The token, a secret. */
  readonly token: string
  /** Milliseconds since the epoch, as `fetchedAt`. */
  readonly until: number
  readonly fetchedAt: number
}

export type Obtained =
  | { readonly kind: 'token', readonly held: HeldToken, readonly cached: boolean }
  /** The authorization server does not accept the token of the caller. */
  | { readonly kind: 'rejected' }
  | { readonly kind: 'unavailable' }

export interface TokenWish {
  /** Names the token and everything that it depends on. */
  readonly key: string
  /** The token is not used after this time: end of the token that was exchanged. Milliseconds since the epoch. */
  readonly end: number
  /** Called for a token that is not known. Never rejects. */
  readonly load: () => Promise<TokenResponse>
}

/** Keys in memory. The token that was fetched first is forgotten first. */
const ENTRIES = 10_000
/** Fetches at once. */
const FETCHES = 1_000
/** A token is not used in the last part of its life, because the agent would get it too late, ms. */
const MARGIN = 30_000
/** First and longest time between two fetches after a failure, ms. It doubles with each failure. */
const RETRY = 1_000
const LONGEST_RETRY = 30_000

const UNAVAILABLE: Obtained = { kind: 'unavailable' }

const WORKS = { count: 0, until: 0, at: -Infinity }

/** Failures in a row. */
interface Trouble { readonly count: number, readonly until: number, readonly result: Obtained }

export class TokenSource {
  private readonly tokens = new Map<string, HeldToken>()
  private readonly pending = new Map<string, Promise<Obtained>>()
  /** Failed fetches, by key. Their results are not used as a cache: after a moment, the next call tries again. */
  private readonly troubles = new Map<string, Trouble>()
  /** Tokens that the agent did not accept, in a row, by key. */
  private readonly unaccepted = new Map<string, number>()
  /** Failures of the endpoint itself in a row, whatever the key, and the time of the last one. */
  private down: { readonly count: number, readonly until: number, readonly at: number } = WORKS
  private readonly now: () => number

  constructor (now: () => number = Date.now) {
    this.now = now
  }

  /** Tokens in memory. */
  get size (): number {
    return this.tokens.size
  }

  get ({ key, end, load }: TokenWish): Obtained | Promise<Obtained> {
    const held = this.tokens.get(key)
    const now = this.now()
    if (held !== undefined) {
      if (now < held.until) return { kind: 'token', held, cached: true }
      this.tokens.delete(key)
    }
    const pending = this.pending.get(key)
    if (pending !== undefined) return pending
    const trouble = this.troubles.get(key)
    if (trouble !== undefined && now < trouble.until) return trouble.result
    if (now < this.down.until || this.pending.size >= FETCHES) return UNAVAILABLE
    const obtained = load().then(response => this.obtained({ key, end }, response, now)).finally(() => { this.pending.delete(key) })
    this.pending.set(key, obtained)
    return obtained
  }

  /**
   * Takes note of the agent's response to a call with a token. After 401, the next call gets a new token. An agent that accepts no token
   * must not cause a fetch with each call, so the time between two fetches doubles until the agent accepts one.
   */
  settled ({ key, token, fetchedAt }: HeldToken, status: number): boolean {
    if (status !== 401) {
      if (status < 400 && this.unaccepted.size > 0) this.unaccepted.delete(key)
      return false
    }
    // Another call may have got a new token in the meantime.
    if (this.tokens.get(key)?.token !== token) return false
    const count = this.unaccepted.get(key) ?? 0
    if (count > 0 && this.now() - fetchedAt < waitAfter(count)) return false
    keep(this.unaccepted, key, count + 1)
    return this.tokens.delete(key)
  }

  /** Takes the tokens of a source with the same settings. */
  inherit (other: TokenSource): void {
    for (const [key, held] of other.tokens) this.tokens.set(key, held)
  }

  /** @param begin time at which the fetch began */
  private obtained ({ key, end }: Pick<TokenWish, 'key' | 'end'>, response: TokenResponse, begin: number): Obtained {
    const now = this.now()
    if (response.kind !== 'token') {
      const { count: before, at } = this.down
      // One lost connection concerns one caller, and fetches that fail together count once.
      if (response.kind === 'failed' && response.down && begin >= at) {
        this.down = { count: before + 1, until: before === 0 ? 0 : now + waitAfter(before), at: now }
      }
      const count = (this.troubles.get(key)?.count ?? 0) + 1
      const result: Obtained = response.kind === 'rejected' ? { kind: 'rejected' } : UNAVAILABLE
      keep(this.troubles, key, { count, until: now + waitAfter(count), result })
      return result
    }
    this.troubles.delete(key)
    this.down = WORKS
    const held = { key, token: response.token, until: Math.min(now + response.lifetime - MARGIN, end), fetchedAt: now }
    if (now < held.until) keep(this.tokens, key, held)
    return { kind: 'token', held, cached: false }
  }
}

function waitAfter (count: number): number {
  return Math.min(RETRY * 2 ** (count - 1), LONGEST_RETRY)
}

function keep<T> (map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > ENTRIES) map.delete(map.keys().next().value ?? '')
}
