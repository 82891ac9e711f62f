/** Rejections over gRPC: codes, details, and the limit of 8 kB. */
import fc from 'fast-check'
import t from 'tap'
import type { Reason, Rejection } from '#a2a/errors.js'
import { errorReasonsOf, GATEWAY_DOMAIN, REASONS } from '#a2a/errors.js'
import { grpcStatusOf } from '#a2a/grpc/status.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { rejectionEvent, rejectionResponse } from '#pipeline/rejection-response.js'
import { anyText } from '../helpers/any-text.js'
import { detailsIn, fieldOf } from '../helpers/rpc-status.js'
import { check } from '../helpers/seed.js'

const reasons = Object.keys(REASONS) as Reason[]
/** Where gRPC and HTTP differ, written down again on purpose. */
const OTHERS: Partial<Record<Reason, number>> = {
  REQUEST_TOO_LARGE: GRPC_CODES.RESOURCE_EXHAUSTED,
  ROUTE_NOT_FOUND: GRPC_CODES.UNIMPLEMENTED,
  HOST_NOT_SERVED: GRPC_CODES.UNIMPLEMENTED,
  METHOD_NOT_FOUND: GRPC_CODES.UNIMPLEMENTED,
  CONTENT_ENCODING_NOT_SUPPORTED: GRPC_CODES.UNIMPLEMENTED,
  EXTENSION_CONFLICT: GRPC_CODES.INVALID_ARGUMENT,
  PUSH_CONFIGS_EXHAUSTED: GRPC_CODES.INVALID_ARGUMENT
}
const many = Array.from({ length: 10_000 }, (_, i) => ({ field: `message.parts[${i}].data.total`, description: 'must be a number' }))

/** As HTTP/2 counts for SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 §6.5.2). */
function sizeOf (list: readonly string[]): number {
  return list.reduce((size, text) => size + Buffer.byteLength(text), 0) + list.length / 2 * 32
}

function problemsOf (rejection: Rejection): string[] {
  const { code, message, trailers } = grpcStatusOf(rejection)
  const found = detailsIn(trailers)
  const problems: string[] = []
  if (fieldOf(trailers, 'grpc-status') !== String(code) || found.code !== code) problems.push('codes differ')
  if (decodeURIComponent(fieldOf(trailers, 'grpc-message') ?? '') !== found.message) problems.push('messages differ')
  if (found.message !== Buffer.from(message).toString()) problems.push('the message of the result differs')
  // Status, Content-Type and the frame of rejectionResponse.
  if (sizeOf([':status', '200', 'content-type', 'application/grpc', ...trailers]) > 8_000) problems.push(`${sizeOf(trailers)} bytes`)
  if (trailers.some((text, i) => !(i % 2 === 0 ? /^[a-z-]+$/ : /^(?! )[\x20-\x7e]*$(?<! )/).test(text))) problems.push('not a header field')
  return problems
}

for (const reason of reasons) {
  t.test(reason, async t => {
    const rejection: Rejection = {
      reason,
      message: 'Größe: 100 % of "total" is missing.\n',
      rule: 'traced/data',
      metadata: { rule: 'data', extension: 'https://example.com/traced' },
      helpUri: 'https://example.com/traced',
      fields: many
    }
    const { code, message, trailers } = grpcStatusOf(rejection)
    const { details } = detailsIn(trailers)
    const infos = details.filter(({ type }) => type === 'ErrorInfo')
    const [badRequest, help] = details.slice(infos.length)
    t.equal(code, OTHERS[reason] ?? GRPC_CODES[REASONS[reason].status])
    t.equal(message, rejection.message)
    t.same(problemsOf(rejection), [])
    if (!REASONS[reason].infrastructure) t.not(code, GRPC_CODES.UNAVAILABLE, 'clients retry UNAVAILABLE')
    const shown = (badRequest?.fieldViolations ?? []) as object[]
    t.ok(shown.length > 20)
    t.same(shown, many.slice(0, shown.length))
    const metadata = { rule: 'data', extension: 'https://example.com/traced', omittedFieldViolations: String(10_000 - shown.length) }
    t.same(infos, errorReasonsOf(rejection, 'GRPC').map(one => ({ type: 'ErrorInfo', ...one, metadata })))
    t.same(help, { type: 'Help', links: [{ description: 'Specification of the extension', url: 'https://example.com/traced' }] })
    t.equal(fieldOf(trailers, 'gateway-decision'), 'reject;rule="traced/data"')
    t.match(detailsIn(grpcStatusOf({ ...rejection, customReason: 'OWN' }).trailers).details[0], { reason: 'OWN', domain: GATEWAY_DOMAIN })
  })
}

t.test('nothing is omitted that fits', async t => {
  const { trailers } = grpcStatusOf({ reason: 'EXTENSION_DATA_INVALID', message: 'No.', rule: 'a/b', metadata: { a: 'b' }, fields: many.slice(0, 20) })
  t.same(detailsIn(trailers).details, [
    { type: 'ErrorInfo', reason: 'EXTENSION_DATA_INVALID', domain: GATEWAY_DOMAIN, metadata: { a: 'b' } },
    // The Go SDK reads the last one.
    { type: 'ErrorInfo', reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org', metadata: { a: 'b' } },
    { type: 'BadRequest', fieldViolations: many.slice(0, 20) }
  ])
})

t.test('what has no room: fields, then the link, then the longest metadata, and the end of the message', async t => {
  const long = 'x'.repeat(20_000)
  const base: Rejection = { reason: 'EXTENSION_SUPPORT_REQUIRED', message: 'No.', rule: 'a/b', fields: many.slice(0, 3) }
  const link = detailsIn(grpcStatusOf({ ...base, helpUri: `https://${long}` }).trailers)
  t.match(link.details, [{ metadata: { omittedHelp: 'true' } }, { type: 'BadRequest', fieldViolations: many.slice(0, 3) }])
  t.equal(link.details.length, 2)
  const metadata = detailsIn(grpcStatusOf({ ...base, metadata: { rule: 'b', missingExtensions: long } }).trailers)
  t.same(metadata.details[0]?.metadata, { rule: 'b', omittedMetadata: 'missingExtensions' })
  const { message, trailers } = grpcStatusOf({ ...base, message: `${'ü'.repeat(500)}${long}` })
  t.match(message, /^ü+\.\.\.$/)
  t.equal(detailsIn(trailers).message, message)
})

t.test('a long rule and a long message', async t => {
  t.same(problemsOf({ reason: 'EXTENSION_DATA_INVALID', message: 'x'.repeat(3_000), rule: 'é'.repeat(600), fields: many }), [])
})

t.test('any rejection stays below 8 kB, and its details equal its trailers', async t => {
  const text = fc.oneof(anyText({ maxLength: 40 }), anyText({ maxLength: 40 }), fc.constant('é'.repeat(3_000)))
  t.ok(check('a2a/grpc-status/decoded', fc.property(
    fc.record({
      reason: fc.constantFrom(...reasons),
      message: text,
      rule: text,
      metadata: fc.dictionary(text, text, { maxKeys: 12 }),
      fields: fc.array(fc.record({ field: text, description: text }), { maxLength: 40 }),
      helpUri: text.map(one => `https://${one}`)
    }),
    rejection => problemsOf(rejection).length === 0
  )) > 0, 'inputs')
})

t.test('waiting times and challenges', async t => {
  const { trailers } = grpcStatusOf({ reason: 'OVERLOADED', message: 'Later.', rule: 'a/b', retryAfter: 1.5, challenge: 'Bearer scope="a"' })
  t.equal(fieldOf(trailers, 'grpc-retry-pushback-ms'), '1500')
  t.equal(fieldOf(trailers, 'www-authenticate'), 'Bearer scope="a"')
  t.same(problemsOf({ reason: 'OVERLOADED', message: 'Later.', rule: 'a/b', challenge: `Bearer scope="${'a'.repeat(20_000)}"` }), [])
})

t.test('a whole response: one head that ends the stream', async t => {
  const rejection: Rejection = { reason: 'PERMISSION_DENIED', message: 'No.', rule: 'a/b' }
  const caller = { binding: 'GRPC', version: '1.0', id: 'null', eventStream: true, statedVersion: true, mediaType: null } as const
  const { status, phrase, headers, body } = rejectionResponse(rejection, caller, undefined, ['x-more', '1'])
  t.same({ status, phrase, body: body.length }, { status: 200, phrase: '', body: 0 })
  t.same(headers, ['content-type', 'application/grpc', ...grpcStatusOf(rejection).trailers, 'x-more', '1'])
  t.equal(fieldOf(rejectionResponse(rejection, caller, 401).headers, 'grpc-status'), '16', 'the status of an agent determines the code')
  t.equal(rejectionEvent(rejection, caller).length, 0, 'no event: the trailers hold the rejection')
})
