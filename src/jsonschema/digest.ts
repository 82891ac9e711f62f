/** Digests that represent JSON values. A stored digest is short and does not reveal the value. */
import { createHash } from 'node:crypto'
import { spendBudget } from './evaluation.js'
import { canonical } from './keyword-functions.js'

/** Bytes of the SHA-256 digest that are kept: 16 characters of base64. */
const BYTES = 12

/** Steps of a digest, without the cost of its text. */
const DIGEST = 3

/**
 * Returns the same digest for values that are equal as JSON. The order of members does not matter, because RFC 8785 sorts them.
 * @throws InexactNumber
 */
export function jsonDigest (value: unknown): string {
  spendBudget(DIGEST)
  return createHash('sha256').update(canonical(value)).digest().toString('base64', 0, BYTES)
}
