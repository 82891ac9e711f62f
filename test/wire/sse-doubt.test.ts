/** Event streams that clients interpret differently, cut at any place. */
import t from 'tap'
import { SseAmbiguity } from '#wire/sse/ambiguity.js'
import { SseSplitter } from '#wire/sse/split.js'

function isDoubted (text: string, cut: number): boolean {
  const bytes = Buffer.from(text)
  const splitter = new SseSplitter({ bytes: 10_000, lines: 100 })
  const doubt = new SseAmbiguity()
  const pieces = []
  for (let at = 0; at < bytes.length; at += cut) pieces.push(...splitter.feed(bytes.subarray(at, at + cut)))
  return [...pieces, ...splitter.end()].map(piece => doubt.isIn(piece)).includes(true)
}

const DOUBTED = [
  '{"a":1}', ' \n\t{"a":1}', '\ufeff{"a":1}\n\n', '[{"a":1}]\r\n\r\n', '\n\n{"a"\n:1}',
  ': x\u2028data: {}\n\n', ': x\u0085data: {}\n\n', ': x\vdata: {}', 'id: x\u2029data: {}\n\n', 'data: 1\nevent: x\fdata: {}\n\n',
  'event: \x1edata: {}\ndata: 1\n\n',
  ' data: {}\n\n', '\tdata: {}\n\n', 'data: 1\n\n \u00a0data: {}\n\n', 'data: 1\n data: {}\n\n', 'id: 1\n\u2005\u3000data: {}\ndata: 1\n\n',
  '\ufeff\ufeffdata: {}\n\n', '\ufeff data: {}\n\n', 'data: 1\n\n\ufeffdata: {}\n\n',
  ': x\n data: {}\n\n', '\n\r data: {}\n\n', '\n\r\r\r\r\r\u1680data: {}\n\n', 'data: 1\r\n\r\n\u205fdata:{}\r\n\r\n'
]
const PLAIN = [
  ': ping - 2026-01-01 00:00:00+00:00\n\n', ':\n\n', 'retry: 1000\nid: {\n\n', 'data: {"a":"\u2028\u2029\u0085"}\n\n',
  'data: {"a":"\u2028"}\nid: 1\nevent: message\n\n', '\ufeffdata: {}\n\n',
  'event: x\n\n{"a":1}\n\n', ':\tübung \u00a8\n\n', 'data: {\ndata: "a":1}\n\n', 'data: 1\n\ndata: {}',
  ':  data: {}\n\n', ': long comment      data: {}\n\n', ': x\u00a0 data: {}\n\n', 'x data: {}\n\n', 'data: 1\n \ndata: 2\n\n', ' \n\n',
  ' id: 1\n\n', 'data: \n\n', 'data : 1\n\n'
]

t.test('bytes that some clients read as JSON or as further lines are ambiguous, however they are cut', async t => {
  for (const text of DOUBTED) for (const cut of [1, 2, 3, 1_000]) t.ok(isDoubted(text, cut), `${encodeURIComponent(text)} by ${cut}`)
  for (const text of PLAIN) for (const cut of [1, 2, 3, 1_000]) t.notOk(isDoubted(text, cut), `${encodeURIComponent(text)} by ${cut}`)
})

t.test('a blank line that is cut before its LF makes no difference', async t => {
  for (const text of ['\v\ndata:\r \r\n\r\n', 'data: 1\r\n\v:\r\n\r\n', 'id:\v\r\ndata: 1\r\n\r\n']) {
    t.equal(isDoubted(text, 1), isDoubted(text, 1_000), encodeURIComponent(text))
  }
})
