/**
 * A value that arrives in several chunks equals the value that arrives in one chunk. Data that is read from it later is the value's own
 * data.
 */
import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import { isUnread } from '#wire/json/lazy-string.js'
import { parseStrict } from '#wire/json/json.js'
import { ChunkedBuffer, part, whole, withContiguous } from '#wire/chunked-buffer.js'
import { check } from '../helpers/seed.js'
import { anyJsonText } from './fixtures/json-text.js'
import type { JsonResult } from '#wire/json/json-result.js'

const LIMITS = { depth: 64, members: 100_000 }
const MIB = 1024 * 1024

/** Cut at these offsets, each piece in memory of its own. */
function cutAt (bytes: Buffer, offsets: readonly number[]): ChunkedBuffer {
  const at = [0, ...offsets.map(offset => offset % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return new ChunkedBuffer(at.slice(1).map((end, i) => Buffer.from(bytes.subarray(at[i], end))), bytes.length)
}

const inPieces = (bytes: Buffer, size: number): ChunkedBuffer =>
  cutAt(
    bytes,
    Array.from({ length: Math.ceil(bytes.length / size) - 1 }, (_none, i) => (i + 1) * size)
  )

/** Takes the memory that is lent for other bytes. */
function overwrite (size: number): void {
  new ChunkedBuffer([Buffer.alloc(size, 'Z')], size).withContiguous(bytes => { equal(bytes[0], 0x5a) })
}

/** The result with the list of its inexact numbers, which it looks up in its own bytes. */
function comparable (result: JsonResult): unknown {
  if (!result.ok) return result
  const { inexact, ...rest } = result
  return { ...rest, inexact: numbersIn(result.value).filter(one => inexact?.has(one) === true) }
}

function numbersIn (value: unknown): number[] {
  if (typeof value === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : []
}

const OFFSETS = fc.array(fc.nat(5_000), { maxLength: 12 })

t.test('any JSON, cut anywhere, has the same value as in one chunk; also after its memory is reused', async t => {
  t.ok(check('wire/pieces/one-piece', fc.property(anyJsonText(), OFFSETS, fc.integer({ min: -1, max: 12 }), (text, offsets, long) => {
    const bytes = Buffer.from(text)
    const result = parseStrict(cutAt(bytes, offsets), LIMITS, long)
    overwrite(bytes.length + 8)
    same(comparable(result), comparable(parseStrict(bytes, LIMITS, long)))
  })) > 0, 'inputs')
})

t.test('invalid JSON is rejected with the same message', async t => {
  t.ok(check(
    'wire/pieces/no-json',
    fc.property(
      anyJsonText(),
      fc.array(fc.tuple(fc.nat(2_000), fc.constantFrom(0, 9, 0x22, 0x2c, 0x3a, 0x5c, 0x7b, 0x7d, 0xc3, 0xff)), { maxLength: 3 }),
      OFFSETS,
      fc.constantFrom(0, 4_096),
      (text, faults, offsets, long) => {
        const bytes = Buffer.from(text)
        for (const [at, byte] of faults) bytes[at % bytes.length] = byte
        same(comparable(parseStrict(cutAt(bytes, offsets), LIMITS, long)), comparable(parseStrict(bytes, LIMITS, long)))
      }
    )
  ) > 0, 'inputs')
})

t.test('a call whose files arrive in chunks is the same call, and its files stay unread', async (t) => {
  const file = 'QUJD'.repeat(100_000)
  const prose = 'Zeile für Zeile “gelesen”.\n'.repeat(10_000)
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ raw: file, mediaType: 'application/octet-stream' }, { text: prose }] }
  for (const id of ['7', '"\\u0041"', '123456789012345678901234567890'.slice(0, 16), '-0']) {
    for (const text of [
      `{"jsonrpc":"2.0","id":${id},"method":"SendMessage","params":${JSON.stringify({ message })}}`,
      `{"jsonrpc":"2.0","params":${JSON.stringify({ message })},"method":"SendMessage","id":${id}}`
    ]) {
      const bytes = Buffer.from(text)
      const input = { binding: 'JSONRPC', version: '1.0', contentType: 'application/json', restOperation: null, limits: LIMITS } as const
      const call = readCall({ ...input, bytes: inPieces(bytes, 65_536) })
      t.equal(call.problem, null)
      overwrite(MIB)
      t.equal(call.id(), id)
      overwrite(MIB)
      const objects = call.view?.message?.parts.map(({ fields: { object } }) => object) as Record<string, unknown>[]
      t.ok(isUnread(objects[0] as object, 'raw'))
      t.ok(isUnread(objects[1] as object, 'text'))
      t.same(objects, message.parts)
    }
  }
})

t.test('bytes are lent, copied in part and joined unchanged', async t => {
  t.ok(check('wire/pieces/joined', fc.property(fc.uint8Array({ maxLength: 300 }), OFFSETS, fc.nat(300), fc.nat(300), (array, offsets, a, b) => {
    const bytes = Buffer.from(array)
    const start = Math.min(a, b, bytes.length)
    const end = Math.min(Math.max(a, b), bytes.length)
    for (const joined of [false, true]) {
      const pieces = cutAt(bytes, offsets)
      if (joined) same(whole(pieces), bytes)
      same(withContiguous(pieces, lent => Buffer.from(lent)), bytes)
      const some = part(pieces, start, end)
      overwrite(bytes.length + 8)
      same(some, bytes.subarray(start, end))
      same(withContiguous(pieces, lent => Buffer.from(lent)), bytes, 'lent again')
      same(pieces.whole(), bytes)
    }
  })) > 0, 'inputs')
})

t.test('memory in use is not lent again', async (t) => {
  const [a, b] = ['a', 'b'].map(letter => inPieces(Buffer.alloc(300_000, letter), 65_536)) as [ChunkedBuffer, ChunkedBuffer]
  a.withContiguous(first => {
    b.withContiguous(second => {
      t.ok(second.equals(Buffer.alloc(300_000, 'b')))
      t.not(second.buffer, first.buffer)
    })
    t.ok(first.equals(Buffer.alloc(300_000, 'a')))
  })
  t.throws(() => a.withContiguous(() => { throw new Error('thrown') }), /thrown/)
  const memory = a.withContiguous(bytes => bytes.buffer)
  t.equal(inPieces(Buffer.alloc(200_000), 65_536).withContiguous(bytes => bytes.buffer), memory, 'the same again, whatever went wrong')
  t.ok(a.withContiguous(bytes => bytes.equals(Buffer.alloc(300_000, 'a'))), 'filled anew')
})

t.test('a body larger than the shared memory gets its own', async (t) => {
  for (const size of [4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 9 * MIB]) {
    const bytes = Buffer.alloc(size, 'abc')
    const pieces = inPieces(bytes, 65_536)
    t.ok(pieces.withContiguous(lent => lent.equals(bytes)), String(size))
    const before = pieces.withContiguous(lent => lent.buffer)
    const other = inPieces(Buffer.alloc(100_000), 65_536).withContiguous(lent => lent.buffer)
    t.equal(before === other, size <= 4 * MIB)
  }
})
