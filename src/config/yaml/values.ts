/** Helpers for file values that may still be wrong, and for the problems about them. */
import type { Path, PathProblem } from '../diagnostics.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

export type Mapping = JsonObject

export function fault (path: Path, message: string, hint?: string, at: PathProblem['at'] = 'value'): PathProblem {
  return hint === undefined ? { path, at, message } : { path, at, message, hint }
}

export function mapping (value: unknown): Mapping {
  return isObject(value) ? value : {}
}

export function items (value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
