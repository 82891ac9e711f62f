/** Authentication of the running gateway: the sources of `identity`, with the contents of their files and the keys of their issuers. */
import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { digest } from '#config/digest.js'
import { fileErrorText } from '#config/describe.js'
import { readKeyFile } from '#config/key-file.js'
import type { ApiKeyConfig, IdentityConfig, JwtConfig, KeyEntry, SourceConfig } from '#config/model/model.js'
import type { Carrier, Source } from '#identity/authentication.js'
import { ApiKeys, BasicKeys } from '#identity/api-keys.js'
import { Authenticator } from '#identity/authenticator.js'
import { CertificateSource } from '#identity/certificate/certificate-source.js'
import { headersOf } from '#identity/credentials.js'
import { EnvoyJwtSource } from '#identity/envoy-jwt.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { Keys } from '#identity/jwt-source.js'
import { JwtSource } from '#identity/jwt-source.js'
import { actorsOf } from '#identity/actors.js'
import type { Principal } from '#identity/principal.js'
import { redactAlso } from '#telemetry/redact.js'
import { readTlsFiles } from '#upstream/tls.js'
import { FailureLog } from './failure-log.js'
import type { Requirement } from '#identity/schemes.js'
import { OperatorError } from '#operator-errors.js'
import { FetchedKeySet } from '../keys/fetched-key-set.js'
import type { Attributes } from '#telemetry/traces/span.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { Tracing } from '#telemetry/traces/tracing.js'

export interface DescribedCaller {
  readonly source: string
  /** All sources, if there are several. */
  readonly sources?: readonly string[]
  readonly id: string
  readonly client?: string
  readonly tenant?: string
  /** Ids of those who act for the caller, the current actor first (RFC 8693 §4.1). */
  readonly act?: readonly string[]
}

/** A source, and what it is made of. A reload keeps a source that has not changed, with its keys and its verified tokens. */
interface Prepared {
  readonly source: Source | CertificateSource
  readonly fingerprint: string
  /** Null for sources without an issuer, and for keys from a file. */
  readonly keys: IssuerKeys | null
}

/** Environment variable that hands the key of digests from the primary to its workers. */
const DIGEST_KEY = 'A2A_GATEWAY_IDENTITY_DIGEST_KEY'
/** Longest wait of a start or reload for the first keys of an issuer, ms. */
const FIRST_KEYS_MS = 1_000

export class Identity {
  readonly authenticator: Authenticator
  /** Names of request headers that carry credentials, for `Vary`. */
  readonly headers: readonly string[]
  readonly failures: FailureLog
  /** Bounds the log lines of the requests whose authentication failed. */
  readonly failedRequests: FailureLog
  /** Issuers of access tokens, by source. */
  private readonly issuers: ReadonlyMap<string, string>
  private readonly prepared: ReadonlyMap<string, Prepared>
  private readonly audit: IdentityConfig['audit']
  private readonly described = new WeakMap<Principal, DescribedCaller>()

  private constructor (config: IdentityConfig, prepared: ReadonlyMap<string, Prepared>, previous: Identity | null) {
    this.prepared = prepared
    this.audit = config.audit
    const sources = [...prepared.values()].map(({ source }) => source)
    this.authenticator = new Authenticator(
      sources.flatMap(source => (source instanceof CertificateSource ? [] : [source])),
      sources.filter(source => source instanceof CertificateSource)
    )
    const { carriers } = this.authenticator
    // No field of a log line has a name with a hyphen, so no field loses its value.
    redactAlso(carriers.flatMap(({ in: place, name }) => ((place === 'header' || place === 'metadata') && name.includes('-')
      ? [name]
      : [])))
    this.headers = headersOf(carriers)
    this.failures = previous?.failures ?? new FailureLog()
    this.failedRequests = previous?.failedRequests ?? new FailureLog()
    const tokens = [...prepared].flatMap(([name, { source }]) =>
      source instanceof JwtSource || source instanceof EnvoyJwtSource ? [[name, source.issuer] as const] : [])
    this.issuers = new Map(tokens)
  }

  /** Issuers of the access tokens that a requirement accepts, for the metadata of RFC 9728. Null: of all. */
  issuersFor (requirement: Requirement | null): string[] {
    const accepts = (name: string): boolean => requirement === null || requirement.alternatives.some(names => names.includes(name))
    return [...new Set([...this.issuers].filter(([name]) => accepts(name)).map(([, issuer]) => issuer))]
  }

  /**
   * Reads the files of the sources, and waits a moment for the first keys of new issuers.
   * @returns the previous identity when nothing has changed
   * @throws Error with a readable message when a file cannot be used
   */
  static async prepare (config: IdentityConfig | null, previous: Identity | null, options: IdentityOptions): Promise<Identity | null> {
    if (config === null) return null
    // All files are read before any source is made, because any file may be unusable.
    const contents = new Map(keyFilesOf(config).map(file => [file, entriesOf(file)]))
    const sets = new Map(jwkFilesOf(config).map(file => [file, keySetOf(file)]))
    const authorities = new Map(authorityFilesOf(config).map(file => [file, authoritiesOf(file)]))
    const prepared = new Map(Object.entries(config.sources).map(([name, source]): [string, Prepared] => {
      const inFiles = filesOf(source).map(file => contents.get(file) ?? sets.get(file) ?? authorities.get(file)?.toString())
      const fingerprint = digest([source, inFiles])
      const predecessor = previous?.prepared.get(name)
      if (predecessor?.fingerprint === fingerprint) return [name, predecessor]
      return [name, { fingerprint, ...sourceOf(name, source, { contents, sets, authorities }, options) }]
    }))
    const same = previous !== null && previous.audit === config.audit && previous.prepared.size === prepared.size &&
      [...prepared].every(([name, source]) => previous.prepared.get(name) === source)
    if (same) return previous
    const next = new Identity(config, prepared, previous)
    await next.startKeys(previous)
    return next
  }

  /** The caller as log lines, audit lines and spans name it. */
  describe (principal: Principal): DescribedCaller {
    let description = this.described.get(principal)
    if (description === undefined) {
      const { source, sources, subject, client, tenant } = principal
      const named = this.audit === 'subject'
      const idOf = (subject: string): string => (named ? subject : idIn(source, subject))
      const act = actorsOf(principal).map(idOf)
      description = {
        source,
        ...(sources.length === 1 ? {} : { sources }),
        id: idOf(subject),
        ...(client === null || !named ? {} : { client }),
        ...(tenant === null ? {} : { tenant }),
        ...(act.length === 0 ? {} : { act })
      }
      this.described.set(principal, description)
    }
    return description
  }

  /** The reasons why tokens of an issuer cannot be verified, in words for an operator. */
  get problems (): string[] {
    return [...this.prepared].flatMap(([name, { keys }]) =>
      keys === null || keys.current !== null ? [] : [`identity source ${name}: ${keys.problem ?? 'its keys are too old'}`]
    )
  }

  /** What metrics read of each source with keys of an issuer, at each scrape: the age of the keys in seconds, and the cached tokens. */
  get issuerGauges (): readonly { readonly name: string, readonly age: () => number | null, readonly tokens: () => number }[] {
    return [...this.prepared].flatMap(([name, { source, keys }]) =>
      source instanceof JwtSource ? [{ name, age: () => keys?.age ?? null, tokens: () => source.remembered }] : []
    )
  }

  /** Ends the fetches for issuers that another identity does not have. */
  close (next: Identity | null): void {
    const keySets = new Set(next === null ? [] : [...next.prepared.values()].map(({ keys }) => keys))
    for (const { keys } of this.prepared.values()) if (keys !== null && !keySets.has(keys)) keys.close()
    if (next !== null) return
    this.failures.flush()
    this.failedRequests.flush()
  }

  private async startKeys (previous: Identity | null): Promise<void> {
    const keySets = new Set(previous === null ? [] : [...previous.prepared.values()].map(({ keys }) => keys))
    const fresh = [...this.prepared.values()].flatMap(({ keys }) => (keys === null || keySets.has(keys) ? [] : [keys]))
    if (fresh.length === 0) return
    await Promise.race([Promise.all(fresh.map(keys => keys.start())), sleep(FIRST_KEYS_MS, undefined, { ref: false })])
  }
}

/** An id that is the same for one caller of a source, whatever the token, and that reveals nothing. */
function idIn (source: string, subject: string): string {
  return createHmac('sha256', digestKey()).update(JSON.stringify([source, subject])).digest('base64url').slice(0, 22)
}

interface Files {
  readonly contents: ReadonlyMap<string, readonly KeyEntry[]>
  readonly sets: ReadonlyMap<string, Keys & { readonly current: NonNullable<Keys['current']> }>
  /** Certificates of authorities, in PEM. */
  readonly authorities: ReadonlyMap<string, Buffer>
}

function sourceOf (
  name: string,
  { apiKey, basic, jwt, envoyJwt, certificate }: SourceConfig,
  { contents, sets, authorities }: Files,
  options: IdentityOptions
): Omit<Prepared, 'fingerprint'> {
  if (certificate !== undefined) return { source: new CertificateSource(name, certificate), keys: null }
  if (envoyJwt !== undefined) return { source: new EnvoyJwtSource(name, envoyJwt), keys: null }
  if (jwt !== undefined) {
    const fixed = jwt.keys.file === null ? undefined : sets.get(jwt.keys.file)
    if (fixed !== undefined) return { source: new JwtSource(name, jwt, fixed), keys: null }
    const keys = new IssuerKeys(name, jwt, options, jwt.tls.ca === null ? null : authorities.get(jwt.tls.ca))
    return { source: new JwtSource(name, jwt, keys), keys }
  }
  if (apiKey !== undefined) return { source: new ApiKeys(name, carrierOf(apiKey), contents.get(apiKey.keys.file) ?? []), keys: null }
  return { source: new BasicKeys(name, contents.get(basic?.keys.file ?? '') ?? []), keys: null }
}

function filesOf ({ apiKey, basic, jwt }: SourceConfig): string[] {
  return [apiKey?.keys.file, basic?.keys.file, jwt?.keys.file, jwt?.tls.ca].filter(file => typeof file === 'string')
}

/** Absolute paths of the files of all sources. */
export function identityFiles (config: IdentityConfig | null): string[] {
  return config === null ? [] : [...new Set(Object.values(config.sources).flatMap(filesOf))]
}

function keyFilesOf (config: IdentityConfig): string[] {
  const others = Object.entries(config.sources).filter(([, { jwt }]) => jwt === undefined)
  return identityFiles({ ...config, sources: Object.fromEntries(others) })
}

function jwkFilesOf (config: IdentityConfig): string[] {
  return Object.values(config.sources).map(({ jwt }) => jwt?.keys.file).filter(file => typeof file === 'string')
}

function authorityFilesOf (config: IdentityConfig): string[] {
  return Object.values(config.sources).map(({ jwt }) => jwt?.tls.ca).filter(file => typeof file === 'string')
}

function authoritiesOf (file: string): Buffer {
  try {
    return readTlsFiles({ ca: file, cert: null, key: null }).ca ?? Buffer.alloc(0)
  } catch (error) {
    throw new OperatorError('A2AGW_ERR_CONFIG_FILE', `identity: cannot use ${file}: ${fileErrorText(error)}`, { cause: error })
  }
}

function entriesOf (file: string): readonly KeyEntry[] {
  const read = readKeyFile(file)
  if ('entries' in read) return read.entries
  throw new OperatorError('A2AGW_ERR_CONFIG_FILE', read.problems.map(problem => `identity: ${file}: ${problem}`).join('\n'))
}

function keySetOf (file: string): Keys & { readonly current: NonNullable<Keys['current']> } {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new OperatorError('A2AGW_ERR_CONFIG_FILE', `identity: cannot read ${file}: ${fileErrorText(error)}`, { cause: error })
  }
  const set = readJwkSet(bytes)
  if ('problem' in set) throw new OperatorError('A2AGW_ERR_CONFIG_FILE', `identity: ${file} ${set.problem}`)
  return { current: set.keys, failing: false, refresh: async () => {} }
}

function carrierOf ({ header, cookie, query }: ApiKeyConfig): Carrier {
  if (header !== null) return { in: 'header', name: header, scheme: null }
  return cookie !== null ? { in: 'cookie', name: cookie, scheme: null } : { in: 'query', name: query ?? '', scheme: null }
}

/** Without a key, anybody could look up the digest of a known name. Workers have the key of their primary. */
export function digestKey (): string {
  const key = process.env[DIGEST_KEY] ?? randomBytes(32).toString('base64url')
  process.env[DIGEST_KEY] = key
  return key
}

/* The keys of an issuer, as the sources of tokens see them: fetched in the background, counted and logged. */

export interface IdentityOptions {
  readonly metrics: Metrics
  readonly log: Log
  readonly tracing?: Tracing | undefined
  /** As in {@link KeysSourceOptions}. */
  readonly clock?: (() => number) | undefined
}

export class IssuerKeys extends FetchedKeySet implements Keys {
  /** @param ca authorities of the issuer in PEM; null: those of the system */
  constructor (name: string, { issuer, keys: { url, maxStale } }: JwtConfig, options: IdentityOptions, ca: Buffer | null = null) {
    const { metrics, log, tracing, clock } = options
    super({
      url,
      issuer,
      maxStale,
      clock,
      ca,
      trace: tracing === undefined ? undefined : url => tracing.startFetch('IssuerKeys', attributesOf(name, url)),
      onRefresh: outcome => { metrics.add('identity_key_refreshes_total', name, outcome) },
      onProblem: problem => {
        if (problem !== null) log.warn({ source: name, problem }, 'the keys of an issuer cannot be fetched')
        else log.info({ source: name }, 'the keys of an issuer can be fetched again')
      }
    })
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
