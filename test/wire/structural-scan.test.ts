/**
 * The structural scan never changes a result of the strict parser. The plain code is the oracle: the same parser without the scan.
 */
import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { ChunkedBuffer } from '#wire/chunked-buffer.js'
import { parseStrict } from '#wire/json/json.js'
import { LONG } from '#wire/json/lazy-string.js'
import { SCANNED, scanStructure } from '#wire/json/structural-scan.js'
import { giveBack, MOST, RESERVED, take } from '#wire/shared-memory.js'
import { check } from '../helpers/seed.js'
import { anyJsonText } from './fixtures/json-text.js'
import type { JsonLimits } from '#wire/json/json-result.js'

const LIMITS: JsonLimits = { depth: 64, members: 100_000 }
const MIB = 1024 * 1024

/** Texts that {@link compare} has found equal. */
let compared = 0

/** Compares the parser with and without the scan. The comparison also covers the offsets of inexact numbers. */
function compare (text: string | Buffer, limits = LIMITS): void {
  const bytes = Buffer.from(text as string)
  compared++
  for (const long of [0, 7, LONG]) {
    same(parseStrict(bytes, limits, long, 0), parseStrict(bytes, limits, long, Infinity), bytes.toString('latin1').slice(0, 200))
  }
}

const scanned = (text: string, limits = LIMITS): ReturnType<typeof scanStructure> => scanStructure(Buffer.from(text), limits, 4)

t.test('the build contains the scan, and the scan finds what the parser needs', async (t) => {
  t.same(scanned('{"a":[1,"long text",{"name that is long":"with \\" in it"}],"b":1e5,"c":12345678901234567,"d":-1234567890.12345}'), {
    colons: 5,
    distinct: true,
    escapedNames: false,
    strings: [{ start: 9, end: 18, escapes: false }, { start: 42, end: 55, escapes: true }],
    numbers: [63, 66, 71, 88, 93, 110]
  })
  t.same(scanned('["four","fives"]')?.strings, [{ start: 9, end: 14, escapes: false }], 'only longer strings')
  t.equal(scanned('{"a":"\\n","b\\n" :1,"c":2}')?.escapedNames, true)
  t.equal(scanned('{"a":"\\n","b":"b\\n"}')?.escapedNames, false, 'values may have escapes')
  t.same(scanned('[]'), { colons: 0, distinct: true, escapedNames: false, strings: null, numbers: null })
})

/** Each value must be read alike wherever a block begins. */
const VALUES = [
  '"\\""', '"\\\\"', '"\\\\\\""', '"\\\\\\\\"', '"\\u00e9\\uD800x"', '"\\ud83d\\ude00"', '"\\/\\b\\f\\n\\r\\t"', '"é“😀"', '""', '"[{:,}]"',
  '1', '-0', '0.1', '1e5', '1E-7', '-1.5e+300', '1e400', '123456789012345', '1234567890123456', '12345678901234567890', '0.1234567890123456789',
  'true', 'false', 'null', '[]', '{}', '[ ]', '{ }', '[[],[{}],{"a":[]}]', '{"__proto__":{"__proto__":1}}', '{"a":1,"b":{"a":1}}',
  '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"a\\"":1,"a":2}', '{"é":1,"é":2}', '{"":1,"":2}', '{"12345678":1,"123456789":2,"1234567":3}',
  '{"a" : 1 , "b"\n:\t[ ] }'
]
const FAULTS = [
  '"\\x"', '"\\u12"', '"\\u12g4"', '"\\u 123"', '"\\', '"\\u', '"\\\\\\"', '"', '"\n"', '"\u0000"', '"\u001f"', '\\"', '\\', '\\"x"', '"a"\\"b"',
  '01', '1.', '.5', '+1', '1e', '--1', '1e5e5', 'tru', 'e', 'e5', 'truee5', '1,', ',', ':', '{"a"}', '{"a":}', '{1:2}', '{"a":1,}', '{"a"::1}',
  '[', ']', '{', '}', '[}', '{]', ']]][[[', '[1 2]', '"a""b"', '\ufeff', '\u00a0', '\u0001', '{"a":1 "b":2}', "'a'"
]

t.test('values and faults at every place of a block', async (t) => {
  for (const value of [...VALUES, ...FAULTS]) {
    for (const at of [...Array(12).keys(), ...Array.from({ length: 20 }, (_none, i) => 47 + i)]) {
      compare(' '.repeat(at) + value)
      compare(`${' '.repeat(at)}[${value}]`)
      compare(`{"${'x'.repeat(at)}":${value}}`)
    }
    for (const size of [63, 64, 65, 127, 128, 129]) {
      compare(`[${value}${' '.repeat(Math.max(0, size - value.length - 2))}]`)
      compare(`${value}${' '.repeat(Math.max(0, size - value.length))}`)
      compare(`["${'\\'.repeat(size)}",${value}]`)
      compare(`["${'é'.repeat(size)}\\",${value}`)
    }
  }
  t.equal(compared, (VALUES.length + FAULTS.length) * (32 * 3 + 6 * 4), 'no difference')
})

t.test('every character after a backslash, and every character in a string and outside of strings', async (t) => {
  const before = compared
  for (let code = 0; code < 256; code++) {
    for (const text of ['["\\#"]', '["\\u#000"]', '["\\u00#0"]', '["\\u000#"]', '["#"]', '#[]', '[#]', '["a"#"b"]', '{"a"#:1}']) {
      compare(Buffer.from(text.replace('#', String.fromCharCode(code)), 'latin1'))
      compare(text.replace('#', String.fromCharCode(code)))
    }
  }
  t.equal(compared - before, 256 * 9 * 2, 'no difference')
})

t.test('bytes that are no text, and texts that are empty', async (t) => {
  const before = compared
  const noText = [[], [0x20], [0x09, 0x0a], [0xef, 0xbb, 0xbf, 0x7b, 0x7d], [0x22, 0xc3, 0x28, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22]]
  for (const bytes of noText) {
    for (const pad of [0, 62, 64]) compare(Buffer.concat([Buffer.from(bytes), Buffer.alloc(pad, ' ')]))
    compare(Buffer.concat([Buffer.alloc(63, ' '), Buffer.from(bytes)]))
  }
  t.equal(compared - before, noText.length * 4, 'no difference')
})

t.test('any JSON, broken or not', async t => {
  t.ok(check(
    'wire/structural-scan/any',
    fc.property(
      anyJsonText(),
      fc.nat(70),
      fc.array(fc.tuple(fc.nat(4_000), fc.constantFrom(0, 9, ...Buffer.from('",:[]{}\\u0e'), 0xc3, 0xff)), { maxLength: 2 }),
      (text, shift, faults) => {
        const bytes = Buffer.from(' '.repeat(shift) + text)
        compare(bytes)
        equal(scanStructure(bytes, LIMITS, LONG) !== null, parseStrict(bytes, LIMITS, LONG, Infinity).ok, 'a valid text is not read twice')
        for (const [at, byte] of faults) bytes[at % bytes.length] = byte
        compare(bytes)
      }
    ),
    { numRuns: 300 }
  ) > 0, 'inputs')
})

t.test('limits are exact', async (t) => {
  const nested = (depth: number): string => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`
  for (const depth of [64, 510, 512, 514, 600]) {
    for (const limit of [depth - 1, depth, depth + 1, Infinity]) compare(nested(depth), { depth: limit, members: 10_000 })
  }
  t.not(scanned(nested(512), { depth: 512, members: 10_000 }), null)
  const list = (members: number): string => `[${'1,'.repeat(members - 2)}[2]]`
  for (const members of [63, 64, 65, 1000]) {
    for (const limit of [0, members - 1, members, members + 1, 2 ** 32, Infinity]) compare(list(members), { depth: 64, members: limit })
  }
  t.equal(scanned(list(100), { depth: 2, members: 99 }), null)
  t.not(scanned(list(100), { depth: 2, members: 100 }), null)
  t.equal(scanned(list(100), { depth: 1, members: 100 }), null)
})

t.test('more strings, numbers and names than the scan can list', async (t) => {
  const many = (count: number, item: (i: number) => string): string => Array.from({ length: count }, (_none, i) => item(i)).join(',')
  for (const count of [1_024, 1_025]) {
    const text = `[${many(count, i => `"string ${i}"`)}]`
    compare(text)
    t.equal(scanned(text) === null, count > 1_024)
  }
  for (const count of [6_144, 6_145]) {
    const text = `[${many(count, i => `${i}e1`)}]`
    compare(text)
    t.equal(scanned(text) === null, count > 6_144)
  }
  for (const count of [64, 65, 9_000]) {
    const names = many(count, i => `"name ${i}":${i}`)
    for (const text of [`{${names}}`, `{${names},"name 0":1}`, `{${names},"name ${count - 1}":1}`, `{"a":{${names}},"b":{${names}},"a":1}`]) compare(text)
    t.equal(scanned(`{${names}}`)?.distinct, count <= 64)
  }
  // Names of all open objects together.
  const open = '{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"t":'
  compare(`${open.repeat(511)}{}${'}'.repeat(511)}`, { depth: 512, members: 100_000 })
  compare(`${open.repeat(511)}{"a":1,"a":1}${'}'.repeat(511)}`, { depth: 512, members: 100_000 })
})

t.test('duplicates are found, and a collision of hashes is no duplicate', async (t) => {
  for (const size of [1, 7, 8, 9, 15, 16, 17, 64, 200]) {
    const name = 'n'.repeat(size)
    for (const other of [name, `${name}n`, `m${name.slice(1)}`, `${name.slice(1)}m`]) {
      compare(`{"${name}":1,"${other}":2}`)
      compare(`{"x":{"${name}":1},"${name}":2,"y":[{"${other}":{}}],"${other}":3}`)
    }
    equal(scanned(`{"${name}":1,"x":{"${name}":1},"y":[{"${name}":1},{"${name}":2}]}`)?.distinct, true)
    equal(scanned(`{"${name}":1,"x":{},"${name}":2}`)?.distinct, false)
  }
  // The second word of the other name cancels the difference that the first word makes to the state of the hash.
  const [one, two] = ['aaaaaaaabbbbbbbb', '21002210n@q^)E4M']
  const text = `{"${one}":1,"${two}":2}`
  t.equal(scanned(text)?.distinct, false, 'the scan cannot tell the names apart')
  t.same(parseStrict(Buffer.from(text), LIMITS, LONG, 0), { ok: true, value: { [one]: 1, [two]: 2 } })
})

t.test('large texts: each result with the memory that it needs', async (t) => {
  const text = (size: number): Buffer => Buffer.from(`{"a":"${'x\\n'.repeat(size / 3)}","b":[1,2]}`)
  for (const size of [100_000, MIB, 3 * MIB, MOST - 30, MOST + 10, 300, 20 * MIB]) {
    const bytes = text(size)
    same(parseStrict(bytes, LIMITS), parseStrict(bytes, LIMITS, LONG, Infinity))
    t.equal(scanStructure(bytes, LIMITS, LONG) === null, bytes.length > MOST, `${size} bytes`)
    const chunks = new ChunkedBuffer([bytes.subarray(0, 99), bytes.subarray(99)], bytes.length)
    same(parseStrict(chunks, LIMITS), parseStrict(bytes, LIMITS, LONG, Infinity))
  }
  const memory = take(1)
  giveBack()
  t.ok((memory?.memory?.buffer.byteLength ?? 0) <= RESERVED + MOST + 2 * 65_536, 'never more memory than for the largest text')
})

t.test('the scan of one body does not show in another body that shares the memory', async (t) => {
  const bytes = Buffer.from(`{"a":"${'a'.repeat(SCANNED)}"}`)
  const chunks = new ChunkedBuffer([bytes.subarray(0, 9), bytes.subarray(9)], bytes.length)
  const other = Buffer.from(`{"b":"${'b'.repeat(2 * SCANNED)}"}`)
  t.ok(chunks.withContiguous(lent => lent.equals(bytes)))
  parseStrict(other, LIMITS)
  t.ok(chunks.withContiguous(lent => lent.equals(bytes)), 'copied again')
  chunks.withContiguous(lent => {
    t.equal(scanStructure(other, LIMITS, LONG), null, 'memory in use is left alone')
    t.same(parseStrict(other, LIMITS), { ok: true, value: JSON.parse(other.toString()) })
    t.ok(lent.equals(bytes))
    t.not(scanStructure(lent, LIMITS, LONG), null, 'and scanned in place')
    t.ok(lent.equals(bytes), 'without a change')
    for (const part of [lent.subarray(1), lent.subarray(0, SCANNED)]) t.equal(scanStructure(part, LIMITS, LONG), null, 'but only as a whole')
    t.ok(lent.equals(bytes))
  })
})

t.test('without SIMD and without WebAssembly, the plain code reads everything', async (t) => {
  const script = `
    import { parseStrict } from ${JSON.stringify(new URL('../../src/wire/json/json.js', import.meta.url).href)}
    import { scanStructure } from ${JSON.stringify(new URL('../../src/wire/json/structural-scan.js', import.meta.url).href)}
    import { ChunkedBuffer } from ${JSON.stringify(new URL('../../src/wire/chunked-buffer.js', import.meta.url).href)}
    const limits = { depth: 64, members: 1000 }
    const bytes = Buffer.from(JSON.stringify({ a: 'x'.repeat(100_000), b: [1] }))
    const chunks = new ChunkedBuffer([bytes.subarray(0, 9), bytes.subarray(9)], bytes.length)
    const { value } = parseStrict(chunks, limits)
    console.log(scanStructure(bytes, limits, 4096) === null, JSON.stringify(value) === bytes.toString(), parseStrict(bytes, limits).ok)`
  const run = (...flags: string[]): string =>
    execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', script], { encoding: 'utf8' }).trim()
  t.equal(run(), 'false true true')
  t.equal(run('--jitless'), 'true true true')
  if (process.arch === 'x64') t.equal(run('--no-enable-sse4-1'), 'true true true')
})
