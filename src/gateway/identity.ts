/** Authentication of the running gateway: the sources of `identity`, with the contents of their files. */
import { createHmac, randomBytes } from 'node:crypto'
import { digest } from '../config/digest.js'
import { readKeyFile } from '../config/key-file.js'
import type { IdentityConfig, KeyEntry } from '../config/model/identity-model.js'
import type { Carrier, Source } from '../identity/authentication.js'
import { ApiKeys, BasicKeys } from '../identity/api-keys.js'
import { Authenticator } from '../identity/authenticator.js'
import { Brake } from '../identity/brake.js'
import { headersOf } from '../identity/credentials.js'
import type { Principal } from '../identity/principal.js'
import { redactAlso } from '../telemetry/redact.js'
import { FailureLog } from './failure-log.js'

export interface Identity {
  readonly authenticator: Authenticator
  /** Names of request headers that carry credentials, for `Vary`. */
  readonly headers: readonly string[]
  readonly brake: Brake
  readonly failures: FailureLog
  /** The caller as log lines, audit lines and spans name it. */
  describe (principal: Principal): DescribedCaller
  /** Equal for two configurations with the same sources and the same contents of their files. */
  readonly fingerprint: string
}

export interface DescribedCaller {
  readonly source: string
  readonly id: string
  readonly client?: string
  readonly tenant?: string
}

/** Environment variable that hands the key of digests from the primary to its workers. */
const DIGEST_KEY = 'A2A_GATEWAY_IDENTITY_DIGEST_KEY'

/**
 * Reads the files of the sources. @returns the previous identity when nothing has changed, so that its memory stays
 * @throws Error with a readable message when a file cannot be used
 */
export function identityOf (config: IdentityConfig | null, previous: Identity | null): Identity | null {
  if (config === null) return null
  const files = new Map(keyFilesOf(config).map(file => [file, entriesOf(file)]))
  const fingerprint = digest([config, [...files]])
  if (previous?.fingerprint === fingerprint) return previous
  const sources = Object.entries(config.sources).map(([name, { apiKey, basic }]): Source => {
    if (apiKey !== undefined) return new ApiKeys(name, carrierOf(apiKey), files.get(apiKey.keys.file) ?? [])
    return new BasicKeys(name, files.get(basic?.keys.file ?? '') ?? [])
  })
  const authenticator = new Authenticator(sources)
  // No field of a log line has a name with a hyphen, so no field loses its value.
  redactAlso(authenticator.carriers.flatMap(({ in: place, name }) => (place === 'header' && name.includes('-') ? [name] : [])))
  return {
    authenticator,
    headers: headersOf(authenticator.carriers),
    brake: previous?.brake ?? new Brake(),
    failures: previous?.failures ?? new FailureLog(),
    describe: describer(config.audit),
    fingerprint
  }
}

/** Absolute paths of the key files. */
export function keyFilesOf (config: IdentityConfig | null): string[] {
  const sources = config === null ? [] : Object.values(config.sources)
  return [...new Set(sources.flatMap(({ apiKey, basic }) => [apiKey?.keys.file, basic?.keys.file]).filter(file => file !== undefined))]
}

function entriesOf (file: string): readonly KeyEntry[] {
  const read = readKeyFile(file)
  if ('entries' in read) return read.entries
  throw new Error(read.problems.map(problem => `identity: ${file}: ${problem}`).join('\n'))
}

function carrierOf ({ header, cookie, query }: { readonly [K in Carrier['in']]: string | null }): Carrier {
  if (header !== null) return { in: 'header', name: header, scheme: null }
  return cookie !== null ? { in: 'cookie', name: cookie, scheme: null } : { in: 'query', name: query ?? '', scheme: null }
}

/** Without a key, anybody could look up the digest of a known name. Workers have the key of their primary. */
export function digestKey (): string {
  const key = process.env[DIGEST_KEY] ?? randomBytes(32).toString('base64url')
  process.env[DIGEST_KEY] = key
  return key
}

function describer (audit: IdentityConfig['audit']): Identity['describe'] {
  const known = new WeakMap<Principal, DescribedCaller>()
  const key = audit === 'digest' ? digestKey() : ''
  const name = ({ source, subject }: Principal): string =>
    audit === 'subject' ? subject : createHmac('sha256', key).update(JSON.stringify([source, subject])).digest('base64url').slice(0, 22)
  return principal => {
    let found = known.get(principal)
    if (found === undefined) {
      const { source, client, tenant } = principal
      found = {
        source,
        id: name(principal),
        ...(client === null || audit === 'digest' ? {} : { client }),
        ...(tenant === null ? {} : { tenant })
      }
      known.set(principal, found)
    }
    return found
  }
}
