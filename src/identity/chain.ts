/**
 * The header `a2a-delegation`: who stands behind a call that an agent sends. A gateway signs the chain of callers when it forwards a call,
 * the agent passes the header on with its own calls, and the next gateway of the trust domain verifies it. The form is a JSON Web Token
 * (RFC 7519) of a type of its own, so that no other token with a key of a gateway is a chain, and no chain is an access token.
 */
import { createPublicKey, verify } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'
import type { PresenterConfig } from '#config/model/model.js'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { VerificationKey } from './jwk-set.js'
import type { Principal, SourceKind } from './principal.js'
import type { SigningKey } from './signing-key.js'
import { signJwt } from './signing-key.js'

export const CHAIN_HEADER = 'a2a-delegation'
const TYPE = 'a2a-delegation+jwt'

/** An amount in the whole chain, and what of it was left when the chain was signed. */
export type ChainBudget = readonly [limit: number, left: number]
/** By id of the budget. */
export type ChainBudgets = Readonly<Record<string, ChainBudget>>

/** Who stands behind a call, as the gateway of the last agent has signed it. */
export interface Chain {
  /** The same in all chains that begin with one call. */
  readonly id: string
  /** The caller who began the chain; null for a caller without credentials. Its claims stay at the first gateway. */
  readonly initiator: Principal | null
  /** Agents from the first to the one that got the chain, as `gateway/agent`. */
  readonly hops: readonly string[]
  /** Agents between the initiator and the receiver of the next call: at least as many as `hops`. */
  readonly depth: number
  /** Each list must name an agent that the chain reaches. */
  readonly mayReach: readonly (readonly string[])[]
  /** The only caller who may present the chain. */
  readonly presenter: PresenterConfig
  readonly budgets: ChainBudgets
  /** End of the time for the chain, milliseconds since the epoch; null for none. */
  readonly deadline: number | null
}

/** A key of a gateway of the trust domain, ready to verify. */
export interface ChainKey extends Pick<VerificationKey, 'kid' | 'algorithms'> {
  readonly publicKey: KeyObject
}

/** Imports the keys once, for all calls. A key that Node cannot import verifies nothing, and is left out. */
export function chainKeysOf (keys: readonly VerificationKey[]): readonly ChainKey[] {
  return keys.flatMap(({ kid, algorithms, jwk }) => {
    try {
      return [{ kid, algorithms, publicKey: createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }) }]
    } catch {
      return []
    }
  })
}

export type ChainProblem = 'malformed' | 'signature' | 'unknown_key' | 'expired'

/** Longest header, in characters. Agents bound their headers, often at 8 or 16 KiB. */
const MAX_HEADER_CHARACTERS = 8_192
/** A payload of this size, in base64 with header and signature of an RSA key, fits into the header, with budgets of 600 bytes. */
const MAX_PAYLOAD_BYTES = 4_800
/** Clocks of two gateways may differ, seconds. */
const LEEWAY_SECONDS = 30
const MAX_HOPS = 64
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const ALGORITHMS: ReadonlySet<unknown> = new Set(['ES256', 'EdDSA', 'RS256'])

/** Returns the claims of a chain; null for a chain that is too long for a header. */
export function claimsOfChain (
  { id, initiator, hops, depth, mayReach, presenter, budgets, deadline }: Chain,
  trustDomain: string
): JsonObject | null {
  const claims = {
    iss: trustDomain,
    chain: id,
    initiator: initiator === null ? null : shownInitiator(initiator),
    hops,
    depth,
    ...(mayReach.length === 0 ? {} : { may_reach: mayReach }),
    presenter
  }
  if (Buffer.byteLength(JSON.stringify(claims)) > MAX_PAYLOAD_BYTES) return null
  const limits = {
    ...(Object.keys(budgets).length === 0 ? {} : { budgets }),
    ...(deadline === null ? {} : { deadline })
  }
  return { ...claims, ...limits } as unknown as JsonObject
}

/**
 * Returns the value of the header.
 * @param claims of {@link claimsOfChain}
 * @param ttl time for which the chain is valid, ms
 * @param now milliseconds since the epoch
 */
export function signChain (key: SigningKey, claims: JsonObject, ttl: number, now: number): string {
  const iat = Math.floor(now / 1_000)
  return signJwt(key, TYPE, { ...claims, iat, exp: iat + Math.ceil(ttl / 1_000) })
}

/**
 * Verifies the value of the header.
 * @param keys of the gateways of the trust domain
 * @param now milliseconds since the epoch
 */
export function readChain (
  text: string, keys: readonly ChainKey[], trustDomain: string, now: number
): Chain | { readonly problem: ChainProblem } {
  if (text.length > MAX_HEADER_CHARACTERS || !COMPACT.test(text)) return { problem: 'malformed' }
  const [head = '', body = '', signature = ''] = text.split('.')
  const header = decoded(head)
  if (header === null || header['typ'] !== TYPE || !ALGORITHMS.has(header['alg'])) return { problem: 'malformed' }
  // No extension of RFC 7515 §4.1.11 is supported, and no address of a key in the header is followed.
  if (header['crit'] !== undefined || header['b64'] !== undefined) return { problem: 'malformed' }
  const alg = String(header['alg'])
  const candidates = keys.filter(key => key.kid === header['kid'] && key.algorithms.includes(alg))
  if (candidates.length === 0) return { problem: 'unknown_key' }
  const signed = Buffer.from(`${head}.${body}`)
  const bytes = Buffer.from(signature, 'base64url')
  if (!candidates.some(key => isSignedBy(key, alg, signed, bytes))) return { problem: 'signature' }
  const claims = decoded(body)
  const chain = claims === null || claims['iss'] !== trustDomain ? null : chainOf(claims)
  if (claims === null || chain === null) return { problem: 'malformed' }
  return isCurrent(claims, now / 1_000) ? chain : { problem: 'expired' }
}

function isSignedBy ({ publicKey }: ChainKey, alg: string, text: Buffer, signature: Buffer): boolean {
  try {
    return verify(alg === 'EdDSA' ? null : 'sha256', text, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    // The algorithm does not fit the key.
    return false
  }
}

function decoded (part: string): JsonObject | null {
  const parsed = parseStrict(Buffer.from(part, 'base64url'), { depth: 8, members: 5_000 })
  return parsed.ok && isObject(parsed.value) ? parsed.value : null
}

function isCurrent ({ iat, exp }: JsonObject, now: number): boolean {
  return typeof iat === 'number' && typeof exp === 'number' && now >= iat - LEEWAY_SECONDS && now < exp + LEEWAY_SECONDS
}

function shownInitiator ({ source, kind, subject, client, scopes, groups, tenant, spiffe }: Principal): object {
  return {
    source,
    kind,
    subject,
    ...(client === null ? {} : { client }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(tenant === null ? {} : { tenant }),
    ...(spiffe === null ? {} : { spiffe })
  }
}

/** @returns null for claims that are not a chain */
function chainOf (claims: JsonObject): Chain | null {
  const { chain: id, initiator, hops, depth, may_reach: reach = [], presenter, budgets = {}, deadline = null } = claims
  const by = initiator === null ? null : initiatorOf(initiator)
  const presented = presenterOf(presenter)
  if (by === undefined || presented === null || !isTexts(hops) || hops.length === 0 || hops.length > MAX_HOPS) return null
  if (typeof depth !== 'number' || !Number.isSafeInteger(depth) || depth < hops.length) return null
  if (!Array.isArray(reach) || !reach.every(isTexts)) return null
  if (typeof id !== 'string' || id === '' || id.length > 64 || !isBudgets(budgets)) return null
  if (deadline !== null && typeof deadline !== 'number') return null
  return { id, initiator: by, hops, depth, mayReach: reach, presenter: presented, budgets, deadline }
}

function isBudgets (value: unknown): value is ChainBudgets {
  return isObject(value) && Object.values(value).every(budget =>
    Array.isArray(budget) && budget.length === 2 && budget.every(amount => typeof amount === 'number' && amount >= 0))
}

function isTexts (value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(text => typeof text === 'string')
}

function isTextOrNone (value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && value !== '')
}

const KINDS: ReadonlySet<unknown> = new Set<SourceKind>(['apiKey', 'basic', 'jwt', 'envoyJwt', 'certificate'])

/** @returns undefined for a value that is no caller */
function initiatorOf (value: unknown): Principal | undefined {
  if (!isObject(value)) return undefined
  const { source, kind, subject, client, scopes = [], groups = [], tenant, spiffe } = value
  if (
    typeof source !== 'string' ||
    typeof subject !== 'string' ||
    !KINDS.has(kind) ||
    !isTexts(scopes) ||
    !isTexts(groups)
  ) return undefined
  if (!isTextOrNone(client) || !isTextOrNone(tenant) || !isTextOrNone(spiffe)) return undefined
  return Object.freeze({
    source,
    sources: [source],
    kind: kind as SourceKind,
    subject,
    client: client ?? null,
    scopes,
    groups,
    tenant: tenant ?? null,
    spiffe: spiffe ?? null,
    claims: {}
  })
}

function presenterOf (value: unknown): PresenterConfig | null {
  if (!isObject(value)) return null
  const { source, subject, client, spiffe } = value
  if (![source, subject, client, spiffe].every(isTextOrNone) || (subject ?? client ?? spiffe) === undefined) return null
  return value as PresenterConfig
}
