/**
 * Keeps the keys of an issuer fresh, in the background. A call waits for a fetch only when its token names a key that is not known. Keys
 * stay in use while the issuer cannot be reached, for `maxStale`.
 */
import type { Dispatcher } from 'undici'
import { BACKGROUND, guarded } from '#guard.js'
import type { FetchTrace } from './keys-fetch.js'
import { discover, fetchDocument } from './keys-fetch.js'

export interface KeysSourceOptions {
  /** Null: the address is in the metadata of the issuer. */
  readonly url: string | null
  readonly issuer: string
  /** Milliseconds for which keys stay in use without a successful fetch. */
  readonly maxStale: number
  readonly dispatcher: Dispatcher
  /** Puts fetched keys in force. @returns the problem of a set that cannot be used; true when the set has changed */
  readonly accept: (bytes: Buffer) => { readonly problem: string } | { readonly changed: boolean }
  readonly onRefresh: (outcome: 'changed' | 'unchanged' | 'failed', problem: string | null) => void
  readonly trace?: FetchTrace | undefined
  /** Milliseconds of a clock that never steps back. Default: performance.now(). */
  readonly clock?: (() => number) | undefined
}

const MINUTE = 60_000
/** Time between two fetches where the response does not say, ms. */
const INTERVAL = 10 * MINUTE
/** Keycloak sends `no-cache` with its keys, so a minimum is necessary. */
const MIN_LIFETIME_MS = MINUTE
const MAX_LIFETIME_MS = 60 * MINUTE
/** First and longest time between two attempts after a failure, and between two fetches for unknown keys, ms. */
const RETRY = 5_000
const LONGEST_RETRY = MINUTE
/** Longest wait of a call for a fetch, ms, and number of calls that wait at once. */
const PATIENCE = 2_000
const WAITING = 64

export class KeysSource {
  /** The reason why the last attempt failed; null after a success. */
  problem: string | null = 'the keys have not been fetched yet'
  private readonly options: KeysSourceOptions
  private readonly now: () => number
  /** Time of the last successful fetch, ms of the clock; null before the first. */
  private fetchedAt: number | null = null
  private etag: string | null = null
  private url: URL | null
  private fetching: Promise<void> | null = null
  private timer: NodeJS.Timeout | null = null
  private failures = 0
  private waiting = 0
  /** No fetch for an unknown key before this time. */
  private unknownFrom = 0
  private unknownWait = RETRY
  private closed = false

  constructor (options: KeysSourceOptions) {
    this.options = options
    this.now = options.clock ?? (() => performance.now())
    this.url = options.url === null ? null : new URL(options.url)
  }

  /** Fetches now, and keeps the keys fresh. @returns when the first attempt has ended */
  start (): Promise<void> {
    return this.refresh()
  }

  get usable (): boolean {
    return this.fetchedAt !== null && this.now() - this.fetchedAt <= this.options.maxStale
  }

  /** Seconds since the last successful fetch. */
  get age (): number | null {
    return this.fetchedAt === null ? null : (this.now() - this.fetchedAt) / 1_000
  }

  /** Fetches because of an unknown key. Unknown keys may be made up, so the time between two fetches grows while they go on. */
  async refreshForUnknown (): Promise<void> {
    const now = this.now()
    if (this.fetching === null) {
      if (now < this.unknownFrom || this.closed) return
      this.unknownFrom = now + this.unknownWait
      this.unknownWait = Math.min(this.unknownWait * 2, LONGEST_RETRY)
    }
    if (this.waiting >= WAITING) return
    this.waiting++
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>(resolve => { timer = setTimeout(guarded(BACKGROUND, resolve), PATIENCE) })
    await Promise.race([this.refresh(), patience])
    clearTimeout(timer)
    this.waiting--
  }

  close (): void {
    this.closed = true
    if (this.timer !== null) clearTimeout(this.timer)
  }

  private refresh (): Promise<void> {
    this.fetching ??= this.attempt().finally(() => { this.fetching = null })
    return this.fetching
  }

  private async attempt (): Promise<void> {
    const { accept, onRefresh } = this.options
    const loaded = await this.load()
    if (this.closed) return
    if ('problem' in loaded) return this.failed(loaded.problem)
    let changed = false
    if ('bytes' in loaded) {
      const accepted = accept(loaded.bytes)
      if ('problem' in accepted) return this.failed(`${this.url?.href ?? ''} ${accepted.problem}`)
      this.etag = loaded.etag
      changed = accepted.changed
    }
    if (changed) this.unknownWait = RETRY
    this.failures = 0
    this.problem = null
    this.fetchedAt = this.now()
    onRefresh(changed ? 'changed' : 'unchanged', null)
    const lifetime = Math.min(Math.max(loaded.lifetime ?? INTERVAL, MIN_LIFETIME_MS), MAX_LIFETIME_MS)
    // Replicas must not fetch at the same moment.
    this.schedule(lifetime * (0.9 + Math.random() * 0.2))
  }

  private async load (): Promise<Awaited<ReturnType<typeof fetchDocument>>> {
    const { issuer, dispatcher, trace } = this.options
    if (this.url === null) {
      const metadata = await discover(issuer, dispatcher, trace)
      if ('problem' in metadata) return { problem: metadata.problem, status: null }
      this.url = metadata.url
    }
    return fetchDocument(this.url, dispatcher, this.etag, trace)
  }

  private failed (problem: string): void {
    this.problem = problem
    // The issuer may have moved its keys.
    if (this.options.url === null) this.url = null
    this.etag = null
    this.options.onRefresh('failed', problem)
    this.schedule(Math.min(RETRY * 2 ** this.failures++, LONGEST_RETRY))
  }

  private schedule (milliseconds: number): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = setTimeout(guarded(BACKGROUND, () => { this.refresh().catch(() => {}) }), milliseconds).unref()
  }
}
