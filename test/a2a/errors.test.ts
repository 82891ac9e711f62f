import t from 'tap'
import fc from 'fast-check'
import { validateHeaderValue } from 'node:http'
import type { Caller, Reason, Rejection } from '#a2a/errors.js'
import { decisionHeader, errorReasonsOf, GATEWAY_DOMAIN, PROTOCOL_DOMAIN, REASONS, writeRejection } from '#a2a/errors.js'
import { anyText } from '../helpers/any-text.js'
import { check } from '../helpers/seed.js'

interface Row {
  readonly rpc: number
  readonly rpcHttp: number
  readonly http: number
  readonly status: string
  /** `A2A` for a reason of A2A; the reason of A2A that fits; null if none does. */
  readonly fits: string | null
}
const row = (rpc: number, http: number, status: string, fits: string | null = null): Row => ({ rpc, rpcHttp: 200, http, status, fits })
/** A reason that keeps its HTTP status in JSON-RPC. */
const infra = (rpc: number, http: number, status: string, fits: string | null = null): Row => ({ rpc, rpcHttp: http, http, status, fits })
/** JSON-RPC codes of the reasons of A2A. */
const CODES: Readonly<Record<string, number>> = { INVALID_PARAMS: -32602, UNSUPPORTED_OPERATION: -32004 }

/** Design §2.4, reference §6.1 and §7: written down again on purpose. */
const TABLE: Readonly<Record<Reason, Row>> = {
  EXTENSION_SUPPORT_REQUIRED: row(-32008, 400, 'FAILED_PRECONDITION', 'A2A'),
  EXTENSION_NOT_ALLOWED: row(-32004, 403, 'PERMISSION_DENIED', 'UNSUPPORTED_OPERATION'),
  EXTENSION_DATA_INVALID: row(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  CONTENT_TYPE_NOT_SUPPORTED: row(-32005, 400, 'INVALID_ARGUMENT', 'A2A'),
  EXTENSION_CONFLICT: row(-32602, 400, 'FAILED_PRECONDITION', 'INVALID_PARAMS'),
  EXTENSION_DEPENDENCY_MISSING: row(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  DELEGATION_INVALID: infra(-31403, 403, 'PERMISSION_DENIED'),
  DELEGATION_NOT_ALLOWED: infra(-31403, 403, 'PERMISSION_DENIED'),
  EXTERNAL_DECISION_DENIED: row(-32004, 403, 'PERMISSION_DENIED', 'UNSUPPORTED_OPERATION'),
  EXTERNAL_DECISION_UNAVAILABLE: infra(-32603, 503, 'UNAVAILABLE'),
  PUSH_URL_NOT_ALLOWED: row(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  PUSH_CONFIGS_EXHAUSTED: row(-32602, 400, 'FAILED_PRECONDITION', 'INVALID_PARAMS'),
  TASK_NOT_FOUND: row(-32001, 404, 'NOT_FOUND', 'A2A'),
  UNSUPPORTED_OPERATION: row(-32004, 400, 'FAILED_PRECONDITION', 'A2A'),
  INVALID_AGENT_RESPONSE: row(-32006, 500, 'INTERNAL', 'A2A'),
  VERSION_NOT_SUPPORTED: row(-32009, 400, 'FAILED_PRECONDITION', 'A2A'),
  PARSE_ERROR: row(-32700, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  INVALID_REQUEST: row(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  INVALID_PARAMS: row(-32602, 400, 'INVALID_ARGUMENT', 'A2A'),
  METHOD_NOT_FOUND: row(-32601, 404, 'NOT_FOUND'),
  ROUTE_NOT_FOUND: infra(-32601, 404, 'NOT_FOUND'),
  HOST_NOT_SERVED: infra(-32600, 421, 'NOT_FOUND'),
  CREDENTIALS_REQUIRED: infra(-32600, 401, 'UNAUTHENTICATED'),
  UNAUTHENTICATED: infra(-31401, 401, 'UNAUTHENTICATED'),
  PERMISSION_DENIED: infra(-31403, 403, 'PERMISSION_DENIED'),
  IDENTITY_UNAVAILABLE: infra(-32603, 503, 'UNAVAILABLE'),
  UPSTREAM_CREDENTIALS_UNAVAILABLE: infra(-32603, 502, 'UNAVAILABLE'),
  RATE_LIMITED: infra(-32603, 429, 'RESOURCE_EXHAUSTED'),
  BUDGET_EXHAUSTED: infra(-32603, 429, 'RESOURCE_EXHAUSTED'),
  METHOD_NOT_ALLOWED: infra(-32600, 405, 'UNIMPLEMENTED'),
  REQUEST_TOO_LARGE: infra(-32603, 413, 'OUT_OF_RANGE'),
  REQUEST_TIMEOUT: infra(-32603, 408, 'DEADLINE_EXCEEDED'),
  BAD_REQUEST_TARGET: infra(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  BAD_REQUEST_HEADER: infra(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  CONTENT_ENCODING_NOT_SUPPORTED: infra(-32600, 415, 'INVALID_ARGUMENT'),
  LOOP_DETECTED: infra(-32603, 508, 'FAILED_PRECONDITION'),
  AGENT_NOT_READY: infra(-32603, 503, 'UNAVAILABLE'),
  GRPC_NOT_SERVED: infra(-32603, 501, 'UNIMPLEMENTED'),
  OVERLOADED: infra(-32603, 503, 'UNAVAILABLE'),
  STATE_UNAVAILABLE: infra(-32603, 503, 'UNAVAILABLE'),
  UPSTREAM_UNREACHABLE: infra(-32603, 502, 'UNAVAILABLE'),
  UPSTREAM_FAILED: infra(-32603, 502, 'UNAVAILABLE'),
  UPSTREAM_TIMEOUT: infra(-32603, 504, 'DEADLINE_EXCEEDED'),
  INTERNAL_ERROR: infra(-32603, 500, 'INTERNAL')
}
const reasons = Object.keys(REASONS) as Reason[]

const caller = (more: Partial<Caller> = {}): Caller => ({
  binding: 'JSONRPC',
  version: '1.0',
  id: '1',
  eventStream: false,
  statedVersion: true,
  mediaType: null,
  ...more
})
const refusal = (reason: Reason, more: Partial<Rejection> = {}): Rejection => ({ reason, message: 'It "says"\nso.', rule: 'x/y', ...more })
const info = (reason: string, domain: string): object => ({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain })

for (const reason of reasons) {
  t.test(`${reason} on the wire`, async t => {
    const { rpc, rpcHttp, http, status, fits } = TABLE[reason]
    const ours = info(reason, fits === 'A2A' ? PROTOCOL_DOMAIN : GATEWAY_DOMAIN)
    const theirs = fits === null || fits === 'A2A' ? [] : [info(fits, PROTOCOL_DOMAIN)]
    const rpcDetails = CODES[fits ?? ''] === rpc ? [...theirs, ours] : [ours]
    const details = [...theirs, ours]
    for (const version of ['0.3', '1.0'] as const) {
      const answer = writeRejection(refusal(reason), caller({ version, id: '12345678901234567890' }))
      t.equal(answer.status, rpcHttp, `JSON-RPC ${version}: status`)
      t.equal(answer.contentType, 'application/json')
      t.equal(
        answer.body.toString(),
        `{"jsonrpc":"2.0","id":12345678901234567890,"error":${JSON.stringify({ code: rpc, message: 'It "says"\nso.', data: rpcDetails })}}`
      )
      t.equal(answer.phrase, rpcHttp === 200 ? '' : 'It "says"?so.', 'the message is the reason phrase of any other status')
    }
    const unstated = writeRejection(refusal(reason), caller({ version: '0.3', statedVersion: false }))
    t.same(
      JSON.parse(unstated.body.toString()),
      { jsonrpc: '2.0', id: 1, error: { code: rpc, message: 'It "says"\nso.', data: { error: 'It "says"\nso.', details: rpcDetails } } },
      'JSON-RPC 0.3 without A2A-Version: data is an object'
    )
    for (const [mediaType, contentType] of [
      [null, 'application/a2a+json'],
      ['application/a2a+json', 'application/a2a+json'],
      ['application/json', 'application/json'],
      ['text/plain', 'application/a2a+json']
    ] as const) {
      const answer = writeRejection(refusal(reason), caller({ binding: 'HTTP+JSON', mediaType }))
      t.equal(answer.status, http)
      t.equal(answer.contentType, contentType, `HTTP+JSON 1.0 mirrors ${String(mediaType)}`)
      t.equal(answer.body.toString(), JSON.stringify({ error: { code: http, status, message: 'It "says"\nso.', details } }))
    }
    const legacy = writeRejection(refusal(reason), caller({ binding: 'HTTP+JSON', version: '0.3', mediaType: 'application/a2a+json' }))
    t.equal(legacy.status, http)
    t.equal(legacy.contentType, 'application/json')
    const { type, ...legacyBody } = JSON.parse(legacy.body.toString()) as Record<string, unknown>
    t.same(legacyBody, {
      code: rpc,
      message: 'It "says"\nso.',
      data: details,
      error: { code: http, status, message: 'It "says"\nso.', details }
    })
    t.match(type, /^[A-Za-z]+Error$/, 'the name of the error, which Python reads')
    t.equal(legacy.phrase, 'It "says"?so.')
  })
}

t.test('a caller that expects a stream gets the rejection as its only event; infrastructure errors keep their status', async t => {
  for (const [reason, version] of reasons.flatMap(one => [[one, '0.3'], [one, '1.0']] as const)) {
    const answer = writeRejection(refusal(reason), caller({ version, eventStream: true, id: '"a\\nb"' }))
    const body = answer.body.toString()
    if (TABLE[reason].rpcHttp === 200) {
      t.equal(answer.status, 200)
      t.equal(answer.contentType, 'text/event-stream')
      t.match(body, /^data: \{[^\r\n]+\}\n\n$/, `${reason}: one line, one event`)
      t.match(JSON.parse(body.slice(6)), { jsonrpc: '2.0', id: 'a\nb', error: { code: TABLE[reason].rpc } })
    } else {
      t.equal(answer.status, TABLE[reason].http)
      t.equal(answer.contentType, 'application/json')
    }
  }
})

t.test('the phrase is visible ASCII and bounded; the status may differ from that of the reason', async t => {
  const { phrase } = writeRejection(
    refusal('UPSTREAM_FAILED', { message: `\u202e\r\nx-injected: 1 é${'y'.repeat(5_000)}` }),
    caller({ binding: 'HTTP+JSON' }),
    413
  )
  t.match(phrase, /^[\x20-\x7e]{1,400}$/)
  const page = writeRejection(refusal('UPSTREAM_FAILED'), caller({ binding: 'HTTP+JSON' }), 413)
  t.equal(page.status, 413)
  t.equal((JSON.parse(page.body.toString()) as { error: { code: number } }).error.code, 413)
  t.equal(writeRejection(refusal('UPSTREAM_FAILED'), caller(), 413).status, 413)
})

t.test('the id is written as the client wrote it', async t => {
  for (const id of ['0', 'null', '"x"', '12345678901234567890', '1e400', '"\\u0061"']) {
    t.ok(writeRejection(refusal('PARSE_ERROR'), caller({ id })).body.toString().startsWith(`{"jsonrpc":"2.0","id":${id},"error":`), id)
  }
})

const detailsOf = (more: Partial<Rejection>, reason: Reason = 'EXTENSION_DATA_INVALID'): unknown => {
  const body = JSON.parse(writeRejection(refusal(reason, more), caller()).body.toString()) as { error: { data: unknown } }
  return body.error.data
}

t.test('a reason of a policy comes after the reason of A2A, and replaces the gateway\'s own', async t => {
  const reasonsOf = (reason: Reason, customReason: string): string[] =>
    errorReasonsOf(refusal(reason, { customReason }), 'HTTP+JSON').map(one => `${one.reason} ${one.domain}`)
  t.same(reasonsOf('EXTENSION_CONFLICT', 'STRUCTURED_INPUT_TASK_RUNNING'), [
    'INVALID_PARAMS a2a-protocol.org', 'STRUCTURED_INPUT_TASK_RUNNING a2a-extension-gateway'
  ])
  t.same(reasonsOf('CONTENT_TYPE_NOT_SUPPORTED', 'SCHEMA_UNUSABLE'), [
    'CONTENT_TYPE_NOT_SUPPORTED a2a-protocol.org', 'SCHEMA_UNUSABLE a2a-extension-gateway'
  ])
  t.same(reasonsOf('EXTENSION_DATA_INVALID', 'INVALID_PARAMS'), ['INVALID_PARAMS a2a-protocol.org'], 'the fitting one')
  t.same(reasonsOf('EXTENSION_DATA_INVALID', 'UNSUPPORTED_OPERATION'), ['UNSUPPORTED_OPERATION a2a-extension-gateway'], 'another one of A2A')
  t.same(reasonsOf('EXTENSION_DATA_INVALID', 'toString'), ['INVALID_PARAMS a2a-protocol.org', 'toString a2a-extension-gateway'])
  t.same(reasonsOf('INTERNAL_ERROR', 'OWN'), ['OWN a2a-extension-gateway'])
})

t.test('details: metadata, field violations, help', async t => {
  const fields = [{ field: 'params.message.parts[0].data.a', description: 'is required' }]
  t.same(detailsOf({ metadata: { rule: 'r' }, fields, helpUri: 'https://x.test/ext' }), [
    { ...info('INVALID_PARAMS', PROTOCOL_DOMAIN), metadata: { rule: 'r' } },
    { ...info('EXTENSION_DATA_INVALID', GATEWAY_DOMAIN), metadata: { rule: 'r' } },
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: fields },
    {
      '@type': 'type.googleapis.com/google.rpc.Help',
      links: [{ description: 'Specification of the extension', url: 'https://x.test/ext' }]
    }
  ])
  t.same(detailsOf({ fields: [] }), [info('INVALID_PARAMS', PROTOCOL_DOMAIN), info('EXTENSION_DATA_INVALID', GATEWAY_DOMAIN)])
  const help = (helpUri: string): unknown => (detailsOf({ helpUri }) as object[])[2]
  t.match(help('http://x.test'), { links: [{ url: 'http://x.test' }] })
  for (const uri of ['urn:x:y', 'javascript:alert(1)', 'github.com/x', '', ' https://x', 'ftp://x']) t.equal(help(uri), undefined, uri)
})

t.test('decisionHeader is a valid header value that names the rule', async t => {
  t.equal(decisionHeader('object-schemas/validate'), 'reject;rule="object-schemas/validate"')
  t.equal(decisionHeader('https://x.test/v1/required'), 'reject;rule="https://x.test/v1/required"')
  t.equal(decisionHeader('a "b\\\r\né'), 'reject;rule="a%20%22b%5C%0D%0A%C3%A9"')
  t.ok(decisionHeader('x'.repeat(100_000)).length < 1_000, 'clipped')
  t.ok(check('a2a/errors/decision-header', fc.property(anyText({ maxLength: 700 }), rule => {
    const value = decisionHeader(rule)
    validateHeaderValue('gateway-decision', value)
    return /^reject;rule="[\x21\x23-\x5b\x5d-\x7e]*"$/.test(value)
  }), { numRuns: 1_000 }) > 0, 'inputs')
})
