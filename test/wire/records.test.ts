import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { LONG } from '#wire/json/lazy-string.js'
import { parseStrict } from '#wire/json/json.js'
import { parseRecords, readRecords } from '#wire/json/records.js'
import { parseSlowly } from '../fuzz/oracles/slow-json.js'
import { check } from '../helpers/seed.js'

const LIMITS = { depth: 64, members: 100_000 }

const read = (text: string, limits = LIMITS): unknown => readRecords(Buffer.from(text), limits, LONG)?.value

const ascii = fc.string({ unit: fc.constantFrom(...'abcdefgh "\\{}[],:1\n\u0001\u007f'), maxLength: 30 })
const name = fc.oneof(fc.constantFrom('id', 'name', 'a longer name', 'constructor', '7', '0', 'a"b', ''), ascii)
const numbers = [-0, 0.1, 19.99, 1e21, 123456789012345, 1e-7]
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(...numbers))
const scalar = fc.oneof(number, ascii, fc.constantFrom(true, false, null, 'a text that recurs', 'a text which recurs'))
const value = fc.oneof({ weight: 4, arbitrary: scalar }, { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) })

const recordOf = (names: readonly string[], values: readonly unknown[]): object =>
  Object.fromEntries(names.map((one, i) => [one, values[i]]))

/** Tables: rows of the same members, some with other members, and tables in tables. */
const table = fc.uniqueArray(name, { minLength: 1, maxLength: 4 }).chain(names =>
  fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.tuple(...names.map(() => value)).map(values => recordOf(names, values)) },
      { weight: 1, arbitrary: fc.dictionary(name, value, { maxKeys: 4 }) },
      { weight: 1, arbitrary: scalar }
    ),
    // Objects in a row are made by `objectMaker` from the ninth on.
    { maxLength: 24, size: 'max' }
  )
)
const tables = fc.oneof(table, fc.array(fc.record({ rows: table, at: fc.record({ x: number, y: number }) }), { maxLength: 4 }))
const blanks = fc.constantFrom(undefined, 1, 2, '\t')

t.test('a table is read as the oracle reads it', async t => {
  let rows = 0
  t.ok(check('wire/records/json-parse', fc.property(tables, blanks, (rowsOf, space) => {
    const text = JSON.stringify({ rows: rowsOf }, null, space)
    const found = readRecords(Buffer.from(text), LIMITS, LONG)
    const exact = parseStrict(Buffer.from(text), LIMITS, 0)
    if (found === null) return
    rows++
    equal(JSON.stringify(found.value), JSON.stringify(parseSlowly(text)))
    same(found.value, parseSlowly(text))
    equal(exact.ok, true)
    same(found.tokens, exact.ok && exact.inexact !== undefined ? Reflect.get(exact.inexact, 'tokens') : null)
  })) > 0, 'inputs')
  // Only names such as __proto__ leave a table to the exact parser.
  t.ok(rows > 20)
})

t.test('a table with one wrong byte is read like the exact parser reads it', async t => {
  t.ok(check('wire/records/one-byte', fc.property(tables, fc.nat(), fc.constantFrom(...'",:{}[]\\ 0e-.x\n\u0000'), (rows, at, byte) => {
    const bytes = Buffer.from(JSON.stringify(rows).repeat(1))
    bytes[at % bytes.length] = byte.charCodeAt(0)
    const found = readRecords(bytes, LIMITS, LONG)
    const exact = parseStrict(bytes, LIMITS, 0)
    if (found === null) return
    equal(exact.ok, true)
    if (exact.ok) same(found.value, exact.value)
  })) > 0, 'inputs')
})

t.test('the exact parser reads what is unclear, and what it rejects', async t => {
  for (const text of [
    '[{"a":1},{"a":2,"a":3}]',
    '[{"a":1,"a":2}]',
    '[{"a":1},{"a":1 2}]',
    '[{"a":1},{"a":01}]',
    '[{"a":1},{"a":1.}]',
    '[{"a":1},{"a":.5}]',
    '[{"a":1},{"a":-}]',
    '[{"a":1},{"a":"\n"}]',
    '[{"a":1},{"a":"\\x"}]',
    '[{"a":1},{"a":1},]',
    '[{"a":1},{"a":1}',
    '[{"a":1},{"a":1}]]',
    '[{"a":1},{"a":nul}]',
    '[{"__proto__":1}]',
    `[{"a":"${'x'.repeat(LONG + 1)}"}]`
  ]) {
    t.equal(readRecords(Buffer.from(text), LIMITS, LONG), null, text)
  }
})

t.test('limits', async t => {
  t.strictSame(read('[[1,2],{"a":3}]', { depth: 2, members: 5 }), [[1, 2], { a: 3 }])
  t.equal(read('[[1,2],{"a":3}]', { depth: 2, members: 4 }), undefined)
  t.equal(read('[[1,2],{"a":3}]', { depth: 1, members: 5 }), undefined)
  // The values of an object that differs from its predecessor near its end are read twice, and count once.
  t.strictSame(read('[{"a":[1,2],"b":1},{"a":[1,2],"c":1}]', { depth: 3, members: 10 }), [{ a: [1, 2], b: 1 }, { a: [1, 2], c: 1 }])
})

t.test('numbers that may be inexact are listed once', async t => {
  const text = '[{"a":1e400,"b":1},{"a":12345678901234567,"c":0.5},{"a":0.12345678901234567,"c":1}]'
  t.strictSame(readRecords(Buffer.from(text), LIMITS, LONG)?.tokens, [6, 11, 24, 41, 56, 75])
})

t.test('an escape is found again in an object that is read twice', async t => {
  const text = '[{"a":"x","b":1},{"a":"\\u0041","c":"\\n"},{"a":"plain text of some length","c":"\\n"}]'
  same(read(text), parseSlowly(text))
  const faulty = '[{"a":"x","b":1},{"a":"\\n","c":"\n"}]'
  t.equal(read(faulty), undefined)
})

t.test('a string of a table keeps nothing else in memory', async t => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const rows = Array.from({ length: 4_000 }, (_, i) => ({ id: `a rather long name ${i}` }))
  const text = Buffer.from(JSON.stringify(rows))
  const kept: string[] = []
  gc()
  const before = process.memoryUsage().heapUsed
  for (let i = 1; i < 100; i++) kept.push((parseRecords(text, LIMITS, LONG)?.value as typeof rows)[i]?.id ?? '')
  gc()
  // V8 makes substrings of 13 characters or more that refer to the whole text.
  t.equal(process.memoryUsage().heapUsed - before < 10 * text.length, true)
  t.equal(kept[98], 'a rather long name 99')
})

t.test('the parser gives up when it reads most objects twice', async t => {
  // Each object differs from its predecessor only at its end, on every level.
  const nested = (depth: number): string => depth === 0 ? '1' : `[{"a":[],"b":1},{"a":${nested(depth - 1)},"c":1}]`
  const text = Buffer.from(`{${Array.from({ length: 300 }, (_, i) => `"k${i}":${nested(14)}`).join(',')}}`)
  // Without a bound, the text is read in 24 s. The parser gives up after 10 ms.
  t.equal(readRecords(text, LIMITS, LONG), null)
})

t.test('the parser only reads text of many short strings', async t => {
  const dense = Buffer.from(JSON.stringify(Array.from({ length: 100 }, (_, i) => ({ id: i, name: 'n' }))))
  same(parseRecords(dense, LIMITS, LONG)?.value, parseSlowly(dense))
  for (const other of [dense.subarray(0, 500), Buffer.from(JSON.stringify(['x'.repeat(3_000)])), Buffer.from(JSON.stringify(['\\"'.repeat(900)]))]) {
    t.equal(parseRecords(other, LIMITS, LONG), null)
  }
})
