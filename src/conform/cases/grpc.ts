/** Transparent, gRPC: metadata, messages, statuses, deadlines, streams. */
import type { Case, Check, Line, Script } from '../model.js'
import { CALL } from '../model.js'
import { grpcMessage, grpcRequest, grpcTask, pb, responseOf, UNKNOWN_FIELD } from '../protocol.js'
import type { Row } from './build.js'
import { casesOf, COMPLETE, GRPC, GRPC_1_0, ONCE } from './build.js'

const BASE = {
  group: 'transparent', operation: 'send_message', on: GRPC_1_0, level: 'must', spec: 'A2A 1.0.1 §10; gRPC over HTTP/2'
} as const
const OK: Check = { check: 'trailer', name: 'grpc-status', as: 'is', value: '0' }
const MESSAGES: Check = { check: 'request', part: 'messages' }
const base64 = (bytes: Buffer): string => bytes.toString('base64')
const unary = responseOf('send_message', 'grpc', '1.0')
const streaming = (version: '1.0' | '0.3'): Script => responseOf('send_streaming_message', 'grpc', version)

const metadata = (id: string, name: string, lines: readonly Line[], check: Check, extra: Partial<Row> = {}): Row => ({
  ...BASE,
  id: `T-GRPC-${id}`,
  name,
  request: ([, version]) => {
    const request = grpcRequest('send_message', version); return {
      ...request, metadata: [...request.metadata, ...lines]
    }
  },
  agent: () => unary,
  expect: [ONCE, check],
  ...extra
})

const status = (code: number, name: string): Row => ({
  ...BASE,
  id: `T-GRPC-STATUS-${code}`,
  name: `the status ${name} and its message reach the client`,
  agent: () => ({ trailers: [['grpc-status', String(code)], ['grpc-message', 'no: gr%C3%B6%C3%9Fer %25']] }),
  expect: [
    ONCE, { check: 'trailer', name: 'grpc-status', as: 'is', value: String(code) }, { check: 'trailer', name: 'grpc-message', as: 'same' }
  ]
})

const withMessage = (message: Buffer, extra: object = {}) => () => ({
  ...grpcRequest('send_message', '1.0'), messages: [base64(pb([2, message]))], ...extra
})

export const GRPC_CASES: readonly Case[] = casesOf([
  metadata(
    'METADATA', 'metadata that no specification names reaches the agent', [['x-conform-one', 'first value']],
    { check: 'request-header', name: 'x-conform-one', as: 'lines' }, { on: GRPC }
  ),
  metadata(
    'METADATA-REPEATED', 'repeated metadata keeps its values and their order', [['x-conform-many', 'b'], ['x-conform-many', 'a']],
    { check: 'request-header', name: 'x-conform-many', as: 'same' }
  ),
  metadata(
    'METADATA-BINARY', 'binary metadata reaches the agent', [['x-conform-bin', 'AAEC/w']],
    { check: 'request-header', name: 'x-conform-bin', as: 'same' }
  ),
  metadata(
    'AUTHORIZATION', 'credentials of the caller reach the agent', [['authorization', 'Bearer abc']],
    { check: 'request-header', name: 'authorization', as: 'same' }
  ),
  metadata(
    'TIMEOUT', 'the deadline of the caller reaches the agent', [['grpc-timeout', '7S']],
    { check: 'request-header', name: 'grpc-timeout', as: 'present' }, { level: 'should' }
  ),
  metadata(
    'USER-AGENT', 'the user agent reaches the agent', [['user-agent', 'grpc-conform/1.0']],
    { check: 'request-header', name: 'user-agent', as: 'has', value: 'grpc-conform/1.0' }, { level: 'should' }
  ),
  metadata('TE', 'te: trailers reaches the agent', [], { check: 'request-header', name: 'te', as: 'is', value: 'trailers' }),
  {
    ...BASE,
    id: 'T-GRPC-INITIAL-METADATA',
    name: 'metadata before the response reaches the client',
    agent: () => ({
      ...unary, headers: [['x-conform-one', 'yes'], ['x-conform-bin', 'AAEC']]
    }),
    expect: [
      ONCE,
      OK,
      { check: 'response-header', name: 'x-conform-one', as: 'same' },
      { check: 'response-header', name: 'x-conform-bin', as: 'same' }
    ]
  },
  {
    ...BASE,
    id: 'T-GRPC-TRAILERS',
    name: 'metadata after the response reaches the client',
    agent: () => ({
      ...unary, trailers: [['grpc-status', '0'], ['x-conform-last', 'yes']]
    }),
    expect: [ONCE, OK, { check: 'trailer', name: 'x-conform-last', as: 'same' }]
  },
  status(3, 'INVALID_ARGUMENT'), status(5, 'NOT_FOUND'), status(7, 'PERMISSION_DENIED'), status(8, 'RESOURCE_EXHAUSTED'), status(
    9, 'FAILED_PRECONDITION'
  ), status(12, 'UNIMPLEMENTED'), status(13, 'INTERNAL'), status(14, 'UNAVAILABLE'), status(16, 'UNAUTHENTICATED'),
  {
    ...BASE,
    id: 'T-GRPC-DETAILS',
    name: 'details of a status reach the client',
    spec: 'A2A 1.0.1 §10.6',
    on: GRPC,
    agent: () => ({
      trailers: [['grpc-status', '9'], ['grpc-message', 'no'], ['grpc-status-details-bin', base64(pb(
        [1, 9], [2, 'no'],
        [3, pb([1, 'type.googleapis.com/google.rpc.ErrorInfo'], [2, pb([1, 'EXTENSION_SUPPORT_REQUIRED'], [2, 'a2a-protocol.org'])])]
      )).replace(/=+$/, '')]]
    }),
    expect: [ONCE, { check: 'trailer', name: 'grpc-status-details-bin', as: 'same' }]
  },
  {
    ...BASE,
    id: 'T-GRPC-UNKNOWN-FIELD',
    name: 'a field that no specification names reaches the agent',
    spec: 'Protocol Buffers, unknown fields',
    request: withMessage(
      Buffer.concat([grpcMessage(), UNKNOWN_FIELD])
    ),
    agent: () => unary,
    expect: [ONCE, MESSAGES]
  },
  {
    ...BASE,
    id: 'T-GRPC-UNKNOWN-FIELD-RESPONSE',
    name: 'a field that no specification names reaches the client',
    spec: 'Protocol Buffers, unknown fields',
    agent: () => ({
      ...unary, pieces: [base64(pb([1, Buffer.concat([grpcTask(), UNKNOWN_FIELD])]))]
    }),
    expect: [ONCE, { check: 'messages' }]
  },
  {
    ...BASE,
    id: 'T-GRPC-FIELD-ORDER',
    name: 'the order of fields stays',
    spec: 'profile T1',
    request: withMessage(pb(
      [5, pb([1, 'Hello'])], [4, 1], [1, CALL]
    )),
    agent: () => unary,
    expect: [ONCE, MESSAGES]
  },
  {
    ...BASE,
    id: 'T-GRPC-UNICODE',
    name: 'text beyond ASCII passes',
    request: withMessage(
      grpcMessage('größer 大きい 🧪')
    ),
    agent: () => unary,
    expect: [ONCE, MESSAGES]
  },
  {
    ...BASE,
    id: 'T-GRPC-LARGE',
    name: 'a message of 1 MiB passes',
    level: 'should',
    spec: 'profile T3',
    claims: [
      'bodyOf1MiB'
    ],
    request: withMessage(grpcMessage('x'.repeat(1_048_576))),
    agent: () => unary,
    expect: [ONCE, MESSAGES]
  },
  {
    ...BASE,
    id: 'T-GRPC-STREAM-TIMELY',
    on: GRPC,
    operation: 'send_streaming_message',
    name: 'each message reaches the client before the agent sends the next one',
    spec: 'profile T6',
    agent: ([, version]) => ({
      ...streaming(version), gated: true
    }),
    expect: [{ check: 'timely' }, { check: 'messages' }, COMPLETE]
  },
  {
    ...BASE,
    id: 'T-GRPC-STREAM-MANY',
    operation: 'send_streaming_message',
    name: '200 messages keep their order',
    agent: () => ({
      ...streaming(
        '1.0'
      ),
      pieces: [
        ...streaming('1.0').pieces?.slice(0, 1) ?? [],
        ...Array.from({ length: 200 }, (_, i) => base64(pb([3, pb([1, CALL], [2, `context-${i}`], [3, pb([1, 2])])])))
      ]
    }),
    expect: [ONCE, { check: 'messages' }, COMPLETE]
  },
  {
    ...BASE,
    id: 'T-GRPC-STREAM-ERROR',
    operation: 'send_streaming_message',
    name: 'a status after some messages reaches the client',
    agent: () => ({
      ...streaming('1.0'), trailers: [['grpc-status', '10'], ['grpc-message', 'aborted']]
    }),
    expect: [{ check: 'messages' }, { check: 'trailer', name: 'grpc-status', as: 'is', value: '10' }]
  },
  {
    ...BASE,
    id: 'T-GRPC-STREAM-BROKEN',
    operation: 'send_streaming_message',
    name: 'the client sees that the stream broke',
    agent: () => ({
      ...streaming('1.0'), end: 'reset'
    }),
    expect: [{ check: 'end', is: 'broken' }]
  },
  {
    ...BASE,
    id: 'T-GRPC-STREAM-IDLE',
    operation: 'send_streaming_message',
    name: 'a stream without messages for more than a second stays open',
    spec: 'profile T7',
    agent: () => ({
      ...streaming('1.0'), pause: 1_200
    }),
    expect: [{ check: 'messages' }, COMPLETE]
  },
  {
    ...BASE,
    id: 'T-GRPC-LEAVE',
    operation: 'send_streaming_message',
    name: 'the agent sees that the client has cancelled',
    spec: 'profile T8',
    request: () => ({
      ...grpcRequest('send_streaming_message', '1.0'), leaveAfter: 1
    }),
    agent: () => ({ pieces: streaming('1.0').pieces?.slice(0, 1) ?? [], end: 'hang' }),
    expect: [{ check: 'cancelled' }]
  },
  {
    ...BASE,
    id: 'T-GRPC-NO-RETRY',
    name: 'a call that may have had an effect is not sent again',
    spec: 'RFC 9110 §9.2.2',
    agent: () => ({
      begin: 'reset'
    }),
    expect: [ONCE]
  }
])
