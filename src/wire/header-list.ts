import { isBlank } from './tokens.js'

/** A list that several header lines form together, under one or more names. */
export interface HeaderList {
  /** Exact values, in order of first appearance, without duplicates. */
  readonly values: string[]
  /** The requested names that were present, in order of appearance. */
  readonly seen: string[]
}

/** Number of values above which a set finds the duplicates: a header block of 16 KiB can hold thousands of values. */
const SET_FROM_VALUES = 16

/**
 * Reads a list header (RFC 9110 §5.6.1) from all its lines. The function splits at commas, trims spaces and tabs around each value, and
 * drops empty values and duplicates. Values are compared exactly, because extension URIs are opaque strings.
 * @param rawHeaders Node's flat list, name, value, name, value
 * @param names lower-case names whose lines form the list together
 */
export function readList (rawHeaders: readonly string[], names: readonly string[]): HeaderList {
  const values: string[] = []
  const headerNames: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase()
    if (name === undefined || !names.includes(name)) continue
    if (!headerNames.includes(name)) headerNames.push(name)
    splitList(rawHeaders[i + 1] ?? '', values)
  }
  return { values: distinct(values), seen: headerNames }
}

/**
 * Writes a list header.
 * @param form `joined` writes one line, with commas and no spaces, as the JavaScript SDK does; `repeated` writes one line per value, the
 *   only form that the Go SDK reads
 * @returns the field value of each line to send; an empty list for no values
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
  if (values.length > SET_FROM_VALUES) return [...new Set(values)]
  for (let i = 1; i < values.length; i++) {
    const value = values[i]
    if (value !== undefined && values.indexOf(value) < i) return [...new Set(values)]
  }
  return values
}
