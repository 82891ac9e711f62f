/** Bodies with Content-Encoding: gzip: one member, with exactly the content that its trailer states. */
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { gunzip, gunzipSync, readGzip } from '#wire/gzip.js'
import { check } from '../helpers/seed.js'

const TEXT = Buffer.from('{"a":"'.padEnd(5_000, 'xy') + '"}')
const GZIP = gzipSync(TEXT)

function read (bytes: Buffer): Buffer | null {
  const member = readGzip(bytes)
  return member === null ? null : gunzipSync(member)
}

function changed (at: number, value: number): Buffer {
  const bytes = Buffer.from(GZIP)
  bytes[at < 0 ? bytes.length + at : at] = value
  return bytes
}

/** With the optional fields of RFC 1952 §2.3. */
function withHeader (flags: number, fields: Buffer): Buffer {
  return Buffer.concat([GZIP.subarray(0, 3), Buffer.from([flags]), GZIP.subarray(4, 10), fields, GZIP.subarray(10)])
}

t.test('any content', async t => {
  check('wire/gzip/a gzip body is read as Node reads it', fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.integer({ min: 0, max: 9 }), (content, level) => {
    return read(gzipSync(content, { level }))?.equals(content) === true
  }))
  for (const [name, bytes] of [
    ['a file name', withHeader(8, Buffer.from('body.json\0'))],
    ['a comment and FTEXT', withHeader(17, Buffer.from('x\0'))],
    ['extra fields', withHeader(4, Buffer.from([3, 0, 1, 2, 3]))],
    ['a checksum of the header', withHeader(2, Buffer.from([0, 0]))],
    ['all of them', withHeader(31, Buffer.from([1, 0, 9, 65, 0, 66, 0, 0, 0]))]
  ] as const) t.same(read(bytes), TEXT, name)
})

t.test('anything else is malformed', async t => {
  for (const [name, bytes] of [
    ['empty', Buffer.alloc(0)],
    ['plain text', TEXT],
    ['another method', changed(2, 7)],
    ['a reserved flag', changed(3, 0x20)],
    ['two members', Buffer.concat([GZIP, GZIP])],
    ['trailing bytes', Buffer.concat([GZIP, Buffer.from('x')])],
    ['cut off', GZIP.subarray(0, -1)],
    ['without a trailer', GZIP.subarray(0, -8)],
    ['another checksum', changed(-8, (GZIP.at(-8) as number) ^ 1)],
    ['a larger size', changed(-4, (GZIP.at(-4) as number) + 1)],
    ['a smaller size', changed(-4, (GZIP.at(-4) as number) - 1)],
    ['broken data', changed(12, 0xff)],
    ['an endless file name', withHeader(8, Buffer.alloc(0)).fill(1, 10)],
    ['extra fields beyond the end', withHeader(4, Buffer.from([0xff, 0xff]))]
  ] as const) t.equal(read(bytes), null, name)
})

t.test('no more is decompressed than the trailer states', async t => {
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  bomb.writeUInt32LE(1_000, bomb.length - 4)
  const member = readGzip(bomb)
  if (member === null) throw new Error('no member')
  t.equal(member.size, 1_000)
  const before = process.memoryUsage().arrayBuffers
  t.equal(await new Promise(resolve => { gunzip(member, resolve) }), null)
  t.ok(process.memoryUsage().arrayBuffers - before < 5_000_000)
})
