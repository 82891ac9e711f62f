/** The keys of an issuer, as the sources of tokens see them: fetched in the background, counted and logged. */
import type { JwtConfig } from '#config/model/identity-model.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import type { Keys } from '#identity/jwt-source.js'
import { issuerPool } from '../keys/keys-fetch.js'
import { KeysSource } from '../keys/keys-source.js'
import type { Attributes } from '#telemetry/traces/span.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { Tracing } from '#telemetry/traces/tracing.js'

export interface IdentityOptions {
  readonly metrics: Metrics
  readonly log: Log
  readonly tracing?: Tracing | undefined
  /** As in {@link KeysSourceOptions}. */
  readonly clock?: (() => number) | undefined
}

export class IssuerKeys implements Keys {
  private keys: readonly VerificationKey[] | null = null
  private readonly source: KeysSource
  private readonly pool: ReturnType<typeof issuerPool>

  /** @param ca authorities of the issuer in PEM; null: those of the system */
  constructor (name: string, config: JwtConfig, { metrics, log, tracing, clock }: IdentityOptions, ca: Buffer | null = null) {
    const { issuer, keys: { url, maxStale } } = config
    let last: string | null = null
    this.pool = issuerPool(ca)
    this.source = new KeysSource({
      url,
      issuer,
      maxStale,
      dispatcher: this.pool,
      clock,
      accept: bytes => this.accept(bytes),
      trace: tracing === undefined ? undefined : url => tracing.startFetch('IssuerKeys', attributesOf(name, url)),
      onRefresh: (outcome, problem) => {
        metrics.keyRefresh(name, outcome)
        if (problem !== null && problem !== last) log.warn({ source: name, problem }, 'the keys of an issuer cannot be fetched')
        else if (problem === null && last !== null) log.info({ source: name }, 'the keys of an issuer can be fetched again')
        last = problem
      }
    })
  }

  get current (): readonly VerificationKey[] | null {
    return this.source.usable ? this.keys : null
  }

  get failing (): boolean {
    return this.source.problem !== null
  }

  get problem (): string | null {
    return this.source.problem
  }

  /** Seconds since the last successful fetch. */
  get age (): number | null {
    return this.source.age
  }

  start (): Promise<void> {
    return this.source.start()
  }

  refresh (): Promise<void> {
    return this.source.refreshForUnknown()
  }

  close (): void {
    this.source.close()
    this.pool.destroy().catch(() => {})
  }

  private accept (bytes: Buffer): { readonly problem: string } | { readonly changed: boolean } {
    const set = readJwkSet(bytes)
    if ('problem' in set) return set
    const changed = identityOf(set.keys) !== identityOf(this.keys ?? [])
    if (changed) this.keys = set.keys
    return { changed }
  }
}

function attributesOf (source: string, { protocol, hostname, port, pathname }: URL): Attributes {
  return {
    'a2a_gateway.caller.source': source,
    'http.request.method': 'GET',
    'url.scheme': protocol.slice(0, -1),
    'url.path': pathname,
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  }
}

function identityOf (keys: readonly VerificationKey[]): string {
  return JSON.stringify(keys.map(({ kid, thumbprint, algorithms }) => [kid, thumbprint, algorithms]))
}
