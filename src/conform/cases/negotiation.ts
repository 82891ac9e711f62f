/** Negotiation: versions and extensions reach the agent as the client has asked for them, and the echo reaches the client. */
import type { Case, Check, Line } from '../model.js'
import { CALL } from '../model.js'
import { grpcRequest, httpRequest, messageText, responseOf } from '../protocol.js'
import type { Place, Row } from './build.js'
import {
  answering, casesOf, GRPC, HTTP, HTTP_1_0, JSONRPC_1_0, ONCE, replacing, REST_1_0, SAME_BODY, SAME_BYTES, SAME_STATUS, withBody,
  withHeaders
} from './build.js'

const A = 'https://conform.example/extensions/a/v1'
const B = 'urn:conform:b'
const C = 'https://conform.example/extensions/C?x=1&y=(2)#fragment'
const BASE = {
  group: 'negotiation', operation: 'send_message', on: HTTP_1_0, level: 'must', spec: 'A2A 1.0.1 §3.2.6, §4.6, §9.2, §11.2'
} as const
const SENT = answering('send_message', [])
const URIS: Check = { check: 'request-header', name: 'A2A-Extensions', as: 'members' }

const requested = (id: string, name: string, lines: readonly Line[], extra: Partial<Row> = {}): Row => ({
  ...BASE,
  id: `N-EXTENSIONS-${id}`,
  name,
  register: 'E11',
  request: withHeaders(
    'send_message', ...lines
  ),
  agent: SENT,
  expect: [ONCE, URIS],
  ...extra
})

const grpcWith = (lines: readonly Line[]) => ([, version]: Place) => {
  const request = grpcRequest('send_message', version); return {
    ...request, metadata: [...request.metadata, ...lines]
  }
}
const echo = (id: string, name: string, lines: readonly Line[], as: 'members' | 'same', extra: Partial<Row> = {}): Row => ({
  ...BASE,
  id: `N-ECHO-${id}`,
  name,
  register: 'E13',
  level: 'must',
  spec: 'A2A 1.0.1 extensions topic',
  request: withHeaders(
    'send_message', ['A2A-Extensions', `${A},${B}`]
  ),
  agent: answering('send_message', lines),
  expect: [ONCE, { check: 'response-header', name: lines[0]?.[0] ?? '', as }],
  ...extra
})

export const NEGOTIATION_CASES: readonly Case[] = casesOf([
  requested('ONE', 'a requested extension reaches the agent', [['A2A-Extensions', A]]),
  requested('LIST', 'a list in one line reaches the agent', [['A2A-Extensions', `${A},${B}`]]),
  requested('SPACES', 'white space around members does not matter', [['A2A-Extensions', ` ${A} ,\t${B} `]]),
  requested('LINES', 'several lines reach the agent', [['A2A-Extensions', A], ['A2A-Extensions', B]]),
  requested('LINES-AND-LISTS', 'lines and lists together reach the agent', [['A2A-Extensions', `${A}, ${B}`], ['A2A-Extensions', C]]),
  requested('EMPTY-MEMBERS', 'empty members do not matter', [['A2A-Extensions', `,${A},,${B},`]]),
  requested('CASE-OF-NAME', 'the letter case of the name does not matter', [['a2a-EXTENSIONS', `${A},${B}`]]),
  requested('CASE-OF-URI', 'the letter case of a URI stays', [['A2A-Extensions', `${A.toUpperCase()},${A}`]]),
  requested('UNKNOWN', 'a URI that no card names reaches the agent', [['A2A-Extensions', C]], { register: 'X30' }),
  requested(
    'MANY', '40 URIs reach the agent', [['A2A-Extensions', Array.from({ length: 40 }, (_, i) => `${A}/${i}`).join(', ')]],
    { level: 'should' }
  ),
  requested('NONE', 'a request without extensions gets none', [], {
    register: 'E1',
    expect: [
      ONCE,
      { check: 'request-header', name: 'A2A-Extensions', as: 'absent' },
      { check: 'request-header', name: 'X-A2A-Extensions', as: 'absent' }
    ]
  }),
  requested('STREAM', 'a requested extension of a stream reaches the agent', [], {
    operation: 'send_streaming_message',
    request: withHeaders('send_streaming_message', ['A2A-Extensions', `${A},${B}`]),
    agent: answering('send_streaming_message', [])
  }),
  requested(
    'GET-TASK', 'a requested extension of another operation reaches the agent', [],
    { operation: 'get_task', request: withHeaders('get_task', ['A2A-Extensions', `${A},${B}`]), agent: answering('get_task', []) }
  ),
  requested('0.3', 'the header of 0.3 reaches the agent', [['X-A2A-Extensions', `${A},${B}`]], {
    on: [['jsonrpc', '0.3'], ['rest', '0.3']],
    register: 'X28',
    spec: 'A2A 0.3.0 extensions topic',
    expect: [ONCE, { check: 'request-header', name: 'X-A2A-Extensions', as: 'members' }]
  }),
  requested('0.3-LINES', 'several lines of the header of 0.3 reach the agent', [['X-A2A-Extensions', A], ['X-A2A-Extensions', B]], {
    on: [['jsonrpc', '0.3']],
    register: 'X28',
    spec: 'A2A 0.3.0 extensions topic',
    expect: [ONCE, { check: 'request-header', name: 'X-A2A-Extensions', as: 'members' }]
  }),
  requested('GRPC', 'requested extensions in metadata reach the agent', [], {
    on: [['grpc', '1.0']],
    spec: 'A2A 1.0.1 §10.2',
    request: grpcWith([['a2a-extensions', `${A},${B}`]]),
    agent: () => responseOf('send_message', 'grpc', '1.0'),
    expect: [ONCE, { check: 'request-header', name: 'a2a-extensions', as: 'members' }]
  }),
  requested('GRPC-LINES', 'repeated metadata reaches the agent', [], {
    on: [['grpc', '1.0']],
    spec: 'A2A 1.0.1 §10.2',
    request: grpcWith([['a2a-extensions', A], ['a2a-extensions', B]]),
    agent: () => responseOf('send_message', 'grpc', '1.0'),
    expect: [ONCE, { check: 'request-header', name: 'a2a-extensions', as: 'members' }]
  }),
  requested('GRPC-0.3', 'the metadata of 0.3 reaches the agent', [], {
    on: [['grpc', '0.3']],
    spec: 'A2A 0.3.0 extensions topic',
    request: grpcWith([['x-a2a-extensions', `${A},${B}`]]),
    agent: () => responseOf('send_message', 'grpc', '0.3'),
    expect: [ONCE, { check: 'request-header', name: 'x-a2a-extensions', as: 'members' }]
  }),
  requested('IN-MESSAGE', 'the list in the message stays', [], {
    on: HTTP,
    request: withBody('send_message', ([transport, version], ordinary) => ordinary.replace(
      messageText(version, transport), messageText(version, transport, 'Hello', `,"extensions":["${A}","${B}"],"metadata":{"${A}":{"x":1}}`)
    )),
    expect: [ONCE, SAME_BODY],
    register: 'E12'
  }),
  echo('LIST', 'the extensions that the agent has activated reach the client', [['A2A-Extensions', `${A},${B}`]], 'members'),
  echo('LINES', 'several lines of the echo reach the client', [['A2A-Extensions', A], ['A2A-Extensions', B]], 'members'),
  echo('STREAM', 'the echo of a stream reaches the client', [['A2A-Extensions', A]], 'members', {
    operation: 'send_streaming_message',
    request: withHeaders('send_streaming_message', ['A2A-Extensions', A]),
    agent: answering('send_streaming_message', [['A2A-Extensions', A]])
  }),
  echo(
    '0.3', 'the echo of 0.3 reaches the client', [['X-A2A-Extensions', A]], 'members',
    { on: [['jsonrpc', '0.3']], spec: 'A2A 0.3.0 extensions topic', request: withHeaders('send_message', ['X-A2A-Extensions', A]) }
  ),
  echo(
    'NONE', 'the proxy invents no echo', [['X-Conform-One', 'x']], 'same',
    { spec: 'profile N4', expect: [ONCE, { check: 'response-header', name: 'A2A-Extensions', as: 'absent' }] }
  ),
  {
    ...BASE,
    id: 'N-REQUIRED-ERROR',
    name: 'the error of the agent about a required extension reaches the client unchanged',
    spec: 'A2A 1.0.1 §3.3.4',
    register: 'X17',
    agent: ([transport]) => transport === 'rest'
      ? {
          status: 400,
          headers: [['Content-Type', 'application/a2a+json']],
          pieces: [
            '{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"needs ' +
          `${A}","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"EXTENSION_SUPPORT_REQUIRED","domain":"a2a-protocol.org"}]}}`
          ]
        }
      : {
          status: 200,
          headers: [['Content-Type', 'application/json']],
          pieces: [
        `{"jsonrpc":"2.0","id":"${CALL}","error":{"code":-32008,"message":"needs ` +
          `${A}","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"EXTENSION_SUPPORT_REQUIRED","domain":"a2a-protocol.org"}]}}`
          ]
        },
    expect: [ONCE, SAME_STATUS, SAME_BYTES]
  },
  {
    ...BASE,
    id: 'N-VERSION',
    name: 'the version of the client reaches the agent',
    spec: 'A2A 1.0.1 §3.6',
    agent: SENT,
    expect: [
      ONCE, { check: 'request-header', name: 'A2A-Version', as: 'is', value: '1.0' }
    ]
  },
  {
    ...BASE,
    id: 'N-VERSION-GRPC',
    on: [
      ['grpc', '1.0']
    ],
    name: 'the version in metadata reaches the agent',
    spec: 'A2A 1.0.1 §10.2',
    agent: () =>
      responseOf('send_message', 'grpc', '1.0'),
    expect: [ONCE, { check: 'request-header', name: 'a2a-version', as: 'is', value: '1.0' }]
  },
  {
    ...BASE,
    id: 'N-VERSION-0.3',
    on: [
      ['jsonrpc', '0.3'], ['rest', '0.3']
    ],
    name: 'a client of 0.3, which names no version, reaches the agent as one of 0.3',
    spec: 'A2A 1.0.1 §3.6.2',
    agent: SENT,
    expect: [
      ONCE,
      {
        check: 'either',
        of: [
          [{ check: 'request-header', name: 'A2A-Version', as: 'absent' }],
          [{ check: 'request-header', name: 'A2A-Version', as: 'is', value: '0.3' }]
        ]
      }
    ]
  },
  {
    ...BASE,
    id: 'N-VERSION-GRPC-0.3',
    on: [
      ['grpc', '0.3']
    ],
    name: 'a client of 0.3 over gRPC is not made one of 1.0',
    spec: 'A2A 1.0.1 §3.6.2',
    agent: () =>
      responseOf('send_message', 'grpc', '0.3'),
    expect: [ONCE, { check: 'request-header', name: 'a2a-version', as: 'not', value: '1' }]
  },
  {
    ...BASE,
    id: 'N-VERSION-PARAMETER',
    on: REST_1_0,
    operation: 'get_task',
    name: 'the version in the query reaches the agent',
    spec: 'A2A 1.0.1 §3.6.1',
    request: () => {
      const request = httpRequest(
        'get_task', 'rest', '1.0'
      ); return {
        ...request, target: `${request.target}?A2A-Version=1.0`, headers: request.headers.filter(([name]) => name !== 'A2A-Version')
      }
    },
    agent: answering('get_task', []),
    expect: [ONCE, {
      check: 'either',
      of: [[{ check: 'request', part: 'target' }], [{ check: 'request-header', name: 'A2A-Version', as: 'is', value: '1.0' }]]
    }]
  },
  {
    ...BASE,
    id: 'N-VERSION-UNKNOWN',
    name: 'a version that no interface has is an error, from the proxy or from the agent',
    spec: 'A2A 1.0.1 §3.6.2',
    request: replacing('send_message', ['A2A-Version', '99.0']),
    agent: ([transport]) => transport === 'rest'
      ? {
          status: 400,
          headers: [['Content-Type', 'application/a2a+json']],
          pieces: ['{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"no such version"}}']
        }
      : {
          status: 200,
          headers: [['Content-Type', 'application/json']],
          pieces: [`{"jsonrpc":"2.0","id":"${CALL}","error":{"code":-32009,"message":"no such version"}}`]
        },
    expect: [{ check: 'error', codes: [-32009], statuses: [400] }]
  },
  {
    ...BASE,
    id: 'N-VERSION-ENFORCED',
    name: 'a version that no interface has does not reach the agent',
    spec: 'A2A 1.0.1 §3.6.2; profile N5',
    claims: [
      'readsVersion'
    ],
    request: replacing(
      'send_message', ['A2A-Version', '99.0']
    ),
    agent: SENT,
    expect: [{ check: 'calls', least: 0, most: 0 }, { check: 'error', codes: [-32009], statuses: [400] }]
  },
  {
    ...BASE,
    id: 'N-METHOD-OF-OTHER-VERSION',
    on: JSONRPC_1_0,
    name: 'the method of an extension reaches the agent, or gets -32601',
    spec: 'A2A 1.0.1 §9.5',
    register: 'E5',
    request: withBody(
      'send_message', (_, ordinary) => ordinary.replace('SendMessage', 'conform/extension')
    ),
    agent: SENT,
    expect: [{ check: 'either', of: [[ONCE, SAME_BODY], [{ check: 'error', codes: [-32601] }]] }]
  },
  {
    ...BASE,
    id: 'N-GRPC-CONTENT-TYPE',
    on: GRPC,
    name: 'the content type of gRPC stays',
    spec: 'gRPC over HTTP/2',
    agent: ([, version]) =>
      responseOf('send_message', 'grpc', version),
    expect: [
      ONCE,
      { check: 'request-header', name: 'content-type', as: 'has', value: 'application/grpc' },
      { check: 'response-header', name: 'content-type', as: 'has', value: 'application/grpc' }
    ]
  }
])
