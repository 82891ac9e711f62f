/** What the readers of JSON need and return: limits, values and problems. */
import type { InexactNumbers } from './number.js'

export interface JsonProblem {
  readonly kind: 'empty' | 'encoding' | 'bom' | 'depth' | 'members' | 'syntax' | 'duplicate'
  /** Bytes from the start of the text, or null when the problem has no single place. */
  readonly offset: number | null
  /** A plain sentence without a full stop. The message holds no values of the client, and only the names in the path of a duplicate. */
  readonly message: string
}

/**
 * `inexact` is set when a number of the text may differ from its double. `backslashName` is set when a member name of the text may hide
 * other names from readers on V8 13.6 (`isBackslashName`).
 */
export type JsonResult =
  { readonly ok: true; readonly value: unknown; readonly inexact?: InexactNumbers; readonly backslashName?: true } |
  { readonly ok: false; readonly problem: JsonProblem }

export interface JsonLimits {
  /** Maximum number of objects and arrays open at once; `[]` has depth 1. */
  readonly depth: number
  /** Maximum number of object members and array elements, together, in the whole text. */
  readonly members: number
}
