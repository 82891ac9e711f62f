import t from 'tap'
import fc from 'fast-check'
import { compilePattern, isRegex } from '#jsonschema/regexp.js'
import { check } from '../helpers/seed.js'

const ATOMS = [
  'a',
  'b',
  '[',
  '^',
  ']',
  ':',
  '-',
  '\\d',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '\\D',
  '(',
  ')',
  '{',
  '}',
  '1',
  ',',
  '*',
  '+',
  '?',
  '.',
  '|',
  '$',
  '\\b',
  '\\B',
  '\\.',
  '\\]',
  '\\[',
  '\\/',
  '\\-',
  '(?:',
  '(?<n>',
  '[:alpha:]',
  '[:',
  '\\u0041',
  '\\x41',
  '\\t',
  '\\n',
  '\\v',
  '\\f',
  '\\p{L}',
  '\\P{L}',
  '&&',
  '--',
  '\\\\',
  '\\cJ',
  '\\0',
  '[^',
  '\\u{1F600}',
  ' '
]
const TEXTS = [
  '',
  'a',
  'b',
  'A',
  '1',
  ':',
  '-',
  '[',
  ']',
  '^',
  ' ',
  '\n',
  '\r',
  '\u2028',
  '\u00a0',
  '\ufeff',
  '\u000b',
  '\u000c',
  '\t',
  '\u0085',
  '\u180e',
  'ab',
  'a b',
  'aa',
  '{',
  '}',
  ',',
  'é',
  '_',
  '.',
  'l',
  'p',
  '😀',
  'K',
  '\u0000',
  '&',
  '\\',
  's',
  'S',
  'a1',
  'aaa',
  '|',
  '$',
  '(',
  'a\n',
  '\u3000'
]

t.test('a pattern that compiles matches what ECMA-262 matches', async t => {
  t.ok(check('policy/regexp/ecma-262', fc.property(fc.array(fc.constantFrom(...ATOMS), { minLength: 1, maxLength: 7 }), atoms => {
    const pattern = atoms.join('')
    let unicode = true
    let native: RegExp
    try {
      native = new RegExp(pattern, 'u')
    } catch {
      unicode = false
      try {
        native = new RegExp(pattern)
      } catch {
        return
      }
    }
    let ours
    try {
      ours = compilePattern(pattern)
    } catch {
      return
    }
    for (const text of TEXTS) {
      if (!unicode && text === '😀') continue // two units without the flag, one code point in RE2
      if (native.test(text) !== ours.test(text)) {
        throw new Error(`${JSON.stringify(pattern)} on ${JSON.stringify(text)}: ECMA-262 says ${String(native.test(text))}`)
      }
    }
  }), { numRuns: 4_000 }) > 0, 'inputs')
})

t.test('classes and dots mean the same as in ECMA-262', async t => {
  const cases: [string, string, boolean][] = [
    ['^\\S+$', 'a\u00a0b', false],
    ['^\\s$', '\u2028', true],
    ['^[\\s]$', '\ufeff', true],
    ['^[^\\S]$', '\u3000', true],
    ['^[\\S]$', '\u00a0', false],
    ['^.$', '\r', false],
    ['^.$', '😀', true],
    ['^[.]$', 'x', false],
    ['^[[:alpha:][x]$', 'q', false],
    ['^[[:alpha:][x]$', 'ax', true],
    ['^[^]$', '\n', true],
    ['[]', 'x', false],
    ['^[\\s-x]$', '-', true],
    ['^[\\w-.]+@$', 'a-.b@', true],
    ['^[a-\\s]$', '-', true],
    ['^(?<year>\\d{4})$', '2026', true],
    ['^\\p{L}+$', 'é', true],
    ['^\\-\\@$', '-@', true],
    ['^\\u0041\\x42\\cJ$', 'AB\n', true],
    ['^a{2,3}$', 'aaa', true]
  ]
  for (const [pattern, text, expected] of cases) {
    t.equal(compilePattern(pattern).test(text), expected, `${pattern} ${encodeURIComponent(text)}`)
  }
})

t.test('syntax of 2025 is rejected with every version of Node, and a search for it is linear', async t => {
  for (const pattern of ['(?i:a)', 'a(?-i:b)', '(?ims-:a)', '[(](?s:.)', '(?<n>a)|(?<n>b)']) {
    t.throws(() => compilePattern(pattern), /which ECMA-262 allows only since 2025$/, pattern)
    t.equal(isRegex(pattern), false, pattern)
  }
  for (const pattern of ['(?:a)', '[(?i:]', '\\(\\?i:', '(?<n>a)(?<m>b)', '[(?<n>)](?<n>a)', '(?<n>a)']) t.equal(isRegex(pattern), true, pattern)
  // A search that is quadratic takes minutes for these.
  for (const piece of ['[', '(?<', '(?i', '(?<n', '(']) t.equal(isRegex(piece.repeat(100_000)), false, piece)
})

t.test('constructs that RE2 does not support are rejected with a message', async t => {
  for (const [pattern, construct] of [
    ['(?=a)', 'look-ahead (?='],
    ['^(?!x).*$', 'look-ahead (?!'],
    ['(?<=a)b', 'look-behind (?<='],
    ['(?<!a)b', 'look-behind (?<!'],
    ['[(?=]\\(?=(?!x)', 'look-ahead (?!'],
    ['(a)\\1', 'back-reference \\1'],
    ['(?<n>a)\\k<n>', 'back-reference \\k<n>'],
    ['a{1001}', 'repeat count over 1000 {1001}'],
    ['a{2,5000}', 'repeat count over 1000 {2,5000}']
  ] as const) {
    t.throws(
      () => compilePattern(pattern),
      { message: new RegExp(` cannot run in linear time: ${construct.replace(/[^\w ]/g, '\\$&')} is not supported$`) },
      pattern
    )
  }
  t.throws(() => compilePattern('((a{100}){100}){100}'), /is too large: it compiles to \d+ instructions/)
  t.equal(compilePattern('[(?=]\\(\\?=\\\\1').test('=(?=\\1'), true, 'where it is no such construct')
  for (const pattern of ['(', '[', '*', '\\Qa\\E', '\\Aab\\z', '\\pL', '(?i)a', '(?P<n>a)']) {
    t.throws(() => compilePattern(pattern), /is not a valid ECMA-262 regular expression$|cannot run in linear time/, pattern)
  }
  t.throws(() => compilePattern('('.repeat(300)), { message: /^the pattern ".{97}\.\.\." is not/ }, 'long ones are clipped')
  t.throws(
    () => compilePattern('\u009b\u202e('),
    { message: /^the pattern "\\u009b\\u202e\(" is not/ },
    'control characters do not reach a log'
  )
})

t.test('nested quantifiers on a long text', async t => {
  const text = `${'a'.repeat(100_000)}!`
  t.equal(compilePattern('^(a+)+$').test(text), false)
  t.equal(compilePattern('^(a|aa)*$').test(text), false)
  t.equal(compilePattern('(.*a){20}b').test(text), false)
})
