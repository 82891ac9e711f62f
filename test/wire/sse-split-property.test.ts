import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal, ok } from 'node:assert'
import t from 'tap'
import { createParser } from 'eventsource-parser'
import { SseCounter } from '#wire/sse/count.js'
import { SseSplitter } from '#wire/sse/split.js'
import type { SseLimits, SsePiece } from '#wire/sse/split.js'
import { check } from '../helpers/seed.js'
import { anyStream, blocksOf, cutUp, endsBetween } from './fixtures/sse-text.js'

const ROOM: SseLimits = { bytes: 1 << 20, lines: 1 << 20 }
const RUNS = { numRuns: 3_000 }
/** An empty list of cuts means one byte at a time. */
const anyCuts = fc.oneof(fc.constant([]), fc.array(fc.nat(3_000), { maxLength: 6 }), fc.array(fc.nat(3_000), { maxLength: 60 }))

function pieces (chunks: readonly Buffer[], limits = ROOM, each?: (given: readonly SsePiece[], fed: number) => void): SsePiece[] {
  const splitter = new SseSplitter(limits)
  const given: SsePiece[] = []
  let fed = 0
  for (const chunk of chunks) {
    given.push(...splitter.feed(chunk))
    fed += chunk.length
    each?.(given, fed)
  }
  return [...given, ...splitter.end()]
}

const bytesOf = (given: readonly SsePiece[]): Buffer => Buffer.concat(given.map(piece => piece.bytes))
const dataOf = (given: readonly SsePiece[]): [string, boolean][] =>
  given.flatMap(piece => (piece.kind === 'event' ? [[piece.data.toString(), piece.complete]] : []))

t.test('for any stream and any cuts, the bytes stay the same and the events follow the standard', async t => {
  t.ok(check('wire/sse-split-property/standard', fc.property(anyStream, anyCuts, (text, cuts) => {
    const bytes = Buffer.from(text)
    const given = pieces(cutUp(bytes, cuts))
    equal(bytesOf(given).toString('latin1'), bytes.toString('latin1'))
    ok(given.every(piece => piece.bytes.length > 0 && piece.kind !== 'overflow'))
    same(dataOf(given), blocksOf(text).flatMap(({ data, complete }) => data === null ? [] : [[data, complete]]))
  }), RUNS) > 0, 'inputs')
})

// eventsource-parser differs from the standard in two things: it wants the byte order mark taken off by the decoder, and takes a CR at the
// very end of what it was fed for one that may yet be a CRLF.
t.test('eventsource-parser finds the same events', async t => {
  t.ok(check('wire/sse-split-property/eventsource-parser', fc.property(anyStream, anyCuts, (text, cuts) => {
    const expected: string[] = []
    const parser = createParser({ onEvent: ({ data }) => { expected.push(data) } })
    parser.feed(text.replace(/^\ufeff/, '').replace(/\r$/, '\r\n'))
    const chunks = cutUp(Buffer.from(text), cuts)
    same(dataOf(pieces(chunks)).flatMap(([data, complete]) => complete ? [data] : []), expected)
    const counter = new SseCounter()
    equal(chunks.reduce((sum, chunk) => sum + counter.count(chunk), 0), expected.length)
  }), RUNS) > 0, 'inputs')
})

t.test('only an incomplete block is held; the counter knows whether it is between events', async t => {
  t.ok(check('wire/sse-split-property/boundaries', fc.property(anyStream, anyCuts, (text, cuts) => {
    const counter = new SseCounter()
    const bytes = Buffer.from(text)
    const chunks = cutUp(bytes, cuts)
    let i = 0
    pieces(chunks, ROOM, (given, fed) => {
      counter.count(chunks[i++] as Buffer)
      const seen = bytes.toString('latin1', 0, fed).replace(/^\xef\xbb\xbf/, '\ufeff')
      const between = endsBetween(seen)
      equal(counter.atBoundary, between)
      if (between) equal(bytesOf(given).length, fed)
    })
  }), RUNS) > 0, 'inputs')
})

t.test('limits apply to the same events wherever the stream is cut, and limit the held bytes', async t => {
  // A byte order mark is held until it is whole.
  const limits = fc.record({ bytes: fc.integer({ min: 3, max: 120 }), lines: fc.integer({ min: 1, max: 6 }) })
  t.ok(check('wire/sse-split-property/limits', fc.property(anyStream, anyCuts, limits, (text, cuts, limits) => {
    const bytes = Buffer.from(text)
    const given = pieces(cutUp(bytes, cuts), limits, (given, fed) => { ok(fed - bytesOf(given).length <= limits.bytes) })
    equal(bytesOf(given).toString('latin1'), bytes.toString('latin1'))
    const outcomes = given.flatMap(piece => piece.kind === 'pass' ? [] : piece.kind === 'overflow' ? [null] : [piece.data.toString()])
    const expected = blocksOf(text).flatMap(({ data, bytes, lines }) =>
      bytes > limits.bytes || lines > limits.lines ? [null] : data === null ? [] : [data]
    )
    same(outcomes, expected)
  }), RUNS) > 0, 'inputs')
})

t.test('an event that arrives byte by byte costs a small multiple of its bytes', async (t) => {
  const size = 1 << 20
  const work = { copied: 0, searched: 0, allocated: 0 }
  const { copy, indexOf } = Buffer.prototype
  const { allocUnsafe } = Buffer
  t.teardown(() => { Object.assign(Buffer.prototype, { copy, indexOf }); Object.assign(Buffer, { allocUnsafe }) })
  Object.assign(Buffer.prototype, {
    copy (this: Buffer, ...args: Parameters<typeof copy>) {
      const copied = copy.apply(this, args)
      work.copied += copied
      return copied
    },
    indexOf (this: Buffer, value: number, from: number) {
      const at = indexOf.call(this, value, from)
      work.searched += (at === -1 ? this.length : at) - from
      return at
    }
  })
  Object.assign(Buffer, { allocUnsafe (length: number) { work.allocated += length; return allocUnsafe.call(Buffer, length) } })
  const streams: [string, Buffer][] = [
    ['one line', Buffer.from(`data: ${'x'.repeat(size)}\n\n`)],
    ['many lines', Buffer.from('data: 0123456789\r\n'.repeat(size / 16) + '\r\n')],
    ['CR only, no data', Buffer.from(`id: ${'x'.repeat(60)}\r`.repeat(size / 64) + '\r')],
    ['LF after LF, CR at the end', Buffer.from(`data: ${`${'x'.repeat(60)}\n`.repeat(size / 64)}\r\r`)]
  ]
  for (const [name, bytes] of streams) {
    for (const step of [1, 100, bytes.length]) {
      Object.assign(work, { copied: 0, searched: 0, allocated: 0 })
      const splitter = new SseSplitter({ bytes: 2 * size, lines: size })
      let given = 0
      for (let i = 0; i < bytes.length; i += step) {
        for (const piece of splitter.feed(bytes.subarray(i, i + step))) given += piece.bytes.length
      }
      t.equal(given, bytes.length)
      t.ok(work.copied < 5 * bytes.length, `${name}, by ${step}: ${work.copied} bytes copied`)
      t.ok(work.searched < 5 * bytes.length, `${name}, by ${step}: ${work.searched} bytes searched`)
      t.ok(work.allocated < 6 * bytes.length, `${name}, by ${step}: ${work.allocated} bytes allocated`)
    }
  }
})
