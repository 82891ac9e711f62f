/** Problems of a configuration, with their positions. */
import { nearest } from '#wire/nearest.js'
import type { ErrorCode } from '#operator-errors.js'
import { withCode } from '#operator-errors.js'

/** One problem or warning. Lines and columns count from 1; line 0 means the source has no lines (a flag, a variable, no file). */
export interface Diagnostic {
  /** The file as the user named it, or the flag or variable that gave the value. */
  readonly file: string
  readonly line: number
  readonly col: number
  readonly message: string
  /** Instruction that fixes the problem. */
  readonly hint?: string
  /** Absent: a warning, or a count of further problems. */
  readonly code?: ErrorCode
}

/** A problem at an offset of the text. */
export interface TextProblem { readonly offset: number, readonly message: string, readonly hint?: string, readonly code: ErrorCode }

export type Path = readonly (string | number)[]

/** A problem at a path of the configuration. */
export interface PathProblem {
  readonly path: Path
  /** The part at fault: the key or its value. */
  readonly at: 'key' | 'value'
  readonly message: string
  readonly hint?: string
  readonly code: ErrorCode
}

/** Largest number of listed problems; further problems are only counted. */
const MAX_LISTED = 100

const LONGEST_SHOWN = 60

/**
 * Formats a diagnostic as `file:line:col: message (hint)`. Omits the position when there is none. The result is always one line: control
 * characters are escaped.
 */
export function formatDiagnostic (diagnostic: Diagnostic): string {
  const { file, line, col, message, hint } = diagnostic
  const where = line === 0 ? file : `${file}:${line}:${col}`
  const text = `${where}: ${message}${hint === undefined ? '' : ` (${hint})`}`
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Formats a diagnostic as `formatDiagnostic` does, followed by its code. A warning has no code. */
export function printDiagnostic (diagnostic: Diagnostic): string {
  return withCode(formatDiagnostic(diagnostic), diagnostic.code ?? null)
}

/** Builds a Diagnostic. Omits the hint and the code when there is none. */
export function diagnostic (
  file: string,
  line: number,
  col: number,
  { message, hint, code }: Pick<Diagnostic, 'message' | 'hint' | 'code'>
): Diagnostic {
  return { file, line, col, message, ...hint === undefined ? {} : { hint }, ...code === undefined ? {} : { code } }
}

/** Sorts by position; problems at one place keep their order. Cuts a long list and counts the rest. */
export function sortDiagnostics (list: readonly Diagnostic[]): Diagnostic[] {
  const sorted = list.toSorted((a, b) => a.line - b.line || a.col - b.col)
  const rest = sorted.length - MAX_LISTED
  if (rest <= 0) return sorted
  const file = sorted[0]?.file ?? ''
  return [...sorted.slice(0, MAX_LISTED), { file, line: 0, col: 0, message: `${rest} more problems not shown` }]
}

/** Formats a path in the usual notation: `agents[0].upstream.url`. */
export function dotted (path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[A-Za-z0-9_-]+$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${formatValue(step)}]`
  }
  return text
}

/** Formats a value for a message: JSON, on one line, truncated. */
export function formatValue (value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

/** Returns a hint that names the nearest candidate, or undefined when no candidate is near. */
export function didYouMean (text: string, candidates: readonly string[]): string | undefined {
  const near = nearest(text, candidates)
  return near === null ? undefined : `did you mean "${near}"?`
}
