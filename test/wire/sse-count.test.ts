import t from 'tap'
import fc from 'fast-check'
import { createParser } from 'eventsource-parser'
import { SseCounter } from '#wire/sse/count.js'
import { check } from '../helpers/seed.js'

function counted (text: string, cuts: readonly number[] = []): number {
  const bytes = Buffer.from(text)
  const counter = new SseCounter()
  let events = 0
  let start = 0
  for (const end of [...cuts.map(cut => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    events += counter.count(bytes.subarray(start, end))
    start = end
  }
  return events
}

t.test('data that an EventSource would dispatch is an event', async t => {
  const rows: [string, number][] = [
    ['data: a\n\n', 1],
    ['data: a\ndata: b\n\n', 1],
    ['data: a\r\n\r\ndata: b\r\rdata: c\n\n', 3],
    ['data\n\n', 1],
    ['data:\n\n', 1],
    [': comment\n\n', 0],
    ['event: ping\nid: 1\n\n', 0],
    ['database: a\n\n', 0],
    ['dat: a\n\n', 0],
    [' data: a\n\n', 0],
    ['data: a\n', 0],
    ['\n\n\n\ndata: a\n\n\n\n', 1],
    ['\ufeffdata: a\n\n', 1],
    ['\ufeff: comment\n\ndata: b\n\n', 1],
    ['event: error\ndata: {}\n\n: keep-alive\n\ndata: {}\n\n', 2],
    ['', 0]
  ]
  for (const [text, events] of rows) t.equal(counted(text), events, JSON.stringify(text))
})

t.test('random streams, cut anywhere, have the same count as with an independent parser', async t => {
  const line = fc.oneof(
    fc.constant(''),
    fc.string({ minLength: 1, maxLength: 20 }).map(value => `data: x${value.replace(/[\r\n]/g, '')}`),
    fc.constantFrom(': comment', 'event: message', 'id: 7', 'retry: 10', 'other: x', 'datas: y')
  )
  const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 40 })
  t.ok(check('wire/sse-count/independent-parser', fc.property(lines, fc.array(fc.nat(2_000), { maxLength: 20 }), (parts, cuts) => {
    const text = parts.map(([content, end]) => content + end).join('')
    let expected = 0
    const parser = createParser({ onEvent: () => { expected++ } })
    parser.feed(text)
    return counted(text, cuts) === expected
  }), { numRuns: 2_000 }) > 0, 'inputs')
})

t.test('the counter knows whether the bytes end between two events', async (t) => {
  const rows: [string[], boolean][] = [
    [[], true],
    [['\xef'], false],
    [['\xef\xbb\xbf'], true],
    [['data: a\n\n'], true],
    [['data: a\r\n\r'], true],
    [['data: a\r\n\r', '\n'], true],
    [[': a\n'], true],
    [[': a'], false],
    [['data: a\n'], false],
    [['id'], false],
    [['data: a\n\nid: 1\n: c'], false],
    [['data: 1234567890'], false],
    [['data: 1234567890\n', '\n'], true]
  ]
  for (const [chunks, between] of rows) {
    const counter = new SseCounter()
    for (const chunk of chunks) counter.count(Buffer.from(chunk, 'latin1'))
    t.equal(counter.atBoundary, between, JSON.stringify(chunks))
  }
})
