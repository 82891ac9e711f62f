/** Digests that stand for JSON values, so that what is remembered of them is short and does not show them. */
import { createHash } from 'node:crypto'
import { step } from './evaluation.js'
import { canonical } from './keywords.js'

/** Of SHA-256: 16 characters of base64. */
const BYTES = 12

/** Steps of a digest, without what its text costs. */
const DIGEST = 3

/**
 * The same for values that are equal as JSON, in whatever order their members stand, which RFC 8785 orders.
 * @throws InexactNumber
 */
export function jsonDigest (value: unknown): string {
  step(DIGEST)
  return createHash('sha256').update(canonical(value)).digest().toString('base64', 0, BYTES)
}
