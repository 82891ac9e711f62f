/** Helpers for file values that may still be wrong, and for the problems about them. */
import type { Path, PathProblem } from '../diagnostics.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { ErrorCode } from '#operator-errors.js'

export type Mapping = JsonObject

/** Most checks compare values that are valid alone: the default of `code`. */
export function problemAt (
  path: Path,
  message: string,
  hint?: string,
  at: PathProblem['at'] = 'value',
  code: ErrorCode = 'A2AGW_ERR_CONFIG_INCONSISTENT'
): PathProblem {
  return hint === undefined ? { path, at, message, code } : { path, at, message, hint, code }
}

export function mapping (value: unknown): Mapping {
  return isObject(value) ? value : {}
}

export function items (value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
