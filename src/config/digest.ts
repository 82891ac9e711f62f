import { createHash } from 'node:crypto'
import { isObject } from '#wire/json/object.js'

/** Returns the SHA-256, in hex, of a value as JSON with sorted keys. Objects that differ only in key order have the same digest. */
export function digest (value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex')
}

function sorted (_key: string, value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1))
}
