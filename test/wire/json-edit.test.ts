import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal, ok } from 'node:assert'
import t from 'tap'
import type { JsonEdit } from '#wire/json/edit.js'
import { editJson } from '#wire/json/edit.js'
import { memberSpan } from '#wire/json/span.js'
import { parseStrict } from '#wire/json/json.js'
import { parseSlowly } from '../fuzz/oracles/slow-json.js'
import { check } from '../helpers/seed.js'

type Steps = readonly (string | number)[]
type Row = readonly [before: string, edits: readonly (readonly [Steps, string | null])[], after: string]

const edit = (text: string, edits: readonly (readonly [Steps, string | null])[]): string =>
  editJson(Buffer.from(text), edits.map(([path, value]) => ({ path, value: value === null ? null : Buffer.from(value) }))).toString()

t.test('every kind of edit, byte for byte', async t => {
  const rows: readonly Row[] = [
    // one member: first, in the middle, last, the only one
    ['{"a":1, "b":2 ,"c":3}', [[['a'], null]], '{"b":2 ,"c":3}'],
    ['{"a":1, "b":2 ,"c":3}', [[['b'], null]], '{"a":1 ,"c":3}'],
    ['{"a":1, "b":2 ,"c":3 }', [[['c'], null]], '{"a":1, "b":2  }'],
    ['{ "a" : 1 }', [[['a'], null]], '{  }'],
    // several: neighbours, all, all but one, in any order
    ['{"a":1,"b":2,"c":3,"d":4}', [[['c'], null], [['b'], null]], '{"a":1,"d":4}'],
    ['{"a":1,"b":2,"c":3,"d":4}', [[['b'], null], [['a'], null]], '{"c":3,"d":4}'],
    ['{"a":1,"b":2,"c":3,"d":4}', [[['a'], null], [['c'], null]], '{"b":2,"d":4}'],
    ['{"a":1,"b":2,"c":3,"d":4}', [[['d'], null], [['b'], null]], '{"a":1,"c":3}'],
    ['{ "a":1, "b":2 }', [[['a'], null], [['b'], null]], '{  }'],
    // elements; indexes are those of the document as it was
    ['[1, 2, 3]', [[[0], null]], '[2, 3]'],
    ['[1, 2, 3]', [[[2], null], [[1], null]], '[1]'],
    ['[1, 2, 3]', [[[0], null], [[2], '"x"']], '[2, "x"]'],
    ['[ 1 ]', [[[0], null]], '[  ]'],
    ['[[1,2],[3,4]]', [[[0, 0], null], [[1, 1], null]], '[[2],[3]]'],
    // set: replaced in place, appended, made
    ['{"a": 1 , "b":2}', [[['a'], '{"x": 1e400}']], '{"a": {"x": 1e400} , "b":2}'],
    ['{"a":1\n}', [[['b'], '2'], [['c'], '3']], '{"a":1,"b":2,"c":3\n}'],
    ['{ }', [[['a'], '1']], '{"a":1 }'],
    ['{"a":1,"b":2}', [[['b'], null], [['c'], '3']], '{"a":1,"c":3}'],
    ['{"a":1 , "b":2}', [[['b'], null], [['a'], null], [['c'], '3']], '{"c":3}'],
    ['{}', [[['a', 'b'], '1'], [['a', 'c', 'd'], '2']], '{"a":{"b":1,"c":{"d":2}}}'],
    ['{"a":null,"b":[null]}', [[['a', 'x'], '1'], [['b', 0, 'y'], '2']], '{"a":{"x":1},"b":[{"y":2}]}'],
    ['{"a":1}', [[['é"\n\ud800'], '1']], '{"a":1,"é\\"\\n\\ud800":1}'],
    ['{"a":1}', [[[], '[2]']], '[2]'],
    // names are compared after escapes
    ['{"\\u0061":1,"A":2}', [[['a'], null]], '{"A":2}'],
    ['{"\\u0061":1,"A":2}', [[['a'], '3']], '{"\\u0061":3,"A":2}'],
    ['{"x\\/y":1,"\\ud83d\\ude00":2}', [[['😀'], null]], '{"x\\/y":1}'],
    ['{"__proto__":1,"constructor":2}', [[['__proto__'], null]], '{"constructor":2}'],
    // the outermost edit counts, and what is set counts over what is removed
    ['{"a":{"b":1,"c":2},"d":3}', [[['a', 'b'], null], [['a'], null]], '{"d":3}'],
    ['{"a":{"b":1}}', [[['a', 'b'], '2'], [['a'], '{"b":3}'], [['a', 'b'], null]], '{"a":{"b":3}}'],
    ['{"a":1,"b":2}', [[['a'], '3'], [['a'], null]], '{"a":3,"b":2}'],
    ['{"a":{"x":1},"b":2}', [[['a'], null], [['a', 'y'], '3']], '{"a":{"y":3},"b":2}'],
    ['[{"x":1},2]', [[[0], null], [[0, 'y'], '3']], '[2]'],
    ['{"a":1}', [[['a'], '2'], [['a'], '3']], '{"a":3}']
  ]
  for (const [before, edits, after] of rows) t.equal(edit(before, edits), after, `${before} ${JSON.stringify(edits)}`)
})

t.test('if a path does not resolve, nothing changes and the buffer is the same', async t => {
  const bytes = Buffer.from(' {"a":[1,{}],"b":"x","c":{"d":[]}} ')
  const paths: readonly Steps[] = [
    ['x'],
    ['a', 2],
    ['a', -1],
    ['a', 0.5],
    ['a', '0'],
    ['a', 'length'],
    ['b', 0],
    ['b', 'length'],
    [0],
    ['c', 'd', 0],
    ['a', 0, 'x'],
    []
  ]
  for (const path of paths) t.equal(editJson(bytes, [{ path, value: null }]), bytes, JSON.stringify(path))
  for (const path of [['a', 2], ['a', '0'], ['b', 'x'], ['a', 0, 'x'], ['x', 0], ['x', 'y', 0], [0]]) {
    t.equal(editJson(bytes, [{ path, value: Buffer.from('1') }]), bytes, `set ${JSON.stringify(path)}`)
  }
  t.equal(editJson(bytes, []), bytes)
})

// Random documents, as no encoder would write them.
const SPACES = ['', '', '', '', ' ', '\n', '\t', '\r\n', '  \n ']
const NUMBERS = ['0', '-0', '1e400', '-1E+0400', '12345678901234567890', '0.1000000000000000055511151231257827', '7', '1.0', '-0.00e-7']
const NAMES = [
  'a',
  'b',
  'metadata',
  '',
  'é',
  '😀',
  'a"b',
  'x/y',
  '0',
  '1',
  '__proto__',
  'ключ',
  '\\',
  '\u2028',
  'n\n',
  'toString',
  '}',
  ',',
  ':"'
]
const NO_SETS = 0

class Dice {
  #state: number
  constructor (seed: number) { this.#state = seed }
  /** mulberry32: 0 to n - 1 */
  next (n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let x = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) % n
  }

  pick<T> (list: readonly T[]): T { return list[this.next(list.length)] as T }
}

function string (dice: Dice, text: string): string {
  let out = ''
  for (const unit of text.split('')) {
    const code = unit.charCodeAt(0)
    const surrogate = code >= 0xd800 && code < 0xe000
    if (dice.next(4) === 0 || (surrogate && text.length !== 2)) out += `\\u${code.toString(16).padStart(4, '0')}`
    else out += surrogate ? unit : JSON.stringify(unit).slice(1, -1)
  }
  // Half a pair as an escape and half as it is would not be UTF-8.
  return /[\ud800-\udfff]/.test(out) && !out.includes(text) ? JSON.stringify(text) : `"${out}"`
}

function document (dice: Dice, depth = 0): string {
  const space = (): string => dice.pick(SPACES)
  const kind = dice.next(depth > 6 ? 4 : 9)
  if (kind === 0) return dice.pick(NUMBERS)
  if (kind === 1) return string(dice, dice.pick(NAMES))
  if (kind === 2) return dice.pick(['true', 'false', 'null'])
  const size = dice.next(5)
  if (kind === 3) return dice.pick(['{}', '[]', '{ }', '[\n]'])
  if (kind < 6) return `[${Array.from({ length: size }, () => space() + document(dice, depth + 1) + space()).join(',') || space()}]`
  const names = [...new Set(Array.from({ length: size }, () => dice.pick(NAMES)))]
  return `{${names.map(name => `${space()}${string(dice, name)}${space()}:${space()}${document(dice, depth + 1)}${space()}`).join(',') || space()}}`
}

function paths (value: unknown, at: Steps = [], out: Steps[] = []): Steps[] {
  out.push(at)
  if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) paths(inner, [...at, Array.isArray(value) ? Number(name) : name], out)
  }
  return out
}

function edits (dice: Dice, text: string, sets: number): JsonEdit[] {
  const all = paths(parseSlowly(text)).slice(1)
  return Array.from({ length: 1 + dice.next(6) }, () => {
    const base = all.length === 0 ? [] : dice.pick(all)
    const path =
      dice.next(3) > 0 && base.length > 0
        ? base
        : [...base, ...Array.from({ length: 1 + dice.next(2) }, () => (dice.next(8) === 0 ? dice.next(4) : dice.pick(NAMES)))]
    return { path, value: dice.next(10) < sets ? Buffer.from(document(dice, 5)) : null }
  })
}

/** Replaces numbers with their tokens, and puts a letter in front of every string and name, so that no name is special to JavaScript. */
const tokens = (text: string): unknown =>
  parseSlowly(text.replace(/"(?:[^"\\]|\\.)*"|-?\d[-+.\deE]*/g, token => (token.startsWith('"') ? `"s${token.slice(1)}` : `"n${token}"`)))

const HOLE = Symbol('removed element')
type Node = Record<string | number, unknown>

/** The same edits on the parsed value: removals, then sets, then the holes are closed. */
function expected (text: string, list: readonly JsonEdit[]): unknown {
  const within = (inner: Steps, outer: Steps): boolean => outer.length < inner.length && outer.every((step, i) => inner[i] === step)
  const root: Node = { top: tokens(text) }
  const full = ({ path }: JsonEdit): Steps => ['top', ...path.map(step => typeof step === 'string' ? `s${step}` : step)]
  const fits = (node: unknown, step: string | number): node is Node =>
    typeof node === 'object' && node !== null && Array.isArray(node) === (typeof step === 'number')
  const sets = list.filter(one => one.value !== null && !list.some(other => other.value !== null && within(one.path, other.path)))
  for (const one of list.filter(({ value, path }) => value === null && path.length > 0)) {
    let node: unknown = root
    const steps = full(one)
    for (const step of steps.slice(0, -1)) node = fits(node, step) ? node[step] : undefined
    const last = steps.at(-1) as string | number
    if (!fits(node, last) || !Object.hasOwn(node, last)) continue
    if (Array.isArray(node)) node[last] = HOLE
    else node[last] = undefined
  }
  for (const one of sets) {
    let node: unknown = root
    const steps = full(one)
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i] as string | number
      if (!fits(node, step) || (Array.isArray(node) && !Object.hasOwn(node, step))) break
      if (i === steps.length - 1) node[step] = tokens((one.value as Buffer).toString())
      else if (node[step] === undefined || node[step] === null) {
        if (!steps.slice(i + 1).every(later => typeof later === 'string')) break
        node[step] = {}
      }
      node = node[step]
    }
  }
  return closed(root.top)
}

function closed (value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(one => one !== HOLE).map(closed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined).map(([name, inner]) => [name, closed(inner)]))
}

const LIMITS = { depth: 100, members: 100_000 }

t.test('the edited document equals the same edits of the parsed value, number by number', async t => {
  t.ok(check('wire/json-edit/meaning', fc.property(fc.integer(), fc.nat(10), (seed, sets) => {
    const dice = new Dice(seed)
    const text = document(dice)
    const list = edits(dice, text, sets)
    const result = editJson(Buffer.from(text), list)
    ok(parseStrict(result, LIMITS).ok, 'strict JSON, without duplicates')
    same(tokens(result.toString()), expected(text, list))
    const setPaths = list.filter(one => one.value !== null).map(one => JSON.stringify(one.path))
    if (new Set(setPaths).size === setPaths.length) {
      same(tokens(editJson(Buffer.from(text), list.toReversed()).toString()), tokens(result.toString()), 'in any order')
    }
  }), { numRuns: 5_000 }) > 0, 'inputs')
})

t.test('one edit changes one range of bytes: the value, one comma and the space between them', async t => {
  t.ok(check('wire/json-edit/one-edit', fc.property(fc.integer(), fc.boolean(), (seed, set) => {
    const dice = new Dice(seed)
    const text = document(dice)
    const all = paths(parseSlowly(text)).slice(1)
    if (all.length === 0) return
    const path = dice.pick(all)
    const bytes = Buffer.from(text)
    const span = memberSpan(bytes, path)
    if (span === null) throw new Error('no span')
    if (set) {
      const value = Buffer.from(document(dice, 5))
      same(editJson(bytes, [{ path, value }]), Buffer.concat([bytes.subarray(0, span.start), value, bytes.subarray(span.end)]))
      return
    }
    const result = editJson(bytes, [{ path, value: null }]).toString('latin1')
    const whole = bytes.toString('latin1')
    const cut = whole.length - result.length
    const starts = Array.from({ length: span.start + 1 }, (_, i) => i).filter(
      at => whole.slice(0, at) + whole.slice(at + cut) === result && at + cut >= span.end
    )
    const item = /^(?:,[ \t\r\n]*)?(?:"(?:[^"\\]|\\.)*"[ \t\r\n]*:[ \t\r\n]*)?$/
    ok(
      starts.some(at => item.test(whole.slice(at, span.start)) && /^(?:[ \t\r\n]*,[ \t\r\n]*)?$/.test(whole.slice(span.end, at + cut))),
      JSON.stringify([text, path, result])
    )
  }), { numRuns: 5_000 }) > 0, 'inputs')
})

t.test('bytes outside of edits stay the same, in order', async t => {
  t.ok(check('wire/json-edit/untouched', fc.property(fc.integer(), seed => {
    const dice = new Dice(seed)
    const text = document(dice)
    const bytes = Buffer.from(text)
    const removed = edits(dice, text, NO_SETS)
    const cut = editJson(bytes, removed)
    let at = 0
    for (const byte of cut) {
      while (at < bytes.length && bytes[at] !== byte) at++
      ok(at++ < bytes.length, 'a subsequence')
    }
    // The text of every value that is neither in, nor around, nor beside an edit of its array.
    const list = edits(dice, text, 5)
    const result = editJson(bytes, list)
    for (const path of paths(parseSlowly(text))) {
      if (path.some(step => typeof step === 'number')) continue
      const apart = list.every(one => !path.every((step, i) => one.path[i] === step || i >= one.path.length))
      if (!apart) continue
      const before = memberSpan(bytes, path)
      const after = memberSpan(result, path)
      if (before === null || after === null) throw new Error(`lost ${JSON.stringify(path)}`)
      equal(result.toString('latin1', after.start, after.end), bytes.toString('latin1', before.start, before.end))
    }
  }), { numRuns: 5_000 }) > 0, 'inputs')
})
