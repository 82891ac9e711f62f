import t from 'tap'
import { LONG } from '#wire/json/lazy-string.js'
import { objectMaker } from '#wire/json/object-maker.js'
import { readRecords } from '#wire/json/records.js'

const ROWS = 40
const LIMITS = { depth: 64, members: 100_000 }

t.test('the rows of a table have their names, whatever the names contain', async t => {
  for (const names of [
    ['id', 'name', 'a longer name'],
    ['constructor', 'toString', 'hasOwnProperty', 'valueOf'],
    ['v', 'values', 'n0', 'n1'],
    [']: (globalThis.fromName = 1), ["', '*/ }) //', '`$' + '{1}`', '\\', "'", '\u2028'],
    ['é', '', ' ', '\u0000', 'a"b']
  ]) {
    const rows = Array.from({ length: ROWS }, (_row, i) => Object.fromEntries(names.map((name, k) => [name, [i, `${k}`, null][k % 3]])))
    const text = JSON.stringify(rows)
    // The parser of records reads ASCII. Other names arrive as escapes.
    const ascii = Buffer.from(text.replace(/[^\x20-\x7e]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`))
    const value = readRecords(ascii, LIMITS, LONG)?.value
    t.equal(JSON.stringify(value), text)
    t.strictSame(value, rows)
  }
  t.equal(Reflect.get(globalThis, 'fromName'), undefined)
})

t.test('the rows of a table in a row do not share values', async t => {
  const rows = Array.from({ length: ROWS }, (_row, i) => ({
    id: i, rows: Array.from({ length: ROWS }, (_inner, k) => ({ id: i * k, rows: [], at: { x: i, y: k } }))
  }))
  t.strictSame(readRecords(Buffer.from(JSON.stringify(rows)), LIMITS, LONG)?.value, rows)
})

t.test('a function is made once for its names', async t => {
  const maker = objectMaker(['a', 'b'])
  t.strictSame(maker?.([1, 2]), { a: 1, b: 2 })
  t.equal(objectMaker(['a', 'b']), maker)
  t.strictSame(objectMaker(['b', 'a'])?.([1, 2]), { b: 1, a: 2 })
  t.equal(objectMaker(Array.from({ length: 33 }, (_name, i) => `n${i}`)), null)
  t.equal(objectMaker(['x'.repeat(600)]), null)
})

t.test('clients cannot make the process compile a function for each table', async t => {
  const makers = Array.from({ length: 300 }, (_names, i) => objectMaker([`column ${i}`]))
  t.equal(makers.filter(maker => maker === null).length > 0, true)
  t.strictSame(makers[0]?.([1]), { 'column 0': 1 })
  // Tables without a function of their own are read like the others.
  const rows = Array.from({ length: ROWS }, (_row, i) => ({ 'column of a late table': i, and: 'another' }))
  t.strictSame(readRecords(Buffer.from(JSON.stringify(rows)), LIMITS, LONG)?.value, rows)
})
