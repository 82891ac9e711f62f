/**
 * Verifies the signatures of agents' cards (A2A 1.0 §8.4), and signs the cards that the gateway serves. Keys come from the configuration
 * alone: `kid` is a hint among them, and `jku`, `x5u`, `x5c` and `jwk` are never followed.
 */
import { canonicalCards, jsonForm, NoCanonicalForm, parsedSdkForm, sdkForm } from '#a2a/card/signing/canonical.js'
import type { CardSignature } from '#a2a/card/loaded-cards.js'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { hasEscapedName } from '#wire/json/parse-json.js'
import type { VerificationKey } from './jwk-set.js'
import type { SigningKey } from './signing-key.js'
import { signJws } from './signing-key.js'

/** Signatures of a card that are tried. A card may have any number. */
const MAX_SIGNATURES = 16
/** Verifications of one card. Each takes about 0.2 ms, in a thread of Node's pool. */
const MAX_ATTEMPTS = 256
const LONGEST_HEADER = 8_192

/** Tries each signature with the keys that fit. One good signature is enough. */
export async function verifyCard (
  card: JsonObject,
  keys: readonly VerificationKey[],
  algorithms: readonly string[]
): Promise<CardSignature> {
  const { signatures } = card
  if (!Array.isArray(signatures) || signatures.length === 0) return { outcome: 'unsigned', form: null, key: null }
  const texts = canonicalCards(card).map(({ form, text }) => ({ form, payload: Buffer.from(text).toString('base64url') }))
  const { compactVerify, importJWK } = await import('jose')
  let fits = false
  let attempts = 0
  const read = signatures.slice(0, MAX_SIGNATURES).map(entry => readEntry(entry, algorithms)).filter(entry => entry !== null)
  for (const { form, payload } of texts) {
    for (const { head, signature, alg, kid } of read) {
      for (const key of candidates(keys, alg, kid)) {
        if (++attempts > MAX_ATTEMPTS) return { outcome: 'invalid', form: null, key: null }
        fits = true
        try {
          await compactVerify(`${head}.${payload}.${signature}`, await importJWK(key.jwk, alg), { algorithms: [alg] })
          return { outcome: form === 'sdk' || form === 'sdk-js' ? 'partial' : 'verified', form, key: key.kid ?? key.thumbprint }
        } catch {
          // The next signature, key or form may fit.
        }
      }
    }
  }
  return { outcome: fits || texts.length === 0 ? 'invalid' : 'unknown_key', form: null, key: null }
}

interface Entry {
  readonly head: string
  readonly signature: string
  readonly alg: string
  readonly kid: string | null
  readonly typ: string | null
}

const BASE64URL = /^[A-Za-z0-9_-]+$/

/** @returns null for an entry that no key can verify */
function readEntry (entry: unknown, algorithms: readonly string[]): Entry | null {
  if (!isObject(entry)) return null
  const { protected: head, signature } = entry
  if (
    typeof head !== 'string' ||
    typeof signature !== 'string' ||
    head.length > LONGEST_HEADER ||
    signature.length > LONGEST_HEADER
  ) return null
  if (!BASE64URL.test(head) || !BASE64URL.test(signature)) return null
  const bytes = Buffer.from(head, 'base64url')
  const parsed = parseStrict(bytes, { depth: 8, members: 100 })
  // jose reads the header again, with the engine's parser: a header with an escape in a member name has two readings.
  if (!parsed.ok || !isObject(parsed.value) || hasEscapedName(bytes.toString())) return null
  // Only the protected header counts: the signature does not cover `header`. No extension of RFC 7515 §4.1.11 is supported.
  const { alg, kid, typ, crit, b64 } = parsed.value
  if (typeof alg !== 'string' || !algorithms.includes(alg) || crit !== undefined || b64 !== undefined) return null
  return { head, signature, alg, kid: typeof kid === 'string' ? kid : null, typ: typeof typ === 'string' ? typ : null }
}

/** What the protected header of a detached signature must say. */
export interface DetachedHeader {
  readonly algorithm: string
  readonly typ: string
  /** Beginning of `kid`. */
  readonly kid: string
}

/**
 * Verifies one detached signature (RFC 7515, appendix F).
 * @returns the key that has made it; null when none has
 */
export async function verifyDetached (
  jws: { readonly protected: string, readonly signature: string },
  text: string,
  keys: readonly VerificationKey[],
  { algorithm, typ, kid }: DetachedHeader
): Promise<VerificationKey | null> {
  const entry = readEntry(jws, [algorithm])
  if (entry === null || entry.typ !== typ || entry.kid?.startsWith(kid) !== true) return null
  const payload = Buffer.from(text).toString('base64url')
  const { compactVerify, importJWK } = await import('jose')
  for (const key of candidates(keys, algorithm, entry.kid).slice(0, MAX_ATTEMPTS)) {
    try {
      await compactVerify(`${entry.head}.${payload}.${entry.signature}`, await importJWK(key.jwk, algorithm), { algorithms: [algorithm] })
      return key
    } catch {
      // The next key may fit.
    }
  }
  return null
}

/** The keys that may have made a signature. A `kid` that no key has is no reason to reject the signature. */
function candidates (keys: readonly VerificationKey[], alg: string, kid: string | null): readonly VerificationKey[] {
  const fitting = keys.filter(key => key.algorithms.includes(alg))
  const named = kid === null ? [] : fitting.filter(key => key.kid === kid)
  return named.length > 0 ? named : fitting
}

/**
 * Returns the card with signatures of the gateway. The first covers the form of the official SDKs, the second the JSON as it stands, which
 * covers the members that A2A does not define, the third the form of clients of the JavaScript SDK that have parsed the card. Equal forms
 * have one signature. Signatures of the agent are replaced.
 * @param jku URL of the published key set
 * @throws NoCanonicalForm
 */
export function signCard (card: JsonObject, key: SigningKey, jku: string): JsonObject {
  const { signatures: _, ...unsigned } = card
  const forms = [sdkFormOf(unsigned, sdkForm), jsonForm(unsigned), sdkFormOf(unsigned, parsedSdkForm)]
  const texts = [...new Set(forms)].filter(text => text !== null)
  const signatures = texts.map(text => {
    const { protected: head, signature } = signJws(key, { typ: 'JOSE', jku }, text)
    return { protected: head, signature }
  })
  return { ...unsigned, signatures }
}

/** A card with a member of another type than A2A defines has no form that all SDKs agree on. */
function sdkFormOf (card: JsonObject, form: (card: JsonObject) => string): string | null {
  try {
    return form(card)
  } catch (error) {
    if (error instanceof NoCanonicalForm) return null
    throw error
  }
}
