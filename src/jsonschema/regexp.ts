/**
 * Linear-time regular expressions (RE2) for the patterns of cards and policies, so no pattern is slow on any input (ReDoS). Patterns are
 * written in ECMA-262 (JSON Schema 2020-12 §6.4) and translated. Two kinds of patterns cause an error at compile time and never a different
 * match: patterns that RE2 does not support (look-around, back-references, repeat counts over 1000), and patterns that only RE2
 * understands.
 */
import { createRequire } from 'node:module'
import type * as Re2 from 're2js'
import type { RE2JS } from 're2js'
import { quoted, visible } from '#a2a/fields.js'
import { patternSize } from './pattern-size.js'

const require = createRequire(import.meta.url)

export interface Matcher {
  test (text: string): boolean
  /** Ajv distinguishes the patterns of a schema by this text. With the text of every object, Ajv would use the first pattern for all. */
  toString (): string
}

export type CompiledPattern = Matcher & { readonly size: number }

/**
 * Maximum size of one pattern: instructions, plus character tables in instructions of the same memory (measured: up to 20 us each to
 * compile, 100 bytes to keep).
 */
export const MAX_PATTERN_SIZE = 5_000
/** Maximum size of all different patterns of one card. */
export const MAX_PATTERNS_SIZE = 25_000
/**
 * Maximum size of the copies of character tables. RE2 copies the tables for each instruction of a pattern that begins with `^` (measured:
 * 14 MB for `^(?:\\p{L}{31}){31}$`), but not for those of a group.
 */
const MAX_COPIES = 500

interface KnownPattern {
  readonly size: number
  /** Null until the first use. */
  compiled: CompiledPattern | Error | null
}

/** Compiles each pattern once and adds up the sizes. The sum includes patterns that are too large to compile. */
export class Patterns {
  private readonly known = new Map<string, KnownPattern>()
  private readonly limit: number
  private sum = 0

  /** @param limit of all patterns together; patterns of the operator have no limit */
  constructor (limit = Number.POSITIVE_INFINITY) {
    this.limit = limit
  }

  get exceeded (): boolean {
    return this.sum > this.limit
  }

  /** Message in plain words, valid once `exceeded` is true. */
  get problem (): string {
    return `the patterns of the card compile to ${formatSize(this.sum)} instructions together, more than ${this.limit}`
  }

  /** All patterns, in the order of their first use. */
  get all (): readonly string[] {
    return [...this.known.keys()]
  }

  /** Counts a pattern without compiling it. */
  count (pattern: string): void {
    this.of(pattern)
  }

  /** @throws Error in plain words when the pattern cannot be used */
  compile (pattern: string): CompiledPattern {
    const knownPattern = this.of(pattern)
    knownPattern.compiled ??= this.exceeded ? new Error(this.problem) : attempt(pattern)
    if (knownPattern.compiled instanceof Error) throw knownPattern.compiled
    return knownPattern.compiled
  }

  /**
   * Counts the patterns of another instance here too. Both instances share the compiled patterns.
   * @param patterns the other instance
   */
  adopt (patterns: Patterns): void {
    for (const [pattern, knownPattern] of patterns.known) this.add(pattern, knownPattern)
  }

  /** Counts a pattern of another instance. It is compiled once for both instances. */
  share (pattern: string, other: Patterns): void {
    this.add(pattern, other.of(pattern))
  }

  private of (pattern: string): KnownPattern {
    return this.known.get(pattern) ?? this.add(pattern, { size: sizeOf(pattern), compiled: null })
  }

  private add (pattern: string, knownPattern: KnownPattern): KnownPattern {
    if (this.known.has(pattern)) return knownPattern
    this.known.set(pattern, knownPattern)
    this.sum += knownPattern.size
    return knownPattern
  }
}

function attempt (pattern: string): CompiledPattern | Error {
  try {
    return compilePattern(pattern)
  } catch (error) {
    return error as Error
  }
}

function sizeOf (pattern: string): number {
  const { instructions, tables } = patternSize(pattern)
  return Math.ceil(instructions + tables)
}

function formatSize (size: number): string {
  return size > 1e12 ? 'more than 10^12' : String(size)
}

/**
 * Escapes that mean one thing to RE2 and another to ECMA-262 without the `u` flag. Without the flag, `\Q` is a letter and `\u{61}` is 61
 * times the letter u.
 */
const RE2_ONLY = /\\(?:[QEAzaCpPk1-9]|u(?![\dA-Fa-f]{4})|x(?![\dA-Fa-f]{2})|c(?![A-Za-z])|0\d)/

/** @throws Error in plain words when the pattern cannot be used */
export function compilePattern (pattern: string): CompiledPattern {
  const newer = newerConstruct(pattern)
  if (newer !== null) {
    throw new Error(
    `the pattern ${quoted(pattern, 100)} is not supported: it has ${newer}, which ECMA-262 allows only since 2025`
    )
  }
  if (!isEcma(pattern)) throw new Error(`the pattern ${quoted(pattern, 100)} is not a valid ECMA-262 regular expression`)
  const construct = unsupported(pattern)
  if (construct !== null) throw new Error(`the pattern ${quoted(pattern, 100)} cannot run in linear time: ${construct} is not supported`)
  const size = sizeOf(pattern)
  if (size > MAX_PATTERN_SIZE) {
    throw new Error(
      `the pattern ${quoted(pattern, 100)} is too large: it compiles to ${formatSize(size)} instructions, more than ${MAX_PATTERN_SIZE}; ` +
        'use fewer or shorter repetitions'
    )
  }
  // RE2 is loaded with the first pattern. A start without patterns does not load it (measured: 14 ms of processor time).
  const { RE2JS } = require('re2js') as typeof Re2
  let compiled: RE2JS
  try {
    const text = RE2JS.translateRegExp(toRe2(pattern))
    compiled = RE2JS.compile(pattern.includes('^') && patternSize(pattern).copies > MAX_COPIES ? `(${text})` : text)
  } catch (error) {
    throw new Error(
      `the pattern ${quoted(pattern, 100)} cannot run in linear time: ` +
        `${visible((error as Error).message.replace('error parsing regexp: ', ''), 100)}`
    )
  }
  return { test: text => compiled.matcher(text).find(), toString: () => pattern, size: compiled.programSize() }
}

/** Matches an escape, a class, or the beginning of a group. Text inside a class or after a backslash is not a construct. */
const CONSTRUCT = /\\k<[^>]*>|\\[1-9]\d*|\\[^]|\[(?:\\[^]|[^\]\\])*\]|\(\?<?[=!]|\{\d+(?:,\d*)?\}/gu
const MAX_REPEAT = 1000

/** @returns the name of the first construct that no linear-time engine supports; null when there is none */
function unsupported (pattern: string): string | null {
  for (const [text] of pattern.matchAll(CONSTRUCT)) {
    if (text.startsWith('(?<')) return `look-behind ${text}`
    if (text.startsWith('(?')) return `look-ahead ${text}`
    if (/^\\(?:k<|[1-9])/.test(text)) return `back-reference ${visible(text, 20)}`
    if (text.startsWith('{') && (text.match(/\d+/g) ?? []).some(count => Number(count) > MAX_REPEAT)) {
      return `repeat count over ${MAX_REPEAT} ${visible(text, 20)}`
    }
  }
  return null
}

/** Modifiers, or the beginning of a named group. The bounds keep the search linear: no group of use has a longer name. */
const GROUP = /\(\?(?:[a-z-]{1,12}:|<([^=!>][^>]{0,99})>)/y

/**
 * Finds syntax that V8 12.5 added. Node 20 and 22 reject it, so that the answer must not be the engine's.
 * @returns what the syntax is: modifiers, or two groups with one name; null when there is none
 */
function newerConstruct (pattern: string): string | null {
  const names = new Set<string>()
  let isClass = false
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i]
    if (char === '\\') i++
    else if (char === '[' || char === ']') isClass = char === '['
    else if (char === '(' && !isClass && pattern[i + 1] === '?') {
      GROUP.lastIndex = i
      const [text, name] = GROUP.exec(pattern) ?? []
      if (text === undefined) continue
      if (name === undefined) return `the modifiers ${text}`
      if (names.has(name)) return 'two groups with one name'
      names.add(name)
    }
  }
  return null
}

/**
 * Tells whether a text is a regular expression of ECMA-262 2024: with every version of Node the same. It is also the format `regex` of
 * JSON Schema.
 */
export function isRegex (text: string): boolean {
  return newerConstruct(text) === null && isValid(text, 'u')
}

function isEcma (pattern: string): boolean {
  // Without the flag, unnecessary escapes such as `\-` and `\@` are valid. They are common in published schemas.
  return isValid(pattern, 'u') || (!RE2_ONLY.test(pattern) && isValid(pattern, ''))
}

function isValid (pattern: string, flags: 'u' | ''): boolean {
  try {
    // eslint-disable-next-line no-new
    new RegExp(pattern, flags)
    return true
  } catch {
    return false
  }
}

/** WhiteSpace and LineTerminator of ECMA-262, and their complement, as ranges of a class. RE2's `\s` is only five ASCII characters. */
const SPACE = '\\t-\\r\\u0020\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'
const NO_SPACE =
  '\\u0000-\\u0008\\u000e-\\u001f\\u0021-\\u009f\\u00a1-\\u167f\\u1681-\\u1fff\\u200b-\\u2027\\u202a-\\u202e\\u2030-\\u205e\\u2060-\\u2fff\\u3001-\\ufefe\\uff00-\\u{10ffff}'

const ATOM = /\\c[A-Za-z]|\\u\{[^}]*\}|\\u[\dA-Fa-f]{4}|\\x[\dA-Fa-f]{2}|\\[pP]\{[^}]*\}|\\?[^]/uy
const CLASS_ESCAPE = /^\\[dDwWsSpP]/

/**
 * Rewrites the parts of a pattern that RE2 reads differently: `.`, `\s` and `\S` everywhere. In a class: `[`, because RE2 looks for
 * `[:alpha:]`, and a dash beside a class escape, as in `[\w-.]`.
 */
function toRe2 (pattern: string): string {
  let at = 0
  const next = (): string => {
    ATOM.lastIndex = at
    const atom = ATOM.exec(pattern)?.[0] ?? ''
    at += atom.length
    return atom
  }
  let text = ''
  while (at < pattern.length) {
    const atom = next()
    if (atom === '.') text += '[^\\n\\r\\u2028\\u2029]'
    else if (atom === '\\s' || atom === '\\S') text += `[${inClass(atom)}]`
    else if (atom !== '[') text += atom
    else {
      text += atom
      if (pattern[at] === '^') text += next()
      while (at < pattern.length && pattern[at] !== ']') {
        const low = next()
        const isRange = pattern[at] === '-' && at + 1 < pattern.length && pattern[at + 1] !== ']'
        text += inClass(low)
        if (!isRange) continue
        const dash = next()
        const high = next()
        text += (CLASS_ESCAPE.test(low) || CLASS_ESCAPE.test(high) ? `\\${dash}` : dash) + inClass(high)
      }
      text += next()
    }
  }
  return text
}

function inClass (atom: string): string {
  switch (atom) {
    case '\\s': return SPACE
    case '\\S': return NO_SPACE
    case '\\b': return '\\u0008'
    case '[': case '-': case '^': return `\\${atom}`
    default: return atom
  }
}
