/** Lists of values as a record keeps them: their number, and a digest of each. */
import { jsonDigest } from './json-digest.js'

/** Digests that are kept, and values that are compared; of longer lists only the length is known. */
export const MAX_VALUES = 1_000

export interface Remembered {
  readonly length: number
  /** Null where there were more than are kept. */
  readonly digests: ReadonlySet<string> | null
}

/** `<length>:<digests, separated by commas>` */
export function writeValues (values: readonly unknown[]): string {
  return `${values.length}:${values.length > MAX_VALUES ? '' : values.map(jsonDigest).join(',')}`
}

export function readValues (text: string): Remembered {
  const end = text.indexOf(':')
  const length = Number(text.slice(0, end))
  const digests = text.slice(end + 1)
  return { length, digests: length > MAX_VALUES ? null : new Set(digests === '' ? [] : digests.split(',')) }
}
