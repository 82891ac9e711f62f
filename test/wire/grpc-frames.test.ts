/** Messages in the body of a gRPC call: whole, in pieces, and broken. */
import fc from 'fast-check'
import t from 'tap'
import type { GrpcMessage } from '#wire/grpc/deframer.js'
import { GrpcDeframer, grpcFrame } from '#wire/grpc/deframer.js'
import { check } from '../helpers/seed.js'

const texts = (messages: readonly GrpcMessage[]): string[] => messages.map(({ bytes }) => bytes.toString())

function prefix (flag: number, length: number): Buffer {
  const bytes = Buffer.alloc(5, flag)
  bytes.writeUInt32BE(length, 1)
  return bytes
}

t.test('any cut into chunks gives the same messages', async t => {
  t.ok(check('wire/grpc-frames/grpc-deframer-cuts', fc.property(
    fc.array(fc.record({ compressed: fc.boolean(), bytes: fc.uint8Array({ maxLength: 3_000 }) }), { maxLength: 6 }),
    fc.array(fc.nat(6_000), { maxLength: 30 }),
    (messages, cuts) => {
      const body = Buffer.concat(messages.map(({ compressed, bytes }) => {
        const frame = grpcFrame(Buffer.from(bytes))
        frame[0] = compressed ? 1 : 0
        return frame
      }))
      const deframer = new GrpcDeframer(3_000)
      const found: GrpcMessage[] = []
      const at = [0, ...cuts.map(cut => Math.min(cut, body.length)).sort((a, b) => a - b), body.length]
      // Like a socket's memory, a chunk does not change: messages may be views of it.
      for (let i = 1; i < at.length; i++) found.push(...deframer.feed(Buffer.from(body.subarray(at[i - 1], at[i]))))
      const isSame = ({ compressed, bytes }: GrpcMessage, i: number): boolean => {
        return compressed === messages[i]?.compressed && bytes.equals(messages[i]?.bytes as Uint8Array)
      }
      return deframer.end() === null &&
        found.length === messages.length &&
        found.every(isSame) &&
        Buffer.concat(found.map(({ frame }) => frame)).equals(body)
    }
  )) > 0, 'inputs')
})

t.test('faults: messages before them count, and the rest stays as sent', async t => {
  const good = grpcFrame(Buffer.from('good'))
  for (const [name, broken, fault] of [
    ['a flag above 1', Buffer.concat([prefix(2, 3), Buffer.from('abc')]), 'flag'],
    ['a flag above 1 before no message', prefix(2, 0), 'flag'],
    ['a message above the limit', prefix(0, 11), 'too_large'],
    ['the longest length', prefix(1, 0xffff_ffff), 'too_large']
  ] as const) {
    for (const step of [1, 4, 5, 100]) {
      const body = Buffer.concat([good, broken])
      const deframer = new GrpcDeframer(10)
      const found: string[] = []
      let rest = Buffer.alloc(0)
      for (let at = 0; at < body.length; at += step) {
        const chunk = Buffer.from(body.subarray(at, at + step))
        if (deframer.fault !== null) {
          rest = Buffer.concat([rest, chunk])
          continue
        }
        found.push(...texts(deframer.feed(chunk)))
        if (deframer.fault !== null) rest = deframer.rest
      }
      t.same([found, deframer.fault, deframer.end(), rest.equals(broken)], [['good'], fault, fault, true], `${name}, ${step} bytes at a time`)
      t.same(deframer.feed(good), [], 'nothing follows')
    }
  }
})

t.test('an announced message is rejected by its prefix, before its bytes', async t => {
  const deframer = new GrpcDeframer(10)
  deframer.feed(prefix(0, 11))
  t.equal(deframer.fault, 'too_large')
})

t.test('the end within a message', async t => {
  for (const body of [Buffer.from([0]), prefix(0, 1), Buffer.concat([grpcFrame(Buffer.from('x')), prefix(0, 2), Buffer.from('y')])]) {
    const deframer = new GrpcDeframer(10)
    deframer.feed(body)
    t.equal(deframer.end(), 'incomplete')
    t.ok(deframer.rest.length > 0)
  }
  t.equal(new GrpcDeframer(10).end(), null, 'an empty body has no message')
})

t.test('an incomplete message takes memory for the bytes received, not for those announced', async t => {
  const before = process.memoryUsage().arrayBuffers
  const many = Array.from({ length: 64 }, () => {
    const deframer = new GrpcDeframer(0xffff_ffff)
    deframer.feed(prefix(0, 64 * 1024 * 1024))
    for (let i = 0; i < 2_000; i++) deframer.feed(Buffer.from([i & 0xff]))
    return deframer
  })
  t.ok(process.memoryUsage().arrayBuffers - before < 4 * 1024 * 1024, `${many.length} messages of 64 MiB, 2 kB of each received`)
})
