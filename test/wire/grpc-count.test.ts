/** Counts of gRPC messages, and headers in the form of node:http2. */
import fc from 'fast-check'
import t from 'tap'
import { GrpcCounter } from '#wire/grpc/count.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { addHeaders } from '#wire/header-object.js'
import { check } from '../helpers/seed.js'

const SIZES = fc.array(fc.nat(700), { maxLength: 12 })
const CUTS = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 40 })

t.test('messages are counted where they end, however the bytes are cut', t => {
  t.ok(check(
    'wire/grpc-count/cuts',
    fc.property(SIZES, CUTS, (sizes, cuts) => {
      const body = Buffer.concat(sizes.map(size => grpcFrame(Buffer.alloc(size, 7))))
      const counter = new GrpcCounter()
      let at = 0
      let counted = 0
      let ended = 0
      let complete = 0
      for (let i = 0; at < body.length; i++) {
        const chunk = body.subarray(at, at + (cuts[i % cuts.length] as number))
        at += chunk.length
        counted += counter.count(chunk)
        while (ended < sizes.length && complete + 5 + (sizes[ended] as number) <= at) complete += 5 + (sizes[ended++] as number)
        if (counted !== ended) return false
      }
      return counted === sizes.length
    })
  ) > 0, 'inputs')
  t.end()
})

t.test('lines of one name stay lines, except where Node takes one', t => {
  const object = addHeaders({ te: 'trailers' }, [
    'x', '1', 'x', '2', 'x', '3', 'content-type', 'a', 'content-type', 'b', 'constructor', 'c', '__proto__', 'd', 'tostring', 'e'
  ])
  t.same(Object.entries(object), [
    ['te', 'trailers'], ['x', ['1', '2', '3']], ['content-type', 'a'], ['constructor', 'c'], ['tostring', 'e']
  ])
  t.equal(Object.getPrototypeOf(object), Object.prototype)
  t.end()
})
