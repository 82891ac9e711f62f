/** Reads a JSON Web Token (RFC 7519) and validates all that needs no key. Nothing that it returns is proven before the signature is. */
import type { JwtConfig, TokenConfig } from '#config/model/model.js'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { hasEscapedName } from '#wire/json/parse-json.js'
import { childOf, parsePointer } from '#wire/json/pointer.js'
import { isFor } from './audience.js'
import type { CredentialProblem } from './authentication.js'
import type { Principal, SourceKind } from './principal.js'

/** The payload of a token. */
export interface Payload {
  readonly claims: JsonObject
  /** Seconds since the epoch. */
  readonly exp: number
  /** Thumbprint of the certificate to which the token is bound (RFC 8705 §3.1); null for a bearer token. */
  readonly boundTo: string | null
}

export interface Unverified extends Payload {
  readonly alg: string
  readonly kid: string | null
}

/** Longest token, in characters. Checked before anything else. */
export const MAX_TOKEN_CHARS = 8_192
const LONGEST_KID = 1_024
/** Values kept of each list of a token. */
const VALUES = 32

/** Three parts: an encrypted token (JWE) has five. */
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/

export type ParsedToken = { readonly problem: CredentialProblem } | Unverified

const MALFORMED: { readonly problem: CredentialProblem } = { problem: 'malformed' }
/** A reference to what the authorization server knows (RFC 6749 §1.4). Nothing in it can be verified. */
const OPAQUE: ParsedToken = { problem: 'opaque' }

/** @param now milliseconds since the epoch */
export function readToken (token: string, config: JwtConfig, now: number): ParsedToken {
  if (token.length > MAX_TOKEN_CHARS) return MALFORMED
  if (!COMPACT.test(token)) return token.includes('.') ? MALFORMED : OPAQUE
  const [head = '', body = ''] = token.split('.')
  // jose reads the header again, with the engine's parser: a header with an escape in a member name has two readings.
  const header = hasEscapedName(textOf(head)) ? null : decoded(head)
  const claims = header === null ? null : decoded(body)
  if (header === null || claims === null) return MALFORMED
  if (claims['iss'] !== config.issuer) return { problem: 'issuer' }
  const { alg, kid, typ, crit, b64 } = header
  if (typeof alg !== 'string' || !config.algorithms.includes(alg)) return MALFORMED
  // No extension of RFC 7515 §4.1.11 is supported. The members jku, x5u, jwk and x5c are ignored: the configuration decides about keys.
  if (crit !== undefined || b64 !== undefined) return MALFORMED
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > LONGEST_KID)) return MALFORMED
  if (!isAllowedType(typ, config.types)) return MALFORMED
  const read = readPayload(claims, config, now)
  return 'problem' in read ? read : { alg, kid: kid ?? null, ...read }
}

/** Validates the claims of a token. @param now milliseconds since the epoch */
export function readPayload (claims: JsonObject, config: TokenConfig, now: number): { readonly problem: CredentialProblem } | Payload {
  if (claims['iss'] !== config.issuer) return { problem: 'issuer' }
  if (isIdToken(claims)) return MALFORMED
  const boundTo = bindingOf(claims['cnf'])
  if (boundTo === undefined) return MALFORMED
  const problem = claimProblem(claims, config, now / 1_000)
  return problem === null ? { claims, exp: claims['exp'] as number, boundTo } : { problem }
}

/** SHA-256 in base64url. */
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/

/**
 * A token that is bound to a key of its caller is not a bearer token. Certificates are the only kind of binding that the gateway verifies.
 * @returns undefined for a binding of another kind, such as `jkt` of DPoP
 */
function bindingOf (cnf: unknown): string | null | undefined {
  if (cnf === undefined) return null
  const thumbprint = isObject(cnf) && Object.keys(cnf).length === 1 ? cnf['x5t#S256'] : undefined
  return typeof thumbprint === 'string' && THUMBPRINT.test(thumbprint) ? thumbprint : undefined
}

function textOf (part: string): string {
  return Buffer.from(part, 'base64url').toString()
}

function decoded (part: string): JsonObject | null {
  const parsed = parseStrict(Buffer.from(part, 'base64url'), { depth: 16, members: 1_000 })
  return parsed.ok && isObject(parsed.value) ? parsed.value : null
}

/** RFC 7519 §5.1: a type without a slash stands for `application/<type>`; case does not matter. */
function isAllowedType (typ: unknown, types: readonly string[]): boolean {
  // RFC 7519 makes `typ` optional: a token without it is a JWT.
  if (typ === undefined) return types.includes('jwt')
  return typeof typ === 'string' && types.includes(typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, ''))
}

/** ID tokens of some providers have the type and the key of access tokens (Keycloak 26). Their audience is the client, not the agent. */
function isIdToken (claims: JsonObject): boolean {
  return claims['at_hash'] !== undefined || claims['c_hash'] !== undefined || claims['nonce'] !== undefined || claims['typ'] === 'ID'
}

function claimProblem (claims: JsonObject, config: TokenConfig, now: number): CredentialProblem | null {
  const { exp, nbf, iat, aud, sub } = claims
  const leeway = config.leeway / 1_000
  if (!isTime(exp) || (nbf !== undefined && !isTime(nbf)) || (iat !== undefined && !isTime(iat))) return 'malformed'
  if (typeof sub !== 'string' || sub === '') return 'malformed'
  if (now >= exp + leeway || (nbf !== undefined && now < nbf - leeway) || (iat !== undefined && now < iat - leeway)) return 'expired'
  if (exp - (iat ?? now) > config.maxLifetime / 1_000 + leeway) return 'expired'
  return config.audience.includes('*') || isFor(aud, config.audience) ? null : 'audience'
}

/** A time that a double represents to the second. */
function isTime (value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 2 ** 40
}

/** The caller that a verified token names. */
export function principalOf (
  source: string, claims: JsonObject, { claims: names }: TokenConfig, kind: SourceKind = 'jwt'
): Principal | null {
  const at = (pointer: string | null): unknown => {
    if (pointer === null) return undefined
    let value: unknown = claims
    for (const key of parsePointer(pointer)) value = childOf(value, key)
    return value
  }
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' && value.length <= 1_024 ? value : null)
  const subject = text(at(names.subject))
  if (subject === null) return null
  return Object.freeze({
    source,
    sources: [source],
    kind,
    subject,
    client: text(names.client === null ? (claims['client_id'] ?? claims['azp']) : at(names.client)),
    scopes: listOf(names.scopes === null ? (claims['scope'] ?? claims['scp']) : at(names.scopes)),
    groups: listOf(at(names.groups)),
    tenant: text(at(names.tenant)),
    spiffe: null,
    claims
  })
}

function listOf (value: unknown): readonly string[] {
  const list = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return list.filter((text): text is string => typeof text === 'string' && text !== '').slice(0, VALUES)
}
