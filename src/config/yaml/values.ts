/** Helpers for file values that may still be wrong, and for the problems about them. */
import type { Path, PathProblem } from '../diagnostics.js'

export type Mapping = Readonly<Record<string, unknown>>

export function fault (path: Path, message: string, hint?: string, at: PathProblem['at'] = 'value'): PathProblem {
  return hint === undefined ? { path, at, message } : { path, at, message, hint }
}

export function mapping (value: unknown): Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Mapping : {}
}

export function items (value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
