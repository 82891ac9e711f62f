/**
 * Event streams. The output bytes are the input bytes, the events are the events of eventsource-parser, and neither depends on the places
 * where the stream is cut.
 */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import { createParser } from 'eventsource-parser'
import { SseCounter } from '#wire/sse/count.js'
import { SseAmbiguity } from '#wire/sse/ambiguity.js'
import { SseSplitter } from '#wire/sse/split.js'
import type { SseLimits, SsePiece } from '#wire/sse/split.js'
import { commentBytes, eventBytes, withData } from '#wire/sse/write.js'
import { blocksOf } from '../../wire/fixtures/sse-text.js'
import { Random } from '../engine/random.js'
import type { Reader, Target } from '../engine/target.js'

const ROOM: SseLimits = { bytes: 1 << 20, lines: 1 << 20 }
const TIGHT: SseLimits = { bytes: 24, lines: 3 }

interface Event { readonly event: string | undefined, readonly id: string | undefined, readonly data: string }

export const sse: Target & Reader = {
  name: 'sse',
  maxBytes: 1024,
  seeds: [
    'data: {"a":1}\n\ndata: b\n\n',
    ': comment\n\nevent: x\nid: 7\ndata: a\ndata: b\n\n',
    'data:a\r\n\r\ndata:b\r\rdata:c\n\n',
    '\ufeffdata: x\n\n',
    'data\n\ndata:\n\n',
    'id: 1\nretry: 10\n\n',
    'data: unfinished',
    'data: a\r\ndata: b\r',
    `data: ${'x'.repeat(60)}\n\n`,
    'data: \u2028x\n\n',
    '\n\n\r\n: \x0b data: x\n\n',
    '{"jsonrpc":"2.0"}\n\n',
    'event: \x85data: y\ndata: x\n\n',
    'datax: 1\ndat: 2\nDATA: 3\n data: 4\n\n'
  ],
  dictionary: [
    'data: ',
    'data:',
    'data',
    'event: ',
    'id: ',
    'retry: 1',
    ': c',
    ':',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    '\r\r',
    '\r\n\r\n',
    '\ufeff',
    '\u2028',
    '\u2029',
    '\u0085',
    '\x0b',
    '\0',
    ' ',
    '{"a":1}',
    'data: a\n\n'
  ],
  read: bytes => {
    const [events, limited] = [ROOM, TIGHT].map(limits => feed([bytes], limits))
    return { events, limited, written: [eventBytes(bytes.toString(), bytes.toString()), commentBytes(bytes.toString())] }
  },
  check (bytes) {
    const text = bytes.toString('latin1')
    const whole = feed([bytes], ROOM)
    const events = whole.pieces.flatMap(piece => (piece.kind === 'event' ? [piece] : []))
    same(
      events.flatMap(({ complete, data }) => (complete ? [data.toString('latin1')] : [])),
      parsed(text).map(({ data }) => data),
      'the events of eventsource-parser'
    )
    const tight = feed([bytes], TIGHT)
    if (Buffer.from(bytes.toString()).equals(bytes)) {
      same(
        tight.outcomes.map(one => one === null),
        limited(bytes.toString()),
        'what is above a limit'
      )
    }
    for (const chunks of cuts(bytes)) {
      const given = feed(chunks, ROOM)
      equal(given.bytes, text, 'the bytes that were fed')
      same(given.outcomes, whole.outcomes, 'the same events wherever it is cut')
      same([given.count, given.doubt, given.between], [whole.count, whole.doubt, whole.between], 'the same verdicts wherever it is cut')
      equal(given.count, events.filter(({ complete }) => complete).length)
      const bounded = feed(chunks, TIGHT)
      equal(bounded.bytes, text)
      same(bounded.outcomes, tight.outcomes, 'the same limits wherever it is cut')
    }
    for (const event of events.slice(0, 4)) rewritten(event, bytes.toString(), event === whole.pieces[0])
    written(bytes.toString())
  }
}

/** For each event, and for each oversized block that is not an event: true when it is above a limit. */
function limited (text: string): boolean[] {
  return blocksOf(text).flatMap(({ data, bytes, lines }) =>
    bytes > TIGHT.bytes || lines > TIGHT.lines ? [true] : data === null ? [] : [false]
  )
}

function feed (chunks: readonly Buffer[], limits: SseLimits) {
  const splitter = new SseSplitter(limits)
  const counter = new SseCounter()
  let count = 0
  let fed = 0
  let released = 0
  const pieces: SsePiece[] = []
  for (const chunk of chunks) {
    const given = splitter.feed(chunk)
    count += counter.count(chunk)
    fed += chunk.length
    for (const { bytes } of given) released += bytes.length
    ok(fed - released <= limits.bytes, 'holds no more than its limit')
    if (counter.atBoundary) equal(fed, released, 'holds nothing between events')
    pieces.push(...given)
  }
  const between = counter.atBoundary
  pieces.push(...splitter.end())
  ok(pieces.every(({ bytes }) => bytes.length > 0))
  const doubt = new SseAmbiguity()
  return {
    pieces,
    bytes: Buffer.concat(pieces.map(piece => piece.bytes)).toString('latin1'),
    outcomes: pieces.flatMap(piece =>
      piece.kind === 'pass' ? [] : [piece.kind === 'event' ? `${piece.complete} ${piece.data.toString('latin1')}` : null]
    ),
    doubt: pieces.map(piece => doubt.isIn(piece)).some(Boolean),
    count,
    between
  }
}

/** Cuts the stream into single bytes, and at some places that are derived from the content. */
function cuts (bytes: Buffer): Buffer[][] {
  const random = Random.of(bytes)
  const many = Array.from({ length: 3 }, () => {
    const at = [0, ...Array.from({ length: 1 + random.below(6) }, () => random.below(bytes.length + 1)).sort((a, b) => a - b), bytes.length]
    return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
  })
  return [Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)), ...many]
}

/**
 * The events of eventsource-parser. The parser expects that the decoder removes the byte order mark, and treats a CR at the very end as the
 * first half of a possible CRLF.
 */
function parsed (text: string): Event[] {
  const events: Event[] = []
  const parser = createParser({ onEvent: ({ event, id, data }) => { events.push({ event, id, data }) } })
  const bare = text.startsWith('\xef\xbb\xbf') ? text.slice(3) : text
  // The text after the mark must not look like a second mark to the parser.
  parser.feed(bare.startsWith('\xef\xbb\xbf') ? `x${bare}` : bare.replace(/\r$/, '\r\n'))
  return events
}

/** The text in the encoding that the parser gets. */
const inLatin1 = (text: string): string => Buffer.from(text).toString('latin1')
const onLf = (text: string): string => text.replace(/\r\n|\r/g, '\n')

/**
 * Checks that new data changes only the data of an event.
 * @param isFirst true when the stream begins with the event: a byte order mark is a mark only there
 */
function rewritten ({ bytes, complete }: SsePiece & { kind: 'event' }, text: string, isFirst: boolean): void {
  if (!complete) return
  const lead = isFirst ? '' : ':\n'
  const [before] = parsed(lead + bytes.toString('latin1'))
  for (const data of ['{"n":1}', 'a\r\nb\rc', '', text.slice(0, 20)]) {
    const after = parsed(lead + withData(bytes, Buffer.from(data)).toString('latin1'))
    equal(after.length, 1, 'one event stays one')
    same(after[0], { ...before, data: inLatin1(onLf(data)) }, 'only its data changed')
  }
}

/** Checks that written text is one event or none, whatever the text. */
function written (text: string): void {
  const [event, ...others] = parsed(eventBytes(Buffer.from(text), text).toString('latin1'))
  equal(others.length, 0)
  equal(event?.data, inLatin1(onLf(text)))
  same(parsed(commentBytes(text).toString('latin1') + 'data: after\n\n').map(({ data }) => data), ['after'])
}
