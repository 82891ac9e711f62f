import fc from 'fast-check'
import { deepStrictEqual as same, ok, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { isBackslashName, readExactly } from '#wire/json/exact-reader.js'
import { parseStrict } from '#wire/json/json.js'
import { hasEscapedName, parseJson } from '#wire/json/parse-json.js'
import type { Node } from '../fuzz/oracles/slow-json.js'
import { parseSlowly, readSlowly } from '../fuzz/oracles/slow-json.js'
import { check } from '../helpers/seed.js'
import { anyJsonText } from './fixtures/json-text.js'

const LIMITS = { depth: 64, members: 100_000 }

/** [value], or null for a text that is not JSON. */
function outcome (read: () => unknown): [unknown] | null {
  try {
    return [read()]
  } catch (error) {
    ok(error instanceof SyntaxError, String(error))
    return null
  }
}

function readsAs (text: string, expected: [unknown] | null): void {
  same(outcome(() => readExactly(text).value), expected, `readExactly: ${text}`)
  same(outcome(() => parseJson(text)), expected, `parseJson: ${text}`)
  same(outcome(() => parseJson(Buffer.from(text))), expected, `parseJson of bytes: ${text}`)
}

/** True when the text of a member name has a backslash. */
function escapes (node: Node, bytes: Buffer): boolean {
  if (node.kind === 'array') return node.items.some(item => escapes(item, bytes))
  if (node.kind !== 'object') return false
  return node.members.some(({ nameStart, nameEnd, value }) => bytes.subarray(nameStart, nameEnd).includes('\\') || escapes(value, bytes))
}

t.test('any text is read as the oracle reads it', async t => {
  t.ok(check('wire/parse-json/reads', fc.property(anyJsonText(), text => readsAs(text, [parseSlowly(text)])), { numRuns: 1000 }) > 0, 'inputs')
})

t.test('a text broken anywhere is rejected, and every text that is still JSON is read', async t => {
  const broken = fc
    .tuple(anyJsonText(), fc.nat(), fc.nat(3), fc.constantFrom('', '"', ',', ':', '{', '}', '[', ']', '\\', '0', '-', '.', 'e', ' ', '\u0001', '\\u12'))
    .map(([text, at, cut, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice(at % (text.length + 1) + cut))
    .filter(text => Buffer.from(text).toString() === text) // no half surrogate pairs
  t.ok(check('wire/parse-json/rejects', fc.property(broken, text => readsAs(text, outcome(() => parseSlowly(text)))), { numRuns: 2000 }) > 0, 'inputs')
})

t.test('an escape in a name is found, whatever else the text has', async t => {
  const piece = fc.constantFrom('\\\\', '\\"', '\\n', '\\u0061', 'a', ':', '{', '"', 'é')
  const string = fc.array(piece, { maxLength: 6 }).map(pieces => pieces.filter(one => one !== '"').join(''))
  const texts = fc.oneof(anyJsonText(), fc.array(fc.tuple(string, string), { maxLength: 5 })
    .map(pairs => `[{${pairs.map(([name, value]) => `"${name}" :"${value}"`).join(' , ')}}, "${string}"]`))
  t.ok(check('wire/parse-json/escaped-names', fc.property(texts, text => {
    const bytes = Buffer.from(text)
    const { root } = readSlowly(bytes)
    ok(root !== null)
    equal(hasEscapedName(text), escapes(root, bytes), text)
    same(outcome(() => parseJson(text)), [parseSlowly(text)])
  }), { numRuns: 2000 }) > 0, 'inputs')
})

t.test('names and values that parsers read differently', async t => {
  for (const text of [
    '{"\\u005f_proto__":{"a":1},"constructor":2}',
    '{"\\u0061":1,"b":2,"a":3}',
    '{"2":1,"\\u0031":2,"x":3,"1":4}',
    '{"\\ud800":"\\udfff","\\udfff":1}',
    '{"\\u0000":"\\u0000","\\"\\\\\\/\\b\\f\\n\\r\\t":1}',
    '{"\\u0061":[-0,1e400,-1e-400,12345678901234567890,0.1,1E+2,5e-324]}',
    '{"\\u0061":[],"b":{},"c":[{}],"":{"":[[]]}}',
    '{"\\u0061":true,"b":[false,null]}',
    ` {\t"\\u00e9" :\r\n"${'x'.repeat(40)}" , "é" : "\\u0041${'y'.repeat(40)}" } `
  ]) readsAs(text, [parseSlowly(text)])
  for (const text of [
    '', ' ', '{"\\u0061":1', '{"\\u0061":1}}', '{"\\u0061":1},', '{"\\u0061"}', '{"\\u0061":1,}', '{"\\u006":1}', '{"\\u006g":1}', '{"\\x":1}',
    '{"\\u0061":01}', '{"\\u0061":1.}', '{"\\u0061":+1}', '{"\\u0061":.5}', '{"\\u0061":1e}', '{"\\u0061":-}', '{"\\u0061":nul}', '{"\\u0061":"\n"}',
    '{"\\u0061":"\\x"}', '{"\\u0061\n":1}', '{"\\u0061":[1,]}', '{"\\u0061":[1}', '{\\u0061:1}', '{"\\u0061":1]', '{"\\u0061":"', '{"\\', '{"\\u0061',
    '\u00a0{"\\u0061":1}', '{"\\u0061":"\\', '{"\\u0061":\\u0031}'
  ]) readsAs(text, null)
  t.equal(Object.getPrototypeOf(parseJson('{"\\u005f_proto__":{"a":1}}')), Object.prototype)
  t.equal(Object.hasOwn(parseJson('{"\\u005f_proto__":{"a":1}}') as object, '__proto__'), true)
})

t.test('a text nests as deep as the engine allows', async t => {
  const deep = 200_000
  let value = parseJson(`{"\\u0061":${'['.repeat(deep)}${']'.repeat(deep)}}`) as { a: unknown }
  let depth = 0
  for (let next = value.a; Array.isArray(next); next = (next as unknown[])[0]) depth++
  t.equal(depth, deep)
  value = { a: null }
})

t.test('a message of a text with escaped names quotes nothing', async t => {
  for (const text of ['{"\\u0061":secret}', '{"\\u0061":"sec\\xret"}', '{"secret\\u006":1}']) {
    try {
      parseJson(text)
      parseSlowly(text)
    } catch (error) {
      t.ok(/^the JSON is not valid at character \d+$/.test((error as Error).message), (error as Error).message)
    }
  }
})

/** A `\u`, a `\/`, or a backslash at the end, which may become either of them. */
const OPTIONAL = /^(?:[^\\]|\\[^u/])*\\(?:u|\/|$)/

/**
 * Literal names, and escaped names that V8 13.6 reads as them (`JSON.parse` on Node 24). Each pair is tried behind members of its own, so
 * that one pair does not change what the engine expects in the next.
 */
const HIDDEN: readonly (readonly [literal: string, escaped: string])[] = [
  ['\\', '\\u0061'], ['\\', '\\n'], ['\\u', '\\u0061b'], ['\\u0', '\\u006fwn'], ['\\u00', '\\u0064ata'], ['\\u006', '\\u006bind5'],
  ['\\u0070', '\\u0070arts\\u0021'], ['p\\u0', 'p\\u0061rt'], ['parts\\', 'part\\u0073s'], ['https:\\/\\/a', 'https:\\/\\/a.b'], ['\\\\', '\\\\d'],
  ['\\"', '\\"d'], ['\\n', '\\na'], ['é\\u', 'é\\u0063d'], ['日\\u', '日\\u0063d']
]
let pairs = 0

t.test('no name that was read before hides another name', async t => {
  const around: readonly (readonly [string, (object: string) => string])[] = [
    ['short', object => object],
    ['scanned', object => `[${object},"${'x'.repeat(600)}"]`],
    ['long strings left out', object => `[${object},"${'x'.repeat(5_000)}"]`],
    ['long strings with escapes', object => `[${object},"${'\\n'.repeat(5_000)}"]`],
    ['beyond ASCII', object => `[${object},"日本${'語'.repeat(300)}"]`],
    ['the text of a mark', object => `[${object},"left out 0","${'x'.repeat(5_000)}"]`]
  ]
  for (const [name, wrap] of around) {
    for (const [literal, escaped] of HIDDEN) {
      const before = `{"x${pairs}":1,"y${pairs++}":1`
      const poison = `[${`${before},${JSON.stringify(literal)}:1},`.repeat(3)}0]`
      for (let i = 0; i < 3; i++) JSON.parse(poison)
      const text = wrap(`${before},"${escaped}":2}`)
      const expected = parseSlowly(text)
      t.same(parseJson(text), expected, `${name}: ${escaped}`)
      const strict = parseStrict(Buffer.from(text), LIMITS)
      t.same(strict.ok && strict.value, expected, `${name}, strict: ${escaped}`)
      t.same(parseStrict(Buffer.from(text), LIMITS, 0, Infinity), { ...strict }, `${name}, strict, without the scan: ${escaped}`)
    }
  }
  t.end()
})

t.test('rows of a table, names in other scripts and duplicates: each of our readers', async t => {
  for (const [literal, escaped] of HIDDEN) {
    const before = `{"x${pairs}":1,"y${pairs++}":1`
    const rows = `[${`${before},${JSON.stringify(literal)}:1},`.repeat(40)}${`${before},"${escaped}":1},`.repeat(40)}0]`
    for (let i = 0; i < 3; i++) JSON.parse(rows)
    const expected = parseSlowly(rows)
    const strict = parseStrict(Buffer.from(rows), LIMITS)
    t.same(strict.ok && strict.value, expected, escaped)
    t.equal(strict.ok && strict.backslashName === true, OPTIONAL.test(literal), `a name that may hide others is reported: ${literal}`)
    const name = (parseSlowly(`["${escaped}"]`) as string[])[0] as string
    const twice = parseStrict(Buffer.from(`{"a":1,"${escaped}":1,${JSON.stringify(name)}:2}`), LIMITS)
    t.equal(twice.ok ? '' : twice.problem.kind, 'duplicate')
  }
})

/** Whether the engine of this process reads `escaped` as the literal name after it has read the literal name. */
function engineHides (literal: string, escaped: string): boolean {
  const before = `{"p${pairs}":1,"q${pairs++}":1`
  const poison = `[${`${before},${JSON.stringify(literal)}:1},`.repeat(3)}0]`
  for (let i = 0; i < 3; i++) JSON.parse(poison)
  return Object.hasOwn(JSON.parse(`${before},"${escaped}":2}`) as object, literal)
}

/** Endings that complete any escape which a name may have begun. */
const ENDINGS = ['', 'n', 'u0000', '0', '00', '000', '0000']

/** A text that is longer than its name, begins with the literal name, and stands for a name of the same length; null for none. */
function hiddenBy (literal: string): string | null {
  for (const ending of ENDINGS) {
    const text = literal + ending
    const name = outcome(() => parseSlowly(`"${text}"`))?.[0] as string | undefined
    if (name !== undefined && name.length <= literal.length && name !== literal) return text + 'x'.repeat(literal.length - name.length)
  }
  return null
}

t.test('a backslash name is exactly a name that begins the escaped text of another name, with an escape that no writer needs', async t => {
  const letters = ['\\', '"', 'u', '0', 'n', 'd', '/', '\u0001']
  let names = ['']
  let found = 0
  const faulty = engineHides('\\u00', '\\u0064ata')
  t.comment(`this engine ${faulty ? 'reads' : 'does not read'} escaped names wrongly`)
  for (let length = 1; length <= 4; length++) {
    names = names.flatMap(name => letters.map(letter => name + letter))
    for (const name of names) {
      const escaped = hiddenBy(name)
      if (isBackslashName(name)) found++
      if (isBackslashName(name) !== (escaped !== null && OPTIONAL.test(name))) t.fail(`${JSON.stringify(name)}: ${escaped}`)
      else if (faulty && length <= 3 && escaped !== null && !engineHides(name, escaped)) t.fail(`no engine reads ${escaped} as ${name}`)
    }
  }
  t.ok(found > 100, `${found} names`)
  for (const name of ['\\d+', '\\server', '^\\w+$', 'C:\\Users\\x', 'C:\\new', '\\beta', '\\\\server', '\\n'.repeat(1e6), 'a', '', '\\u00g', '\\u12\\', 'a"\\', '\\x']) t.equal(isBackslashName(name), false, name)
  for (const name of ['\\', 'https:\\/\\/a', '\\u', '\\u00e', '\\u00e9', 'a\\', `${'a'.repeat(1e6)}\\`, '\\/'.repeat(1e6)]) t.equal(isBackslashName(name), true, name.slice(0, 20))
})
