import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { SseSplitter } from '#wire/sse/split.js'
import { commentBytes, eventBytes, withData } from '#wire/sse/write.js'
import { check } from '../helpers/seed.js'
import { anyStream, blocksOf } from './fixtures/sse-text.js'

const anyText = fc.string({ unit: fc.constantFrom('a', ' ', ':', '\n', '\r', 'é', '\u2028', '😀'), maxLength: 20 })
/** The text as it arrives at a client. */
const arriving = (text: string): string => text.replace(/\r\n?/g, '\n')

t.test('an event contains its data and its name, and nothing else', async (t) => {
  t.equal(eventBytes('{"a":1}').toString(), 'data: {"a":1}\n\n')
  t.equal(eventBytes(Buffer.from('é'), 'error').toString(), 'event: error\ndata: é\n\n')
  t.equal(eventBytes('a\r\nb\rc\nd\n').toString(), 'data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n')
  t.equal(eventBytes('').toString(), 'data: \n\n')
  t.equal(eventBytes('a', 'x\ndata: y').toString(), 'event: x data: y\ndata: a\n\n')
  check(
    'wire/sse-write/data',
    fc.property(anyText, text => {
      same(
        blocksOf(eventBytes(text).toString()).map(({ data, complete }) => [data, complete]),
        [[arriving(text), true]]
      )
    })
  )
})

t.test('a comment is one line, also for clients with more line ends', async (t) => {
  t.equal(commentBytes('gateway-decision: warn').toString(), ': gateway-decision: warn\n')
  t.equal(commentBytes('a\r\n\r\ndata: b\u2028data: c\u0085d\u000be').toString(), ': a data: b data: c d e\n')
  t.equal(commentBytes('').toString(), ': \n')
})

t.test('data is replaced in place, and the rest stays', async (t) => {
  const rows: [string, string, string][] = [
    ['data: a\n\n', 'b', 'data: b\n\n'],
    ['data:a\r\n\r\n', 'b', 'data: b\r\n\r\n'],
    ['data\r\r', 'b', 'data: b\r\r'],
    ['data: a\n\n', '', 'data: \n\n'],
    ['id: 1\ndata: a\n: c\ndata: b\nevent: e\n\n', 'x', 'id: 1\ndata: x\n: c\nevent: e\n\n'],
    ['data: a\ndata: b\n\n', 'x', 'data: x\n\n'],
    ['id: 1\r\ndata: a\r\n\r\n', 'x\ny', 'id: 1\r\ndata: x\r\ndata: y\r\n\r\n'],
    ['data: a\r\r', 'x\r\ny', 'data: x\rdata: y\r\r'],
    ['data: a\r\n\n', 'x\ny', 'data: x\r\ndata: y\r\n\n'],
    ['data: a\rdata: b\n\n', 'x', 'data: x\r\n\n'],
    ['data: a\r: c\rdata: b\n\n', 'x', 'data: x\r: c\r\n\n'],
    ['data: a\ndata: b\rdata: c\n\n', 'x', 'data: x\n\n'],
    ['data: a', 'x', 'data: x'],
    ['data: a', 'x\ny', 'data: x\ndata: y'],
    ['id: 1\r\ndata: a', 'x\ny', 'id: 1\r\ndata: x\r\ndata: y'],
    ['id: 1\rdata', 'x\ny', 'id: 1\rdata: x\rdata: y'],
    ['data: a\ndata: b', 'x', 'data: x\n'],
    ['id: 1\n\n', 'x', 'id: 1\n\n']
  ]
  for (const [event, data, expected] of rows) {
    t.equal(withData(Buffer.from(event), data).toString(), expected, JSON.stringify(event))
    t.equal(withData(Buffer.from(event), Buffer.from(data)).toString(), expected, `${JSON.stringify(event)}, bytes`)
  }
})

t.test('any event contains the new data and all its other lines', async t => {
  const others = (text: string): string[] => text.split(/\r\n|\r|\n/).filter(line => !/^data(?::|$)/.test(line))
  t.ok(check('wire/sse-write/other-lines', fc.property(anyStream, anyText, (text, data) => {
    const splitter = new SseSplitter({ bytes: 1 << 20, lines: 1 << 20 })
    for (const piece of [...splitter.feed(Buffer.from(text)), ...splitter.end()]) {
      if (piece.kind !== 'event') continue
      const after = withData(piece.bytes, data).toString()
      same(blocksOf(`\n${after}`).map(block => [block.data, block.complete]), [[arriving(data), piece.complete]])
      same(others(after).filter(line => line !== ''), others(piece.bytes.toString()).filter(line => line !== ''))
      if (piece.complete) equal(withData(Buffer.from(after), data).toString(), after)
    }
  }), { numRuns: 2_000 }) > 0, 'inputs')
})
