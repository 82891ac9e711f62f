/** What is wrong with a configuration, and where. */
import { nearest } from '../wire/nearest.js'

/** One problem or warning. Lines and columns count from 1; line 0 means the source has no lines (a flag, a variable, no file). */
export interface Diagnostic {
  /** The file as the user named it, or the flag or variable the value came from. */
  readonly file: string
  readonly line: number
  readonly col: number
  readonly message: string
  /** What to do about it. */
  readonly hint?: string
}

/** A problem found at an offset of the text. */
export interface TextProblem { readonly offset: number, readonly message: string, readonly hint?: string }

export type Path = readonly (string | number)[]

/** A problem found at a path of the configuration. */
export interface PathProblem {
  readonly path: Path
  /** Whether the key or its value is at fault. */
  readonly at: 'key' | 'value'
  readonly message: string
  readonly hint?: string
}

/** More than this many problems are counted, not listed. */
export const MAX_LISTED = 100

const LONGEST_SHOWN = 60

/** `file:line:col: message (hint)`; without position when there is none. Always one line: control characters are escaped. */
export function formatDiagnostic (diagnostic: Diagnostic): string {
  const { file, line, col, message, hint } = diagnostic
  const where = line === 0 ? file : `${file}:${line}:${col}`
  const text = `${where}: ${message}${hint === undefined ? '' : ` (${hint})`}`
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Builds a Diagnostic, leaving the hint out when there is none. */
export function diagnostic (file: string, line: number, col: number, problem: { readonly message: string, readonly hint?: string }): Diagnostic {
  const base = { file, line, col, message: problem.message }
  return problem.hint === undefined ? base : { ...base, hint: problem.hint }
}

/** By position; problems at one place keep their order. A long list is cut and its rest counted. */
export function sortDiagnostics (list: readonly Diagnostic[]): Diagnostic[] {
  const sorted = list.toSorted((a, b) => a.line - b.line || a.col - b.col)
  const rest = sorted.length - MAX_LISTED
  if (rest <= 0) return sorted
  const file = sorted[0]?.file ?? ''
  return [...sorted.slice(0, MAX_LISTED), { file, line: 0, col: 0, message: `${rest} more problems not shown` }]
}

/** A path as people write it: `agents[0].upstream.url`. */
export function dotted (path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[A-Za-z0-9_-]+$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${shown(step)}]`
  }
  return text
}

/** A value for a message: JSON, on one line, cut. */
export function shown (value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

/** Hint naming the nearest of the candidates, or undefined when none is near. */
export function didYouMean (text: string, candidates: readonly string[]): string | undefined {
  const near = nearest(text, candidates)
  return near === null ? undefined : `did you mean "${near}"?`
}
