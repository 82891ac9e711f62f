/** The estimated size of a pattern is known before its compilation, and is never less than the size of the compiled pattern. */
import { createRequire } from 'node:module'
import fc from 'fast-check'
import type * as Re2 from 're2js'
import t from 'tap'
import { patternSize } from '#jsonschema/pattern-size.js'
import { compilePattern, MAX_PATTERN_SIZE, MAX_PATTERNS_SIZE, Patterns } from '#jsonschema/regexp.js'
import { check } from '../helpers/seed.js'

const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof Re2
const realSize = (pattern: string): number => RE2JS.compile(RE2JS.translateRegExp(pattern)).programSize()

const ATOMS = [
  'a',
  'bc',
  '.',
  '[a-z]',
  '[^\\d]',
  '\\p{L}',
  '[\\p{L}\\p{N}]',
  '\\b',
  '^',
  '$',
  '\\.',
  '\\u0041',
  '\\x41',
  '[]',
  '[^]',
  '(?:)',
  '()',
  '(?<n>a)',
  '|',
  'ab|ac',
  '\\w',
  '😀',
  '}',
  ']',
  '{',
  ','
]
const QUANTIFIERS = ['', '', '*', '+', '?', '*?', '{0}', '{1}', '{3}', '{0,4}', '{2,}', '{0,}', '{2,7}', '{5}?', '{12}']

const pattern: fc.Arbitrary<string> = fc.letrec<{ pattern: string; item: string }>(tie => ({
  pattern: fc.array(tie('item'), { maxLength: 5 }).map(items => items.join('')),
  item: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom(...QUANTIFIERS)).map(([atom, quantifier]) => atom + quantifier),
    fc
      .tuple(fc.constantFrom('(', '(?:'), tie('pattern'), tie('pattern'), fc.constantFrom(...QUANTIFIERS))
      .map(([open, one, other, quantifier]) => `${open}${one}|${other})${quantifier}`),
    fc
      .tuple(fc.constantFrom('(', '(?:'), tie('pattern'), fc.constantFrom(...QUANTIFIERS))
      .map(([open, one, quantifier]) => `${open}${one})${quantifier}`)
  )
})).pattern

t.test('the computed size is an upper bound of the compiled size', async t => {
  const compared = { count: 0, computed: 0, real: 0 }
  check('policy/pattern-size/upper-bound', fc.property(pattern, text => {
    const { instructions } = patternSize(text)
    if (instructions > 3_000) return
    let real: number
    try {
      real = realSize(text)
    } catch {
      return
    }
    compared.count++
    compared.computed += instructions
    compared.real += real
    if (real > instructions) throw new Error(`${JSON.stringify(text)} compiles to ${real} instructions, computed: ${instructions}`)
  }), { numRuns: 1_500 })
  t.ok(compared.count > 400, `enough patterns were valid: ${compared.count}`)
  t.ok(compared.computed < 4 * compared.real, `the bound is not far off: ${compared.computed} computed, ${compared.real} real`)
})

t.test('common patterns are far below the limit, and computed closely', async t => {
  const rows: readonly (readonly [string, number])[] = [
    ['^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$', 50],
    ['^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$', 400],
    ["^[\\p{L}\\p{N} .'-]{1,200}$", 600],
    ['^.{0,1000}$', 2_100],
    ['^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])T[0-2]\\d:[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]\\d{2}:\\d{2})$', 80],
    ['^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|$)){4}$'.replace('(?!$)', ''), 120],
    [
      '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?$',
      120
    ]
  ]
  t.same(rows.filter(([text, most]) => {
    const { instructions, tables } = patternSize(text)
    return instructions + tables > most || realSize(text) > instructions || realSize(text) * 2 < instructions
  }).map(([text]) => [text, patternSize(text), realSize(text)]), [])
  for (const [text] of rows) compilePattern(text)
})

/** A few hundred characters each. */
const HUGE: Readonly<Record<string, string>> = {
  '700 bytes': `(?:${'a'.repeat(690)}){1000}`,
  'optional characters': `(?:${'a?'.repeat(345)}){1000}`,
  'a repeated repetition': `(?:(?:${'ab'.repeat(100)}){31}){31}`,
  alternatives: `(?:${Array.from({ length: 100 }, (_, i) => `x{0,9}y${i}`).join('|')}){50}`,
  groups: '((a)(b)){1000}'.repeat(5),
  'counted characters of Unicode': '\\p{L}{1000}'.repeat(50),
  'tables of Unicode': '\\p{L}x'.repeat(500),
  'counted alternation': '(?:a|bc|def|g{0,3}){999}',
  'nothing, often': '(?:(?:){1000}){1000}'.repeat(30),
  'nested groups': `${'('.repeat(2_500)}a${')'.repeat(2_500)}`,
  classes: `[${'a-cx'.repeat(20_000)}]`
}

t.test('a pattern that would compile to too much is rejected before it is compiled', async t => {
  t.same(Object.entries(HUGE).filter(([, text]) => {
    const { instructions, tables } = patternSize(text)
    if (instructions + tables <= MAX_PATTERN_SIZE) return true
    try {
      compilePattern(text)
      return true
    } catch (error) {
      return !/^the pattern ".*" is too large: it compiles to \d+ instructions, more than 5000; use fewer or shorter repetitions$/.test(
        (error as Error).message
      )
    }
  }).map(([name, text]) => [name, patternSize(text)]), [])
})

t.test('a repeated Unicode table is stored once, with the same matches', async t => {
  const counted = compilePattern('^[\\p{L}\\p{N}]{900}$')
  t.ok(patternSize('^[\\p{L}\\p{N}]{900}$').copies > 500, 'the copies would be large')
  t.same(
    ['é'.repeat(900), 'é'.repeat(899), 'é'.repeat(901), `${'é'.repeat(899)}!`].map(text => counted.test(text)),
    [true, false, false, false]
  )
  t.same(['a1', 'a!', '!a', ''].map(text => compilePattern('^[\\p{L}\\p{N}]{1,900}$').test(text)), [true, false, false, false])
})

t.test('patterns are compiled once and counted together', async t => {
  const patterns = new Patterns(MAX_PATTERNS_SIZE)
  t.equal(patterns.compile('^a+$'), patterns.compile('^a+$'))
  for (let i = 0; i < 7; i++) {
    try {
      patterns.compile(`(?:abc${i}){999}`)
    } catch (error) {
      t.match(
        (error as Error).message,
        i === 6 ? /the patterns of the card compile to 27993 instructions together, more than 25000/ : /never/
      )
    }
  }
  t.equal(patterns.exceeded, true)
  t.match(patterns.problem, /together/)
  const other = new Patterns(MAX_PATTERNS_SIZE)
  other.adopt(patterns)
  t.equal(other.exceeded, true)
  t.equal(new Patterns().exceeded, false)
})
