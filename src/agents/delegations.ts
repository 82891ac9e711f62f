/** `delegation` of the running gateway: the key that signs chains of callers, and the keys of the other gateways. */
import { setTimeout as sleep } from 'node:timers/promises'
import { digest } from '#config/digest.js'
import type { PathProblem } from '#config/diagnostics.js'
import { items, mapping } from '#config/yaml/values.js'
import type { ChainKeysConfig, DelegationConfig } from '#config/model/model.js'
import type { Chain, ChainKey } from '#identity/chain.js'
import { CHAIN_HEADER, chainKeysOf, claimsOfChain, readChain, signChain } from '#identity/chain.js'
import type { JwkSet, VerificationKey } from '#identity/jwk-set.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { Principal } from '#identity/principal.js'
import type { PublicJwk } from '#identity/signing-key.js'
import type { ReadChain } from '#pipeline/access/delegation.js'
import { compileCaller } from '#policy/access/caller.js'
import type { CallerCondition } from '#policy/access/caller.js'
import type { Log } from '#telemetry/log.js'
import { redactAlso } from '#telemetry/redact.js'
import type { JsonObject } from '#wire/json/object.js'
import { FetchedKeySet } from './keys/fetched-key-set.js'
import type { SigningKeys } from './keys/signing-keys.js'
import { keyFileProblems, readKeyFile, readSigningKeys } from './keys/signing-keys.js'

interface DelegationOptions { readonly log: Log, readonly clock?: (() => number) | undefined }

/** Longest wait of a start or reload for the first keys of the other gateways, ms. */
const FIRST_KEYS_MS = 1_000

export class Delegations {
  readonly gateway: string
  /** The public keys of this gateway, for its key set. */
  readonly publicKeys: readonly PublicJwk[]
  readonly #fingerprint: string
  readonly #config: DelegationConfig
  readonly #signing: SigningKeys
  /** Keys of files, with those of this gateway. */
  readonly #fixed: readonly ChainKey[]
  readonly #fetched: readonly GatewayKeys[]
  readonly #isAgent: CallerCondition

  private constructor (config: DelegationConfig, { signing, files, fingerprint }: DelegationFiles, options: DelegationOptions) {
    this.gateway = config.gateway
    redactAlso([CHAIN_HEADER])
    this.publicKeys = signing.published
    this.#fingerprint = fingerprint
    this.#config = config
    this.#signing = signing
    this.#fixed = chainKeysOf([...keysOf(signing.published), ...files])
    this.#fetched = config.keys.flatMap(key => (key.url === null ? [] : [new GatewayKeys(key, key.url, options)]))
    // `check` rejects `match`, which needs a budget of steps.
    this.#isAgent = config.agents === null ? () => false : compileCaller(config.agents, () => () => false)
  }

  /**
   * Reads the key files, and waits a moment for the first keys of new URLs.
   * @returns the previous object when nothing has changed; null without `delegation`
   * @throws Error with a readable message when a file cannot be used
   */
  static async prepare (
    config: DelegationConfig | null,
    previous: Delegations | null,
    options: DelegationOptions
  ): Promise<Delegations | null> {
    if (config === null) return null
    const read = readFiles(config)
    if (previous !== null && previous.#fingerprint === read.fingerprint) return previous
    const next = new Delegations(config, read, options)
    await Promise.race([Promise.all(next.#fetched.map(keys => keys.start())), sleep(FIRST_KEYS_MS, undefined, { ref: false })])
    return next
  }

  /** True for a caller that must say for whom it calls. */
  isAgent (caller: Principal | null): boolean {
    return this.#isAgent(caller)
  }

  /**
   * Verifies the header of a request. Waits only for a key that is not known.
   * @param text the header; undefined for none
   */
  read (text: string | undefined): ReadChain | Promise<ReadChain> {
    if (text === undefined) return null
    const parsedChain = this.#read(text)
    if (!('problem' in parsedChain) || parsedChain.problem !== 'unknown_key' || this.#fetched.length === 0) return parsedChain
    return Promise.all(this.#fetched.map(keys => keys.refresh())).then(() => {
      const again = this.#read(text)
      const isUnknown = 'problem' in again && again.problem === 'unknown_key'
      return isUnknown && this.#fetched.some(keys => keys.failing) ? { problem: 'unavailable' } : again
    })
  }

  /** Returns the claims of a chain of this gateway; null for a chain that is too long. */
  claimsOf (chain: Chain): JsonObject | null {
    return claimsOfChain(chain, this.#config.trustDomain)
  }

  /** Returns the header for the agent. @param claims of `claimsOf` */
  sign (claims: JsonObject): string {
    return signChain(this.#signing.signing, claims, this.#config.ttl, Date.now())
  }

  /** Ends the fetches, unless another configuration goes on with this object. */
  close (next: Delegations | null): void {
    if (next !== this) for (const keys of this.#fetched) keys.close()
  }

  #read (text: string): Exclude<ReadChain, null> {
    const keys = this.#fetched.length === 0 ? this.#fixed : [...this.#fixed, ...this.#fetched.flatMap(({ imported }) => imported)]
    return readChain(text, keys, this.#config.trustDomain, Date.now())
  }
}

interface DelegationFiles {
  readonly signing: SigningKeys
  readonly files: readonly VerificationKey[]
  readonly fingerprint: string
}

function readFiles (config: DelegationConfig): DelegationFiles {
  const signing = readSigningKeys(config, 'delegation')
  const files = config.keys.flatMap(({ file }) => {
    if (file === null) return []
    const set = readKeyFile(file, 'delegation.keys.file', readJwkSet)
    return (set as Exclude<JwkSet, { readonly problem: string }>).keys
  })
  return { signing, files, fingerprint: digest([config, signing.published, files]) }
}

/** Checks the content of the files with keys of other gateways. */
export function unusableChainKeys (value: unknown, baseDir: string): PathProblem[] {
  return items(mapping(mapping(value).delegation).keys).flatMap((key, index) =>
    keyFileProblems(mapping(key).file, ['delegation', 'keys', index, 'file'], {
      baseDir,
      read: bytes => {
        const set = readJwkSet(bytes)
        return 'problem' in set ? set : null
      }
    }))
}

function keysOf (published: readonly PublicJwk[]): readonly VerificationKey[] {
  const set = readJwkSet(Buffer.from(JSON.stringify({ keys: published })))
  return 'problem' in set ? [] : set.keys
}

/** The keys of another gateway, imported when they change. */
class GatewayKeys extends FetchedKeySet {
  #imported: readonly ChainKey[] = NONE
  #from: readonly VerificationKey[] | null = null

  constructor ({ maxStale }: ChainKeysConfig, url: string, { log, clock }: DelegationOptions) {
    super({
      url,
      issuer: url,
      maxStale,
      clock,
      onProblem: problem => {
        if (problem !== null) log.warn({ problem }, 'the keys of another gateway cannot be fetched')
        else log.info({}, 'the keys of another gateway can be fetched again')
      }
    })
  }

  get imported (): readonly ChainKey[] {
    const { current } = this
    if (current !== this.#from) this.#imported = current === null ? NONE : chainKeysOf(current)
    this.#from = current
    return this.#imported
  }
}

const NONE: readonly never[] = []
