import { isBlank } from './tokens.js'

/** A list that several header lines, under one or more names, make together. */
export interface HeaderList {
  /** Exact values, in order of first appearance, each once. */
  readonly values: string[]
  /** Which of the names asked for were present, in order of appearance. */
  readonly seen: string[]
}

/** From this many values on, a set looks for duplicates: a header block of 16 KiB can hold thousands of values. */
const MANY = 16

/**
 * Reads a list header (RFC 9110 §5.6.1) from all its lines: split at commas, blanks and tabs around a value taken off,
 * empty values and duplicates dropped. Values are compared exactly; extension URIs are opaque strings.
 * @param rawHeaders Node's flat list, name, value, name, value
 * @param names lower-case names whose lines count together
 */
export function readList (rawHeaders: readonly string[], names: readonly string[]): HeaderList {
  const values: string[] = []
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase()
    if (name === undefined || !names.includes(name)) continue
    if (!seen.includes(name)) seen.push(name)
    splitList(rawHeaders[i + 1] ?? '', values)
  }
  return { values: distinct(values), seen }
}

/**
 * Writes a list header.
 * @param form `joined` makes one line, with commas and no blanks as the JavaScript SDK does; `repeated` a line per value,
 * which is all that the Go SDK reads
 * @returns the field value of each line to send; none for no values
 */
export function formatList (values: readonly string[], form: 'joined' | 'repeated'): string[] {
  if (form === 'repeated') return values.slice()
  return values.length === 0 ? [] : [values.join(',')]
}

/** Appends the members of one line to `out`. */
export function splitList (line: string, out: string[]): void {
  let start = 0
  while (start <= line.length) {
    const comma = line.indexOf(',', start)
    const next = comma === -1 ? line.length : comma
    let first = start
    let end = next
    while (first < end && isBlank(line.charCodeAt(first))) first++
    while (end > first && isBlank(line.charCodeAt(end - 1))) end--
    if (end > first) out.push(line.slice(first, end))
    start = next + 1
  }
}

function distinct (values: string[]): string[] {
  if (values.length > MANY) return [...new Set(values)]
  for (let i = 1; i < values.length; i++) {
    const value = values[i]
    if (value !== undefined && values.indexOf(value) < i) return [...new Set(values)]
  }
  return values
}
