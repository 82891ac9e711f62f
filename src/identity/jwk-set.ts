/** Reads a JSON Web Key Set (RFC 7517): the keys that can verify tokens. Fetching and importing keys is elsewhere. */
import { createHash } from 'node:crypto'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

export interface VerificationKey {
  readonly kid: string | null
  /** Algorithms that the key may verify. */
  readonly algorithms: readonly string[]
  readonly jwk: JsonObject
  /** Identifies the key itself, whatever its `kid`. */
  readonly thumbprint: string
}

export type JwkSet =
  | { readonly keys: readonly VerificationKey[], readonly skipped: number }
  | { readonly problem: string }

const MAX_KEYS = 100
/** RFC 7518 §3.3. */
const MIN_RSA_BITS = 2_048
/** Members that only private and symmetric keys have. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

const CURVES: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519']
}
const RSA = ['RS256', 'PS256', 'RS384', 'PS384', 'RS512', 'PS512']

export function readJwkSet (bytes: Buffer): JwkSet {
  const parsed = parseStrict(bytes, { depth: 16, members: 10_000 })
  if (!parsed.ok) return { problem: `is not valid JSON: ${parsed.problem.message}` }
  const list = isObject(parsed.value) ? parsed.value['keys'] : null
  if (!Array.isArray(list)) return { problem: 'is not a JSON Web Key Set: it has no list "keys"' }
  if (list.length > MAX_KEYS) return { problem: `has more than ${MAX_KEYS} keys` }
  const entries = list.filter(entry => isObject(entry))
  if (entries.some(entry => PRIVATE.some(member => Object.hasOwn(entry, member)))) {
    return { problem: 'contains a private key; anybody who reads the key can make tokens, so the issuer must replace it' }
  }
  const keys = entries.map(keyOf).filter(key => key !== null)
  return keys.length === 0 ? { problem: 'has no key that can verify tokens' } : { keys, skipped: list.length - keys.length }
}

/** @returns null for a key that cannot verify tokens; the other keys of the set stay usable */
function keyOf (jwk: JsonObject): VerificationKey | null {
  const { kty, use, kid, alg, key_ops: operations } = jwk
  if (use !== undefined && use !== 'sig') return null
  if (Array.isArray(operations) && !operations.includes('verify')) return null
  const possible = possibleAlgorithms(jwk)
  const algorithms = typeof alg === 'string' ? possible.filter(algorithm => algorithm === alg) : possible
  if (algorithms.length === 0) return null
  const identity = JSON.stringify([kty, jwk['crv'], jwk['n'], jwk['e'], jwk['x'], jwk['y']])
  return {
    kid: typeof kid === 'string' ? kid : null,
    algorithms,
    jwk,
    thumbprint: createHash('sha256').update(identity).digest('base64url')
  }
}

function possibleAlgorithms ({ kty, crv, n, e, x, y }: JsonObject): readonly string[] {
  if (kty === 'RSA') {
    if (typeof n !== 'string' || typeof e !== 'string') return []
    const modulus = Buffer.from(n, 'base64url')
    const zeros = modulus.findIndex(byte => byte !== 0)
    const bits = zeros < 0 ? 0 : (modulus.length - zeros) * 8 - Math.clz32(modulus[zeros] ?? 0) + 24
    return bits >= MIN_RSA_BITS ? RSA : []
  }
  if (typeof crv !== 'string' || typeof x !== 'string') return []
  const fits = kty === 'EC' ? crv.startsWith('P-') && typeof y === 'string' : kty === 'OKP' && crv === 'Ed25519'
  return fits && Object.hasOwn(CURVES, crv) ? (CURVES[crv] ?? []) : []
}
