/** Texts of gRPC's headers and trailers. */
import fc from 'fast-check'
import t from 'tap'
import { codeOfHttpStatus, GRPC_CODES } from '#wire/grpc/codes.js'
import { encodeBinary, encodeGrpcMessage } from '#wire/grpc/status-text.js'
import { readGrpcTimeout } from '#wire/grpc/timeout.js'
import { anyText } from '../helpers/any-text.js'
import { check } from '../helpers/seed.js'
import { status as codes } from '@grpc/grpc-js'

t.test('codes are those of grpc-js', async t => {
  t.same(GRPC_CODES, Object.fromEntries(Object.entries(codes).filter(([, value]) => typeof value === 'number')))
})

t.test('HTTP statuses (gRPC doc/http-grpc-status-mapping.md)', async t => {
  t.same([400, 401, 403, 404, 429, 502, 503, 504, 200, 302, 405, 500].map(codeOfHttpStatus), [
    'INTERNAL', 'UNAUTHENTICATED', 'PERMISSION_DENIED', 'UNIMPLEMENTED', 'UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE',
    'UNKNOWN', 'UNKNOWN', 'UNKNOWN', 'UNKNOWN'
  ])
})

t.test('grpc-timeout', async t => {
  const read = (text: string): number | null => readGrpcTimeout(text)
  t.same(['1H', '2M', '3S', '4m', '5u', '6n', '0n', '12345678S'].map(read), [3_600_000, 120_000, 3_000, 4, 0.005, 0.000006, 0, 2_147_483_647])
  t.equal(read('99999999H'), 2_147_483_647, 'never above what setTimeout takes: it would fire at once')
  t.same(['', '1', 'S', '123456789S', '1s', '-1S', '1.5S', '1 S', ' 1S', '1S\n', '0x1S', '١S'].map(read), Array(12).fill(null))
})

t.test('grpc-message: a field value of HTTP/2 that decodes to the message', async t => {
  for (const [message, encoded] of [
    ['plain', 'plain'],
    ['100 % sure', '100 %25 sure'],
    ['Grüße\n', 'Gr%C3%BC%C3%9Fe%0A'],
    [' both ends ', '%20both ends%20'],
    [' ', '%20'],
    ['', ''],
    ['\ud800', '%EF%BF%BD']
  ] as const) t.equal(encodeGrpcMessage(message), encoded)
  check('wire/grpc-text/decoded', fc.property(anyText(), message => {
    const encoded = encodeGrpcMessage(message)
    return /^(?! )[\x20-\x7e]*$(?<! )/.test(encoded) && decodeURIComponent(encoded) === Buffer.from(message).toString()
  }))
})

t.test('binary values have no padding', async t => {
  t.same(['', 'a', 'ab', 'abc'].map(text => encodeBinary(Buffer.from(text))), ['', 'YQ', 'YWI', 'YWJj'])
})
