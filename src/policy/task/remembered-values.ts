/** Lists of values in the form of a record: their number, and a digest of each. */
import { InexactNumber } from '#jsonschema/evaluation.js'
import { jsonDigest } from '#jsonschema/digest.js'

/** Maximum digests that are kept, and maximum values that are compared. For longer lists only the length is known. */
export const MAX_VALUES = 1_000

export interface Remembered {
  readonly length: number
  /** Null when the list was longer than the maximum. */
  readonly digests: ReadonlySet<string> | null
}

/** `<length>:<digests, separated by commas>` */
export function writeValues (values: readonly unknown[]): string {
  return `${values.length}:${values.length > MAX_VALUES ? '' : values.map(digestOf).join(',')}`
}

/** Never equals a digest, so nothing is ever equal to a number that cannot be compared exactly. */
const UNEQUAL = 'inexact'

function digestOf (value: unknown): string {
  try {
    return jsonDigest(value)
  } catch (error) {
    if (error instanceof InexactNumber) return UNEQUAL
    throw error
  }
}

export function readValues (text: string): Remembered {
  const end = text.indexOf(':')
  const length = Number(text.slice(0, end))
  const digests = text.slice(end + 1)
  return { length, digests: length > MAX_VALUES ? null : new Set(digests === '' ? [] : digests.split(',')) }
}
