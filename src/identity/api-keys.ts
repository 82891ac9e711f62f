/** API keys and Basic credentials: the gateway knows digests of keys, never keys. */
import { hash } from 'node:crypto'
import type { KeyEntry } from '#config/model/model.js'
import type { Carrier, Circumstances, Source, CredentialResult } from './authentication.js'
import type { Principal, SourceKind } from './principal.js'

interface Known {
  readonly principal: Principal
  /** Names that a Basic user may have. */
  readonly names: readonly string[]
  /** Milliseconds since the epoch; Infinity for a key that does not expire. */
  readonly expires: number
}

const UNKNOWN: CredentialResult = { problem: 'unknown_key', foreign: true }
const MALFORMED: CredentialResult = { problem: 'malformed', foreign: false }
const EXPIRED: CredentialResult = { problem: 'expired', foreign: false }

/** Longest accepted key, in characters. `a2a-gateway key` makes keys of 49. */
const MAX_KEY_CHARS = 1_024

/** The digest under which a key is known. A digest as the key of the lookup leaves no timing to read. */
export function keyDigest (key: string): string {
  return hash('sha256', key)
}

function knownKeys (source: string, kind: SourceKind, entries: readonly KeyEntry[]): ReadonlyMap<string, Known> {
  return new Map(entries.map(({ id, sha256, client, expires, groups, scopes, tenant }) => [
    sha256,
    {
      principal: Object.freeze({
        source,
        sources: [source],
        kind,
        subject: client ?? id,
        client: client ?? id,
        scopes,
        groups,
        tenant,
        spiffe: null,
        claims: { key: id }
      }),
      names: client === null ? [id] : [id, client],
      expires: expires ?? Infinity
    }
  ]))
}

/** Keys that a header, a cookie or a query parameter carries. */
export class ApiKeys implements Source {
  readonly name: string
  readonly carrier: Carrier
  private readonly keys: ReadonlyMap<string, Known>

  constructor (name: string, carrier: Carrier, entries: readonly KeyEntry[]) {
    this.name = name
    this.carrier = carrier
    this.keys = knownKeys(name, 'apiKey', entries)
  }

  verify (key: string, { now }: Pick<Circumstances, 'now'>): CredentialResult {
    if (key === '' || key.length > MAX_KEY_CHARS) return MALFORMED
    const entry = this.keys.get(keyDigest(key))
    if (entry === undefined) return UNKNOWN
    return now < entry.expires ? { principal: entry.principal } : EXPIRED
  }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Basic credentials (RFC 7617) with a key as the password. */
export class BasicKeys implements Source {
  readonly name: string
  readonly carrier: Carrier = { in: 'header', name: 'authorization', scheme: 'basic' }
  private readonly keys: ReadonlyMap<string, Known>

  constructor (name: string, entries: readonly KeyEntry[]) {
    this.name = name
    this.keys = knownKeys(name, 'basic', entries)
  }

  verify (credential: string, { now }: Pick<Circumstances, 'now'>): CredentialResult {
    if (credential.length > 2 * MAX_KEY_CHARS || !BASE64.test(credential)) return MALFORMED
    const text = Buffer.from(credential, 'base64').toString()
    const colon = text.indexOf(':')
    if (colon < 0) return MALFORMED
    const entry = this.keys.get(keyDigest(text.slice(colon + 1)))
    if (entry === undefined || !entry.names.includes(text.slice(0, colon))) return UNKNOWN
    return now < entry.expires ? { principal: entry.principal } : EXPIRED
  }
}
