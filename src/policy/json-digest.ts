/** Digests that stand for JSON values, so that what is remembered of them is short and does not show them. */
import { createHash } from 'node:crypto'

/** Of SHA-256: 16 characters of base64. */
const BYTES = 12

/** The same for values that are equal as JSON, in whatever order their members stand. */
export function jsonDigest (value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest().toString('base64', 0, BYTES)
}

/** As RFC 8785 orders members. Depth is bounded by whoever parsed the value. */
function canonical (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const object = value as Readonly<Record<string, unknown>>
  return `{${Object.keys(object).sort().map(key => `${JSON.stringify(key)}:${canonical(object[key])}`).join(',')}}`
}
