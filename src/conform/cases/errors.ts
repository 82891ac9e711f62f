/** Errors: those of the agent reach the client as they are, and those of the proxy have the form of the caller's binding. */
import type { Case, Check } from '../model.js'
import { CALL } from '../model.js'
import { grpcRequest, httpRequest, responseOf } from '../protocol.js'
import type { Place, Row } from './build.js'
import {
  answering, casesOf, GRPC, GRPC_1_0, HTTP, HTTP_1_0, JSONRPC_1_0, ONCE, REST_1_0, SAME_BYTES, SAME_STATUS, withBody
} from './build.js'

/** Errors of A2A 1.0.1 §5.4. */
const ERRORS = [
  [-32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'], [-32002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
  [-32003, 400, 'FAILED_PRECONDITION', 'PUSH_NOTIFICATION_NOT_SUPPORTED'], [-32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  [-32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'], [-32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'],
  [-32007, 400, 'FAILED_PRECONDITION', 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'], [
    -32008, 400, 'FAILED_PRECONDITION', 'EXTENSION_SUPPORT_REQUIRED'
  ],
  [-32009, 400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'], [
    -32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'
  ], [-32603, 500, 'INTERNAL', 'INTERNAL_ERROR']
] as const

const BASE = { group: 'errors', operation: 'send_message', level: 'must' } as const
const INFO = (reason: string): string =>
  `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"${reason}","domain":"a2a-protocol.org","metadata":{"x":"größer"}},{"@type":"type.googleapis.com/conform.Unknown","n":1.0}]`

const ofAgent = ([code, status, name, reason]: (typeof ERRORS)[number]): Row => ({
  ...BASE,
  id: `E-AGENT${code}`,
  name: `the error ${reason} of the agent reaches the client with its details`,
  spec: 'A2A 1.0.1 §5.4, §9.5, §11.6',
  on: HTTP_1_0,
  operation: 'get_task',
  agent: ([transport]) => transport === 'rest'
    ? {
        status,
        headers: [['Content-Type', 'application/a2a+json']],
        pieces: [`{"error":{"code":${status},"status":"${name}","message":"no ${CALL}","details":${INFO(reason)}}}`]
      }
    : {
        status: 200,
        headers: [['Content-Type', 'application/json']],
        pieces: [`{"jsonrpc":"2.0","id":"${CALL}","error":{"code":${code},"message":"no ${CALL}","data":${INFO(reason)}}}`]
      },
  expect: [ONCE, SAME_STATUS, SAME_BYTES]
})

const UNAVAILABLE: Check = { check: 'error', statuses: [500, 502, 503, 504], grpc: [2, 13, 14, 4] }
/** Faults of the connection to the agent. */
const FAULTS: readonly Row[] = [
  {
    ...BASE,
    id: 'E-UNREACHABLE',
    name: 'an agent that breaks the connection is an error in the form of the binding',
    spec: 'profile E2; A2A 1.0.1 §9.5, §10.6, §11.6',
    on: [
      ...HTTP, ...GRPC
    ],
    claims: ['ownErrors'],
    agent: () => ({ begin: 'reset' }),
    expect: ([transport]) => transport === 'grpc'
      ? [{ check: 'either', of: [[UNAVAILABLE], [{ check: 'end', is: 'broken' }]] }]
      : [UNAVAILABLE]
  },
  {
    ...BASE,
    id: 'E-UNREACHABLE-STATUS',
    name: 'an agent that breaks the connection is a server error of HTTP',
    spec: 'RFC 9110 §15.6.3',
    on: HTTP_1_0,
    level: 'should',
    agent: () => ({
      begin: 'reset'
    }),
    expect: [{ check: 'status', is: [500, 502, 503, 504] }]
  },
  {
    ...BASE,
    id: 'E-UNREACHABLE-STREAM',
    operation: 'send_streaming_message',
    name: 'an agent that breaks the connection before a stream is an error in the form of the binding',
    spec: 'profile E2',
    on: HTTP_1_0,
    claims: [
      'ownErrors'
    ],
    agent: () => ({ begin: 'reset' }),
    expect: [UNAVAILABLE]
  },
  {
    ...BASE,
    id: 'E-UNREACHABLE-HTML',
    name: 'a program that reads JSON gets no HTML when the agent breaks the connection',
    spec: 'profile E1',
    on: HTTP_1_0,
    level: 'should',
    agent: () => ({
      begin: 'reset'
    }),
    expect: [{ check: 'not-html' }]
  },
  {
    ...BASE,
    id: 'E-INCOMPLETE',
    name: 'an incomplete response does not look complete',
    spec: 'RFC 9112 §8',
    on: HTTP_1_0,
    agent: answering(
      'send_message', [], { end: 'reset' }
    ),
    expect: [{ check: 'either', of: [[{ check: 'end', is: 'broken' }], [{ check: 'error' }]] }]
  },
  {
    ...BASE,
    id: 'E-INCOMPLETE-CHUNKED',
    name: 'an incomplete response in chunks does not look complete',
    spec: 'RFC 9112 §8',
    on: HTTP_1_0,
    agent: answering(
      'send_message', [], { end: 'reset', framing: 'chunked' }
    ),
    expect: [{ check: 'either', of: [[{ check: 'end', is: 'broken' }], [{ check: 'error' }]] }]
  },
  {
    ...BASE,
    id: 'E-HTML',
    name: 'an error page of the agent keeps its status, or gets the form of the binding',
    spec: 'profile E3',
    on: HTTP_1_0,
    agent: () => ({
      status: 502, headers: [['Content-Type', 'text/html']], pieces: ['<html><body>Bad Gateway</body></html>']
    }),
    expect: [ONCE, { check: 'status', is: [500, 502, 503, 504] }]
  },
  {
    ...BASE,
    id: 'E-HTML-SHAPED',
    name: 'an error page of the agent gets the form of the binding',
    spec: 'profile E3',
    on: HTTP_1_0,
    level: 'may',
    agent: () => ({
      status: 502, headers: [['Content-Type', 'text/html']], pieces: ['<html><body>Bad Gateway</body></html>']
    }),
    expect: [{ check: 'error' }]
  }
]

const rpc = (code: number, id = `"${CALL}"`) => () => ({
  status: 200,
  headers: [['Content-Type', 'application/json']] as const,
  pieces: [`{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"wrong"}}`]
})
const invalid = (id: string, name: string, body: string, codes: readonly number[], requestId = `"${CALL}"`): Row => ({
  ...BASE,
  id: `E-${id}`,
  name,
  spec: 'JSON-RPC 2.0 §5.1; A2A 1.0.1 §9.5',
  on: JSONRPC_1_0,
  request: place => ({
    ...httpRequest('send_message', ...place), headers: [...httpRequest('send_message', ...place).headers, ['Conform-Call', CALL]], body
  }),
  agent: rpc(codes[0] ?? 0, requestId),
  expect: [{ check: 'error', codes, anyId: true }]
})

const rejected = (status: number, header: readonly [string, string]): Row => ({
  ...BASE,
  id: `E-HEADER-${header[0].toUpperCase()}-${status}`,
  name: `${header[0]} of a response with the status ${status} reaches the client`,
  spec: 'RFC 9110 §10.2.3, §11.6.1',
  on: HTTP_1_0,
  agent: ([transport]: Place) => ({
    status,
    headers: [['Content-Type', 'application/json'], header],
    pieces: [transport === 'rest'
      ? `{"error":{"code":${status},"status":"UNAVAILABLE","message":"for ${CALL}"}}`
      : `{"jsonrpc":"2.0","id":"${CALL}","error":{"code":-32000,"message":"later"}}`]
  }),
  expect: [ONCE, SAME_STATUS, { check: 'response-header', name: header[0], as: 'same' }, SAME_BYTES]
})

export const ERROR_CASES: readonly Case[] = casesOf([
  ...ERRORS.map(ofAgent), ...FAULTS,
  invalid('PARSE', 'a request that is no JSON gets -32700', `{"jsonrpc":"2.0","id":"${CALL}",`, [-32700], 'null'),
  invalid('PARSE-EMPTY', 'a request without a value gets -32700 or -32600', ` \n${' '.repeat(4)}`, [-32700, -32600], 'null'),
  invalid(
    'METHOD', 'a method that nobody knows gets -32601', `{"jsonrpc":"2.0","id":"${CALL}","method":"NoSuchMethod","params":{}}`, [-32601]
  ),
  invalid('ENVELOPE', 'a request without a method gets -32600', `{"jsonrpc":"2.0","id":"${CALL}"}`, [-32600]),
  invalid('BATCH', 'a batch gets one error', `[{"jsonrpc":"2.0","id":"${CALL}","method":"GetTask","params":{"id":"1"}}]`, [-32600], 'null'),
  invalid(
    'PARAMS', 'parameters of the wrong type get -32602', `{"jsonrpc":"2.0","id":"${CALL}","method":"GetTask","params":["${CALL}"]}`,
    [-32602, -32600]
  ),
  {
    ...BASE,
    id: 'E-ROUTE',
    name: 'a path that is no operation gets 404 in the form of the binding',
    spec: 'A2A 1.0.1 §11.6; profile E1',
    on: REST_1_0,
    claims: [
      'ownErrors'
    ],
    request: () => ({
      kind: 'http',
      method: 'GET',
      target: `/no-such-path/${CALL}`,
      headers: [['Accept', 'application/json'], ['A2A-Version', '1.0']],
      body: null
    }),
    expect: [{ check: 'error', statuses: [404] }]
  },
  {
    ...BASE,
    id: 'E-NUMBER-ID',
    name: 'a number as id comes back as the same number',
    spec: 'JSON-RPC 2.0 §5',
    on: JSONRPC_1_0,
    request: withBody(
      'send_message', (_, ordinary) => ordinary.replace(`"id":"${CALL}"`, '"id":9007199254740993')
    ),
    agent: () => ({
      status: 200,
      headers: [['Content-Type', 'application/json']],
      pieces: [`{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32001,"message":"no ${CALL}"}}`]
    }),
    expect: [ONCE, { check: 'request', part: 'body' }, SAME_BYTES]
  },
  rejected(429, ['Retry-After', '120']), rejected(503, ['Retry-After', 'Fri, 31 Dec 2027 23:59:59 GMT']), rejected(
    403, ['WWW-Authenticate', 'Bearer error="insufficient_scope"']
  ),
  {
    ...BASE,
    id: 'E-GRPC-UNKNOWN-METHOD',
    name: 'a method that nobody knows gets UNIMPLEMENTED',
    spec: 'gRPC over HTTP/2',
    on: GRPC_1_0,
    request: () => ({
      ...grpcRequest('send_message', '1.0'), path: '/lf.a2a.v1.A2AService/NoSuchMethod'
    }),
    agent: () => ({ trailers: [['grpc-status', '12'], ['grpc-message', 'no such method']] }),
    expect: [{ check: 'error', grpc: [12] }]
  },
  {
    ...BASE,
    id: 'E-GRPC-HTTP-STATUS',
    name: 'an HTTP error of the agent becomes an error of gRPC',
    spec: 'gRPC over HTTP/2, HTTP to gRPC status',
    on: GRPC_1_0,
    level: 'should',
    agent: () => ({
      status: 503, trailers: []
    }),
    expect: [{ check: 'either', of: [[{ check: 'error', grpc: [14, 2, 13] }], [{ check: 'status', is: [503, 502] }]] }]
  },
  {
    ...BASE,
    id: 'E-GRPC-NO-STATUS',
    name: 'a response without a status does not become OK',
    spec: 'gRPC over HTTP/2',
    on: GRPC_1_0,
    agent: () => ({
      pieces: responseOf('send_message', 'grpc', '1.0').pieces ?? [], trailers: []
    }),
    expect: [{ check: 'trailer', name: 'grpc-status', as: 'not', value: '0' }]
  }
])
