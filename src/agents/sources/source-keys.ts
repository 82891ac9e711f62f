/** The keys that may sign the catalog or the cards of a source. */
import { readFileSync } from 'node:fs'
import type { SourceKeysConfig } from '#config/model/model.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { Connections } from '#upstream/bounded-request.js'
import { fetchDocument, issuerPool } from '../keys/keys-fetch.js'

type Keys = { readonly keys: readonly VerificationKey[] } | { readonly problem: string }

export class SourceKeys {
  readonly #config: SourceKeysConfig
  #pool: Connections | null = null
  #last: { readonly keys: readonly VerificationKey[], readonly at: number } | null = null

  constructor (config: SourceKeysConfig) {
    this.#config = config
  }

  /** Reads the keys now. Keys that have been fetched stay in use for `maxStale` while their URL cannot be reached. Never rejects. */
  async read (): Promise<Keys> {
    const { url, file, maxStale } = this.#config
    if (url === null) return fileKeys(file ?? '')
    this.#pool ??= issuerPool()
    const document = await fetchDocument(new URL(url), this.#pool, null)
    const set = 'bytes' in document
      ? readJwkSet(document.bytes)
      : { problem: 'problem' in document ? document.problem : 'responded with 304' }
    if ('keys' in set) {
      this.#last = { keys: set.keys, at: performance.now() }
      return set
    }
    return this.#last !== null && performance.now() - this.#last.at <= maxStale ? this.#last : set
  }

  close (): void {
    this.#pool?.destroy().catch(() => {})
  }
}

function fileKeys (file: string): Keys {
  try {
    const set = readJwkSet(readFileSync(file))
    return 'problem' in set ? { problem: `${file} ${set.problem}` } : set
  } catch (error) {
    return { problem: `${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}` }
  }
}
