/** A JSON Web Key Set at a URL, fetched in the background: the keys of issuers, of signers of cards, and of other gateways. */
import { readJwkSet } from '#identity/jwk-set.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import { issuerPool } from './keys-fetch.js'
import type { KeysSourceOptions } from './keys-source.js'
import { KeysSource } from './keys-source.js'

export interface FetchedKeySetOptions extends Pick<KeysSourceOptions, 'url' | 'issuer' | 'maxStale' | 'trace' | 'clock'> {
  /** Authorities of the server in PEM; null or absent: those of the system. */
  readonly ca?: Buffer | null
  readonly onRefresh?: (outcome: 'changed' | 'unchanged' | 'failed') => void
  /** Called when the reason of the failures changes. Null: the keys can be fetched again. */
  readonly onProblem: (problem: string | null) => void
}

export class FetchedKeySet {
  #keys: readonly VerificationKey[] | null = null
  #identity = ''
  #reported: string | null = null
  readonly #source: KeysSource
  readonly #pool: ReturnType<typeof issuerPool>

  constructor ({ ca = null, onRefresh, onProblem, ...options }: FetchedKeySetOptions) {
    this.#pool = issuerPool(ca)
    this.#source = new KeysSource({
      ...options,
      dispatcher: this.#pool,
      accept: bytes => this.#accept(bytes),
      onRefresh: (outcome, problem) => {
        onRefresh?.(outcome)
        if (problem !== this.#reported) onProblem(problem)
        this.#reported = problem
      }
    })
  }

  /** The same list until the keys change. Null: none have been fetched, or they are older than `maxStale`. */
  get current (): readonly VerificationKey[] | null {
    return this.#source.usable ? this.#keys : null
  }

  get failing (): boolean {
    return this.#source.problem !== null
  }

  /** Why the last fetch failed; null after a success. */
  get problem (): string | null {
    return this.#source.problem
  }

  /** Seconds since the last successful fetch. */
  get age (): number | null {
    return this.#source.age
  }

  /** @returns when the first attempt has ended */
  start (): Promise<void> {
    return this.#source.start()
  }

  /** Fetches for a key that is not known, at most as often as {@link KeysSource} allows. */
  refresh (): Promise<void> {
    return this.#source.refreshForUnknown()
  }

  close (): void {
    this.#source.close()
    this.#pool.destroy().catch(() => {})
  }

  #accept (bytes: Buffer): { readonly problem: string } | { readonly changed: boolean } {
    const set = readJwkSet(bytes)
    if ('problem' in set) return set
    const identity = JSON.stringify(set.keys.map(({ kid, thumbprint, algorithms }) => [kid, thumbprint, algorithms]))
    const changed = identity !== this.#identity
    this.#identity = identity
    if (changed) this.#keys = set.keys
    return { changed }
  }
}
