/** `JsonTemplate` finds exactly the texts that differ in free strings only: what it takes for such, JSON.parse reads as such. */
import fc from 'fast-check'
import { strictEqual as equal } from 'node:assert'
import t from 'tap'
import { unreadStrings } from '#wire/json/lazy-string.js'
import { parseStrict } from '#wire/json/json.js'
import type { StringSpan } from '#wire/json/template.js'
import { JsonTemplate } from '#wire/json/template.js'
import { anyText } from '../helpers/any-text.js'
import { check, random } from '../helpers/seed.js'
import { anyJsonText } from './fixtures/json-text.js'

const LIMITS = { depth: 64, members: 100_000 }

/** A template of a text in which every string is free, except those at which the predicate is true. */
function templateOf (
  text: Buffer,
  isRead: (index: number) => boolean = () => false
): { readonly template: JsonTemplate, readonly free: readonly StringSpan[] } {
  const parsed = parseStrict(text, LIMITS, -1)
  if (!parsed.ok) throw new Error(parsed.problem.message)
  const free = unreadStrings(parsed.value).sort((a, b) => a.start - b.start).filter((_, i) => !isRead(i))
  return { template: new JsonTemplate(text, free), free }
}

/** The text with each free string replaced. */
function withStrings (text: Buffer, free: readonly StringSpan[], write: (i: number) => Buffer): Buffer {
  const parts: Buffer[] = []
  let at = 0
  free.forEach(({ start, end }, i) => {
    parts.push(text.subarray(at, start), write(i))
    at = end
  })
  return Buffer.concat([...parts, text.subarray(at)])
}

const TEXT = Buffer.from('{"a":"one","b":["two",{"c":"","d":"é"}],"e":1}')

t.test('free strings may have any characters that JSON allows', async t => {
  const { template, free } = templateOf(TEXT)
  t.equal(free.length, 4)
  for (const string of ['', 'x', 'é“😀', '\\n\\"\\\\\\/\\b\\f\\r\\t', '\\u00e9\\uD83D\\ude00', '\\ud800', '\u007f', '[{,:}]', 'x'.repeat(5_000)]) {
    t.equal(template.matches(withStrings(TEXT, free, () => Buffer.from(string))), true, string.slice(0, 20))
  }
})

t.test('a string that no parser may accept is not taken', async t => {
  const { template, free } = templateOf(TEXT)
  const faults = ['\u0000', '\n', '\u001f', '\\x', '\\u12', '\\u12g4', '\\u 123', '\\', '\\u', 'a"b', '","f":"']
    .map(one => Buffer.from(one))
  for (const fault of [...faults, Buffer.from([0xff]), Buffer.from([0xc3]), Buffer.from([0xc0, 0x80]), Buffer.from([0xed, 0xa0, 0x80])]) {
    for (let which = 0; which < free.length; which++) {
      const bytes = withStrings(TEXT, free, i => i === which ? fault : Buffer.from('x'))
      t.equal(template.matches(bytes), false, `${fault.toString('hex')} in string ${which}`)
    }
  }
})

t.test('every byte outside of the free strings counts, and the length', async t => {
  const { template, free } = templateOf(TEXT, i => i === 1)
  for (let at = 0; at < TEXT.length; at++) {
    if (free.some(({ start, end }) => at >= start && at < end)) continue
    const changed = Buffer.from(TEXT)
    changed[at] = changed[at] === 0x61 ? 0x62 : 0x61
    t.equal(template.matches(changed), false, `byte ${at}`)
  }
  for (let length = 0; length < TEXT.length; length++) t.equal(template.matches(TEXT.subarray(0, length)), false, `${length} bytes`)
  t.equal(template.matches(Buffer.concat([TEXT, Buffer.from(' ')])), false)
  t.equal(template.matches(TEXT), true)
})

t.test('names of members and strings that were read are not free', async t => {
  const parsed = parseStrict(TEXT, LIMITS, -1)
  const value = (parsed as { value: { a: string, b: [string, { d: string }] } }).value
  t.equal(value.b[1].d, 'é')
  t.same(unreadStrings(value).map(({ start, end }) => TEXT.toString('utf8', start, end)).sort(), ['', 'one', 'two'])
  t.equal(JSON.stringify(value), JSON.stringify(JSON.parse(TEXT.toString())))
  t.same(unreadStrings(value), [])
})

t.test('what is taken is JSON that differs in free strings only, and nothing of this kind is missed', async t => {
  let taken = 0
  const numbers = random('wire/json-template')
  const strings = fc.array(anyText({ maxLength: 4 }), { minLength: 1 })
  check('wire/json-template/any', fc.property(anyJsonText(), strings, (text, strings) => {
    const bytes = Buffer.from(text)
    if (!parseStrict(bytes, LIMITS).ok) return
    const read = new Set(Array.from({ length: 20 }, () => numbers.below(20)))
    const { template, free } = templateOf(bytes, i => read.has(i))
    const other = withStrings(bytes, free, i => Buffer.from(JSON.stringify(strings[i % strings.length]).slice(1, -1)))
    equal(template.matches(other), true)
    const damaged = Buffer.from(other)
    if (damaged.length > 0) damaged[numbers.below(damaged.length)] = numbers.pick([0, 0x22, 0x5c, 0x75, 0x2c, 0x5d, 0x80, 0xe2, 0x41])
    const parsed = parseStrict(damaged, LIMITS)
    const empty = (text: Buffer): string => withStrings(text, templateOf(text, i => read.has(i)).free, () => Buffer.alloc(0)).toString('latin1')
    equal(template.matches(damaged), parsed.ok && empty(damaged) === empty(bytes))
    if (template.matches(damaged)) taken++
  }), { numRuns: 700 })
  t.ok(taken > 10, `${taken} damaged texts were taken`)
})
