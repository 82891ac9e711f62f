import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import { isUnread, LONG } from '#wire/json/lazy-string.js'
import { parseStrict } from '#wire/json/json.js'
import { parseSlowly } from '../fuzz/oracles/slow-json.js'
import { check } from '../helpers/seed.js'
import { anyJsonText } from './fixtures/json-text.js'

const LIMITS = { depth: 64, members: 100_000 }

/** The reading of the oracle as [value]; null when it rejects the text. */
function native (text: string): [unknown] | null {
  try {
    return [parseSlowly(text)]
  } catch {
    return null
  }
}

function ours (bytes: Buffer, long: number): [unknown] | null {
  const result = parseStrict(bytes, LIMITS, long)
  return result.ok ? [result.value] : null
}

/** The same text at each place that a word of four bytes can begin, so that no check sees only whole words. */
function shifted (text: string): Buffer[] {
  return [0, 1, 2, 3].map(shift => Buffer.from('.'.repeat(shift) + text).subarray(shift))
}

t.test('a value is read as the oracle reads it, with any strings deferred', async t => {
  t.ok(check('wire/json-long/json-parse', fc.property(anyJsonText(), fc.integer({ min: -1, max: 12 }), (text, long) => {
    const expected = native(text)
    const first = ours(Buffer.from(text), long)
    if (first !== null) same(first, expected)
    // What is refused, for a duplicate, is refused either way.
    equal(first === null, ours(Buffer.from(text), Infinity) === null)
    if (first !== null) equal(JSON.stringify(ours(Buffer.from(text), long)), JSON.stringify(expected))
  })) > 0, 'inputs')
})

t.test('a string that the oracle rejects is rejected, wherever the fault is', async (t) => {
  const faults = ['\u0000', '\u001f', '\n', '\\x', '\\u12', '\\u12g4', '\\u 123', '\\', '\\u']
  const fine = [
    ' ',
    '\u007f',
    '\u0080',
    'é',
    '“',
    '😀',
    '\\n',
    '\\"',
    '\\\\',
    '\\/',
    '\\u0000',
    '\\ud800',
    '\\uD83D\\uDE00',
    '\\b\\f\\r\\t'
  ]
  for (const odd of [...faults, ...fine]) {
    for (let at = 0; at < 40; at++) {
      const text = `{"a":"${'x'.repeat(at)}${odd}${'y'.repeat(40 - at)}"}`
      for (const bytes of shifted(text)) same(ours(bytes, 0), native(text), JSON.stringify(text))
      const last = `["${'x'.repeat(at)}${odd}"]`
      for (const bytes of shifted(last)) same(ours(bytes, 0), native(last), JSON.stringify(last))
    }
  }
  t.equal(ours(Buffer.from('"a\u0000"'), 0), null)
})

t.test('a client that sends the placeholder of a string gets its own text back', async (t) => {
  for (const text of [
    '{"a":"left out 0","b":"the other one"}',
    '{"b":"the other one","a":"left out 0"}',
    '["left out 1","left out 0","left out 00","left out -0","left out 1e0","left out "]',
    '{"left out 0":"the other one"}',
    '{"a":"left out 0"}',
    '["left out 0"]',
    '"left out 0"',
    '{"a":["x","left out 1","left out 0"],"b":"left out 2"}'
  ]) {
    for (const long of [0, 3, 10, 12]) t.same(ours(Buffer.from(text), long), [parseSlowly(text)], `${text} beyond ${long}`)
  }
})

t.test('duplicates are found among deferred strings', async (t) => {
  const long = 'x'.repeat(LONG + 1)
  for (const text of [
    `{"a":"${long}","a":"${long}"}`,
    `{"a":1,"a":"${long}"}`,
    `{"a":"${long}","a":1}`,
    `{"${long}":1,"${long}":2}`,
    `{"b":"${long}","c":{"a":1,"\\u0061":2}}`
  ]) {
    const result = parseStrict(Buffer.from(text), LIMITS)
    t.equal(result.ok ? '' : result.problem.kind, 'duplicate', text.slice(0, 20))
  }
})

t.test('a string is read once, on demand, and is then an ordinary member', async (t) => {
  const text = `{"before":1,"long":"${'x'.repeat(LONG)}é\\n","after":[${JSON.stringify('y'.repeat(LONG + 1))}]}`
  const value = ours(Buffer.from(text), LONG)?.[0] as { long: string, after: string[] }
  t.ok(isUnread(value, 'long'))
  t.ok(isUnread(value.after, '0'))
  t.notOk(isUnread(value, 'before'))
  t.same(Object.keys(value), ['before', 'long', 'after'], 'in its place')
  t.equal(value.long, `${'x'.repeat(LONG)}é\n`)
  t.notOk(isUnread(value, 'long'))
  t.same(Object.getOwnPropertyDescriptor(value, 'long'), Object.getOwnPropertyDescriptor(parseSlowly(text), 'long'))
  t.equal(value.after[0], 'y'.repeat(LONG + 1))
  const short = ours(Buffer.from(`{"a":"${'x'.repeat(LONG)}"}`), LONG)?.[0] as object
  t.notOk(isUnread(short, 'a'), 'what is not longer is read at once')
})

t.test('reading a call leaves its files and its prose unread', async (t) => {
  const file = 'QUJD'.repeat(100_000)
  const prose = 'Line by line.\n'.repeat(10_000)
  const generations = [
    {
      version: '1.0',
      method: 'SendMessage',
      parts: [{ raw: file, mediaType: 'application/octet-stream' }, { text: prose }],
      at: [['raw'], ['text']]
    },
    {
      version: '0.3',
      method: 'message/send',
      parts: [
        { kind: 'file', file: { bytes: file, mimeType: 'application/octet-stream' } },
        { kind: 'text', text: prose }
      ],
      at: [['file', 'bytes'], ['text']]
    }
  ] as const
  for (const { version, method, parts, at } of generations) {
    const bytes = Buffer.from(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message: { messageId: 'm', role: 'user', parts } } })
    )
    const call = readCall({ bytes, binding: 'JSONRPC', version, contentType: 'application/json', restOperation: null, limits: LIMITS })
    t.same(call.view?.problems, [], version)
    const read = call.view?.message?.parts.map(({ fields: { object } }) => object) as Record<string, unknown>[]
    at.forEach((steps, i) => {
      const holder = steps.slice(0, -1).reduce<unknown>((inner, step) => (inner as Record<string, unknown>)[step], read[i]) as object
      t.ok(isUnread(holder, steps.at(-1) as string), `${version} ${steps.join('.')}`)
    })
    t.same(read, parts, `${version}: and they say what was sent`)
  }
})
