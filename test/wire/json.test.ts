import fc from 'fast-check'
import { deepStrictEqual as same, ok, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { findFault } from '#wire/json/fault.js'
import { parseStrict } from '#wire/json/json.js'
import { anyText } from '../helpers/any-text.js'
import { parseSlowly } from '../fuzz/oracles/slow-json.js'
import { check } from '../helpers/seed.js'
import { anyJsonText } from './fixtures/json-text.js'
import type { JsonLimits, JsonProblem } from '#wire/json/json-result.js'

const LIMITS: JsonLimits = { depth: 64, members: 100_000 }

function parse (text: string | Buffer, limits = LIMITS) {
  return parseStrict(Buffer.from(text as string), limits)
}

function problem (text: string | Buffer, limits = LIMITS): JsonProblem {
  const result = parse(text, limits)
  if (result.ok) throw new Error('accepted')
  return result.problem
}

/** The reading of the oracle: [value] or null. V8 13.6 reads escaped names wrongly, so `JSON.parse` is none. */
function native (text: string): [unknown] | null {
  try {
    return [parseSlowly(text)]
  } catch {
    return null
  }
}

t.test('accepted text is read as the oracle reads it', async (t) => {
  check('wire/json/accepts', fc.property(anyJsonText(), (text) => {
    const parsed = parse(text)
    same(parsed.ok ? parsed.value : parsed, parseSlowly(text))
  }))
  for (const text of ['0', '""', 'null', ' [ ] ', '{"\\ud800":"\\udfff"}', '{"":{"":{}}}', '"\\\\"', '["\\"","\\\\\\""]']) {
    t.same(parse(text), { ok: true, value: parseSlowly(text) }, text)
  }
})

t.test('it rejects what the oracle rejects, wherever a valid text is broken', async t => {
  const broken = fc
    .tuple(
      anyJsonText(),
      fc.nat(),
      fc.nat(3),
      fc.constantFrom('', '"', ',', ':', '{', '}', '[', ']', '\\', '0', '-', '.', 'e', ' ', '\t', 'tru', '\u0001', '\\u12')
    )
    .map(([text, at, cut, put]) => {
      const where = at % (text.length + 1)
      return text.slice(0, where) + put + text.slice(where + cut)
    })
    .filter(text => Buffer.from(text).toString() === text) // no half surrogate pairs
  t.ok(check('wire/json/rejects', fc.property(broken, (text) => {
    const expected = native(text)
    const bytes = Buffer.from(text)
    const fault = findFault(bytes)
    equal(fault === null, expected !== null, `the fault finder agrees: ${JSON.stringify(text)}`)
    const result = parse(text)
    if (expected === null) {
      ok(!result.ok)
      if (fault === null) return
      // The place is exact: what comes before can be continued, what comes up to it cannot.
      ok(fault.offset <= bytes.length)
      const before = findFault(bytes.subarray(0, fault.offset))
      ok(before === null || before.offset === fault.offset, 'the text before the fault is faultless so far')
    } else if (result.ok) {
      same(result.value, expected[0])
    } else {
      equal(result.problem.kind, 'duplicate')
    }
  }), { numRuns: 2000 }) > 0, 'inputs')
})

t.test('a syntax error names the place, not the data', async (t) => {
  const rows: [string, number, string][] = [
    ['{"secret":tru}', 13, 'the JSON is not valid at byte 13, where the word true was expected'],
    ['{"secret" 1}', 10, 'the JSON is not valid at byte 10, where a colon was expected'],
    ['{"é":1,}', 8, 'the JSON is not valid at byte 8, where a member name was expected'],
    ['[1 2]', 3, 'the JSON is not valid at byte 3, where a comma or "]" was expected'],
    ['{"a":1]', 6, 'the JSON is not valid at byte 6, where a comma or "}" was expected'],
    ['{secret}', 1, 'the JSON is not valid at byte 1, where a member name or "}" was expected'],
    ['01', 1, 'the JSON is not valid at byte 1, where the end of the body was expected'],
    ['-', 1, 'the JSON ends at byte 1, where a digit was expected'],
    ['[1,', 3, 'the JSON ends at byte 3, where a value was expected'],
    ['"secret', 7, 'the JSON ends at byte 7, inside a string'],
    ['"\\x"', 2, 'the JSON is not valid at byte 2, where a valid escape sequence was expected'],
    ['"\\u12g4"', 5, 'the JSON is not valid at byte 5, where four hexadecimal digits was expected'],
    ['"\u0000"', 1, 'the JSON is not valid at byte 1, where an escape sequence instead of a control character was expected'],
    ['secret', 0, 'the JSON is not valid at byte 0, where a value was expected']
  ]
  for (const [text, offset, message] of rows) t.same(problem(text), { kind: 'syntax', offset, message }, JSON.stringify(text))
})

t.test('duplicate members are rejected with their place', async (t) => {
  const rows: [string, string, number][] = [
    ['{"method":"a","method":"b"}', 'duplicate member "method" in the root object', 14],
    ['{"method":"a","m\\u0065thod":"b"}', 'duplicate member "method" in the root object', 14],
    ['{"params":{"message":{"parts":[{"text":"a" , "text":"a"}]}}}', 'duplicate member "text" in params.message.parts[0]', 45],
    ['[0,{"b":{}},[[],{"a":1,"a":{}}]]', 'duplicate member "a" in [2][1]', 23],
    ['{"__proto__":1,"__proto__":2}', 'duplicate member "__proto__" in the root object', 15],
    ['{"a b":{"\\u0000\\"é":1,"\\u0000\\"é":1}}', 'duplicate member "\\u0000\\"\\u00e9" in ["a b"]', 23],
    ['{"\\ud800":1,"\\ud800":1}', 'duplicate member "\\ud800" in the root object', 12],
    ['{"1":1,"2":[],"1":1}', 'duplicate member "1" in the root object', 14],
    ['{"":1,"":1}', 'duplicate member "" in the root object', 6]
  ]
  for (const [text, message, offset] of rows) t.same(problem(text), { kind: 'duplicate', offset, message }, text)
  const long = 'k'.repeat(500)
  t.equal(problem(`{"${long}":1,"${long}":1}`).message, `duplicate member "${'k'.repeat(40)}..." in the root object`)
  const deep = '{"a":'.repeat(20) + '{"b":1,"b":1}' + '}'.repeat(20)
  t.equal(problem(deep).message, `duplicate member "b" in ${Array(12).fill('a').join('.')}...`)
})

t.test('names that only look alike are not duplicates', async (t) => {
  for (const text of [
    '{"a":1,"A":1}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":":","b":"a:1,a:1"}',
    '{"__proto__":{"a":1},"constructor":1}',
    '{"é":1,"e\\u0301":1}'
  ]) {
    t.same(parse(text), { ok: true, value: parseSlowly(text) }, text)
  }
  const value = (parse('{"__proto__":{"polluted":true}}') as { value: object }).value
  t.ok(Object.hasOwn(value, '__proto__'))
  t.equal(Object.getPrototypeOf(value), Object.prototype)
})

t.test('a duplicate anywhere in a random document is found', async t => {
  t.ok(check('wire/json/duplicates', fc.property(anyJsonText(), anyJsonText(), anyText(), (one, two, name) => {
    const spelled = [...Array(name.length).keys()].map((i) => `\\u${name.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
    const text = `[${one},{"x":${one},${JSON.stringify(name + 'y')}:[${two}], "${spelled}y" :${one}},${two}]`
    const found = problem(text)
    equal(found.kind, 'duplicate')
    ok(found.message.endsWith(' in [1]'), found.message)
  })) > 0, 'inputs')
})

t.test('empty bodies, byte order marks and other encodings', async (t) => {
  t.same(problem(''), { kind: 'empty', offset: null, message: 'the body is empty, JSON was expected' })
  t.equal(problem(' \r\n\t').kind, 'empty')
  t.same(problem('\ufeff{}'), { kind: 'bom', offset: 0, message: 'the JSON begins with a byte order mark' })
  t.equal(problem(Buffer.from('\ufeff{}', 'utf16le')).kind, 'encoding')
  t.equal(problem(Buffer.from('{}', 'utf16le')).kind, 'syntax')
  t.equal(problem(Buffer.from([0x22, 0xc0, 0xaf, 0x22])).kind, 'encoding', 'overlong')
  t.equal(problem(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).kind, 'encoding', 'surrogate in UTF-8')
  t.equal(problem(Buffer.from([0x22, 0xe2, 0x82])).kind, 'encoding', 'cut short')
  t.same(parse('"\ufeff"'), { ok: true, value: '\ufeff' })
  t.equal(problem('\u00a0{}').kind, 'syntax', 'only four characters are JSON white space')
})

t.test('depth is bounded before anything is parsed', async (t) => {
  const nested = (depth: number) => '[{"a":'.repeat(depth / 2) + '0' + '}]'.repeat(depth / 2)
  t.ok(parse(nested(64)).ok)
  t.same(problem(nested(66)), { kind: 'depth', offset: 6 * 32, message: 'the JSON is nested deeper than 64 levels' })
  t.equal(problem('['.repeat(1_000_000)).kind, 'depth')
  t.ok(parse('[[],[],[[]]]', { depth: 3, members: 9 }).ok, 'closed containers do not count')
  t.ok(parse('["[[[[[["]', { depth: 1, members: 9 }).ok, 'brackets in strings do not count')
  t.ok(parse('{"a":'.repeat(20_000) + '0' + '}'.repeat(20_000), { depth: 20_000, members: 1e6 }).ok, 'no recursion of ours')
})

t.test('members and elements are counted exactly', async (t) => {
  const count = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0
    const inner: unknown[] = Object.values(value)
    return inner.reduce((sum: number, each) => sum + count(each), inner.length)
  }
  check('wire/json/counts', fc.property(anyJsonText(), (text) => {
    const members = count(parseSlowly(text))
    ok(parse(text, { depth: 64, members }).ok)
    if (members > 0) {
      same(problem(text, { depth: 64, members: members - 1 }), {
        kind: 'members',
        offset: null,
        message: `the JSON has more than ${members - 1} members and elements`
      })
    }
  }))
  t.equal(problem(`[${'0,'.repeat(100_000)}0]`).kind, 'members')
})

t.test('long strings end at their closing quote, with any escapes', async t => {
  const piece = fc.constantFrom('a'.repeat(31), 'b'.repeat(40), '\\\\', '\\"', '\\\\\\"', '\\n', ':', '{', 'é')
  t.ok(check('wire/json/long-strings', fc.property(fc.array(piece, { maxLength: 30 }), fc.array(piece), (one, two) => {
    const text = `{"${one.join('')}":"${two.join('')}","x":["${two.join('')}"]}`
    const parsed = parse(text)
    same(parsed.ok ? parsed.value : parsed, parseSlowly(text))
  }), { numRuns: 1000 }) > 0, 'inputs')
})

t.test('hostile strings stay linear', async (t) => {
  for (const text of [
    `"${'\\"'.repeat(500_000)}"`,
    `"${'\\\\'.repeat(500_000)}"`,
    `"${'a'.repeat(40)}${'\\'.repeat(999_999)}`,
    `[${'"",'.repeat(90_000)}""]`,
    `[${' '.repeat(1_000_000)}]`,
    `"${`\\"${'a'.repeat(33)}`.repeat(28_000)}"`
  ]) {
    const start = process.hrtime.bigint()
    t.equal(parse(text).ok, native(text) !== null)
    t.ok(Number(process.hrtime.bigint() - start) < 1e9, 'well under a second')
  }
})
