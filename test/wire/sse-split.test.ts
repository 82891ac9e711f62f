import t from 'tap'
import { SseSplitter } from '#wire/sse/split.js'
import type { SsePiece } from '#wire/sse/split.js'

const ROOM = { bytes: 1_000, lines: 100 }

/** A piece as a row of a table: its bytes as latin1. An event also has its data, and `cut` when it is incomplete. */
type Row = string | [string, string] | [string, string, 'cut'] | { over: string }

function row (piece: SsePiece): Row {
  const bytes = piece.bytes.toString('latin1')
  if (piece.kind === 'pass') return bytes
  if (piece.kind === 'overflow') return { over: bytes }
  return piece.complete ? [bytes, piece.data.toString('latin1')] : [bytes, piece.data.toString('latin1'), 'cut']
}

function split (chunks: readonly string[], limits = ROOM): { fed: Row[][], end: Row[] } {
  const splitter = new SseSplitter(limits)
  const fed = chunks.map(chunk => splitter.feed(Buffer.from(chunk, 'latin1')).map(row))
  return { fed, end: splitter.end().map(row) }
}

t.test('a whole stream in one chunk', async (t) => {
  const rows: [string, string, Row[], Row[]][] = [
    ['nothing', '', [], []],
    ['one line of data', 'data: a\n\n', [['data: a\n\n', 'a']], []],
    [
      'LF, CR and CRLF',
      'data: a\n\ndata: b\r\rdata: c\r\n\r\n',
      [
        ['data: a\n\n', 'a'],
        ['data: b\r\r', 'b'],
        ['data: c\r\n\r\n', 'c']
      ],
      []
    ],
    ['line ends mixed within an event', 'data: a\rdata: b\ndata: c\r\n\n', [['data: a\rdata: b\ndata: c\r\n\n', 'a\nb\nc']], []],
    ['LF before CR is two line ends', 'data: a\n\r', [['data: a\n\r', 'a']], []],
    ['many lines of data', 'data: a\ndata\ndata:\ndata:b\n\n', [['data: a\ndata\ndata:\ndata:b\n\n', 'a\n\n\nb']], []],
    ['no colon: the empty value', 'data\n\n', [['data\n\n', '']], []],
    ['a colon and nothing', 'data:\n\n', [['data:\n\n', '']], []],
    ['two lines of nothing', 'data\ndata\n\n', [['data\ndata\n\n', '\n']], []],
    [
      'one space is taken off',
      'data:a\n\ndata: a\n\ndata:  a\n\ndata: \n\n',
      [
        ['data:a\n\n', 'a'],
        ['data: a\n\n', 'a'],
        ['data:  a\n\n', ' a'],
        ['data: \n\n', '']
      ],
      []
    ],
    ['a tab is none', 'data:\ta\n\n', [['data:\ta\n\n', '\ta']], []],
    ['other colons are of the value', 'data: a: b:\n\n', [['data: a: b:\n\n', 'a: b:']], []],
    [
      'other fields, known and unknown',
      'event: e\nid: 1\nother\ndata: a\nretry: 1\n\n',
      [['event: e\nid: 1\nother\ndata: a\nretry: 1\n\n', 'a']],
      []
    ],
    [
      'names are compared in full',
      'datas: a\ndat: a\nDATA: a\n data: a\ndata : a\n\n',
      ['datas: a\ndat: a\nDATA: a\n data: a\ndata : a\n\n'],
      []
    ],
    ['a block without data passes', 'event: ping\nid: 1\n\n', ['event: ping\nid: 1\n\n'], []],
    ['comments before, within and after', ': a\ndata: x\n: b\n\n: c\n\n', [': a\n', ['data: x\n: b\n\n', 'x'], ': c\n\n'], []],
    ['a colon alone is a comment', ':\ndata: x\n\n:', [':\n', ['data: x\n\n', 'x'], ':'], []],
    ['blank lines', '\n\r\n\rdata: x\n\n\n\n', ['\n\r\n\r', ['data: x\n\n', 'x'], '\n\n'], []],
    ['what passes is one piece', '\n: a\n\nid: 1\n\n: b\ndata: x\n\n', ['\n: a\n\nid: 1\n\n: b\n', ['data: x\n\n', 'x']], []],
    ['end without a blank line', 'data: a\n', [], [['data: a\n', 'a', 'cut']]],
    ['end within a line', 'data: a\ndata: b', [], [['data: a\ndata: b', 'a\nb', 'cut']]],
    ['end within the only line', 'data: a', [], [['data: a', 'a', 'cut']]],
    ['end after the name', 'id: 1\ndata', [], [['id: 1\ndata', '', 'cut']]],
    ['end within the name', 'id: 1\ndat', [], ['id: 1\ndat']],
    ['end without data', 'event: a\n', [], ['event: a\n']],
    ['end within a comment', 'data: a\n\n: b', [['data: a\n\n', 'a'], ': b'], []]
  ]
  for (const [name, text, fed, end] of rows) t.strictSame(split([text]), { fed: [fed], end }, name)
})

t.test('a byte order mark counts only at the beginning', async (t) => {
  const mark = '\xef\xbb\xbf'
  const rows: [string[], Row[][], Row[]][] = [
    [[`${mark}data: a\n\n`], [[mark, ['data: a\n\n', 'a']]], []],
    [[`${mark}: a\n\n`], [[`${mark}: a\n\n`]], []],
    [[`${mark}${mark}data: a\n\n`], [[`${mark}${mark}data: a\n\n`]], []],
    [[`data: a\n\n${mark}data: b\n\n`], [[['data: a\n\n', 'a'], `${mark}data: b\n\n`]], []],
    [[`\n${mark}data: b\n\n`], [[`\n${mark}data: b\n\n`]], []],
    [['\xef', '\xbb', '\xbf', 'data: a\n\n'], [[], [], ['\xef\xbb', '\xbf'], [['data: a\n\n', 'a']]], []],
    [['\xef\xbb', '\xbfdata', ': a\n\n'], [[], ['\xef\xbb', '\xbf'], [['data: a\n\n', 'a']]], []],
    [['\xef', '\xbb'], [[], []], ['\xef\xbb']],
    [['\xef\xbb', '\ndata: a\n\n'], [[], [['\xef\xbb\ndata: a\n\n', 'a']]], []]
  ]
  for (const [chunks, fed, end] of rows) t.strictSame(split(chunks), { fed, end }, JSON.stringify(chunks))
})

t.test('bytes outside of events pass at once, an event with the last byte of its blank line', async (t) => {
  const rows: [string, string[], Row[][]][] = [
    ['a heartbeat', [': hea', 'rtbeat', '\n', '\n'], [[': hea'], ['rtbeat'], ['\n'], ['\n']]],
    ['a comment before its blank line', [': a\n', 'data: x\n\n'], [[': a\n'], [['data: x\n\n', 'x']]]],
    ['an event, cut', ['da', 'ta', ': ', 'x\n', '\n'], [[], [], [], [], [['data: x\n\n', 'x']]]],
    ['the space after the colon, cut', ['data:', ' x\n\n'], [[], [['data: x\n\n', 'x']]]],
    ['CRLF, cut within the event', ['data: x\r', '\ndata: y\r', '\n\r\n'], [[], [], [['data: x\r\ndata: y\r\n\r\n', 'x\ny']]]],
    [
      'CRLF of the blank line, cut',
      ['data: x\r\n\r', '\ndata: y\r\r', 'data: z\n\n'],
      [[['data: x\r\n\r', 'x']], ['\n', ['data: y\r\r', 'y']], [['data: z\n\n', 'z']]]
    ],
    ['CRLF, cut, is not two line ends', ['data: x\r', '\n', 'data: y\r\r'], [[], [], [['data: x\r\ndata: y\r\r', 'x\ny']]]],
    ['CRLF, cut by an empty chunk', ['data: x\r', '', '\n\r\n'], [[], [], [['data: x\r\n\r\n', 'x']]]],
    ['a comment within an event waits', ['id: 1\n', ': a\n', 'data: x\n\n'], [[], [], [['id: 1\n: a\ndata: x\n\n', 'x']]]],
    ['a block without data, cut', ['id: 1\n', ': a', '\n\n\n'], [[], [], ['id: 1\n: a', '\n\n\n']]],
    [
      'the end of one, whole ones, the beginning of one',
      ['data: a', '\n\ndata: b\n\n: c\ndata: d', '\n\n'],
      [[], [['data: a\n\n', 'a'], ['data: b\n\n', 'b'], ': c\n'], [['data: d\n\n', 'd']]]
    ]
  ]
  for (const [name, chunks, fed] of rows) t.strictSame(split(chunks), { fed, end: [] }, name)
})

t.test('an event above a limit is reported once; its rest passes, and the next one is split', async (t) => {
  const limits = { bytes: 10, lines: 2 }
  const rows: [string, string[], Row[][]][] = [
    ['as many bytes as may be', ['data: 123\n\n'], [[['data: 123\n\n', '123']]]],
    ['one more', ['data: 1234\n\ndata: a\n\n'], [[{ over: 'data: 1234\n\n' }, ['data: a\n\n', 'a']]]],
    [
      'one more, cut',
      ['data: ', '12345', '67\nid: 1\n', '\ndata: a\n\n'],
      [[], [{ over: 'data: 12345' }], ['67\nid: 1\n'], ['\n', ['data: a\n\n', 'a']]]
    ],
    ['what comes before it', [': x\n\ndata: 1234\n\n'], [[': x\n\n', { over: 'data: 1234\n\n' }]]],
    ['as many lines as may be', ['data\nid\n\n'], [[['data\nid\n\n', '']]]],
    ['one more', ['data\na\nb\nc\n\ndata\n\n'], [[{ over: 'data\na\nb\n' }, 'c\n\n', ['data\n\n', '']]]],
    [
      'one more, cut',
      ['data\n', 'a\nb', '\nc', '\n', '\ndata\n\n'],
      [[], [], [{ over: 'data\na\nb\n' }, 'c'], ['\n'], ['\n', ['data\n\n', '']]]
    ],
    ['a block without data', ['id: 12345678'], [[{ over: 'id: 12345678' }]]],
    ['comments between events are none', [': 12345678901234567890\n:\n:\n:\n'], [[': 12345678901234567890\n:\n:\n:\n']]]
  ]
  for (const [name, chunks, fed] of rows) t.strictSame(split(chunks, limits), { fed, end: [] }, name)
})

t.test('an event that is complete in its chunk is not copied', async (t) => {
  const chunk = Buffer.from(': a\ndata: {"a":1}\n\n')
  for (const piece of new SseSplitter(ROOM).feed(chunk)) {
    t.equal(piece.bytes.buffer, chunk.buffer)
    if (piece.kind === 'event') t.equal(piece.data.buffer, chunk.buffer)
  }
})
