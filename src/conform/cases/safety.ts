/** Safety: one reading of each request, no foreign addresses, no forged origin. Requests of this group are written byte for byte. */
import type { Case, Check, Level, Line } from '../model.js'
import { CALL } from '../model.js'
import { grpcRequest, httpRequest, messageText, pb, responseOf, WEBHOOK } from '../protocol.js'
import type { Row } from './build.js'
import {
  answering, CARD_REQUEST, casesOf, HTTP_1_0, JSONRPC_1_0, NEVER, ONCE, REST_1_0, SAME_BODY, SAME_TARGET, withBody, withHeaders
} from './build.js'

const BASE = { group: 'safety', level: 'must', operation: 'send_message' } as const
const BODY = `{"jsonrpc":"2.0","id":"${CALL}","method":"SendMessage","params":{"message":${messageText('1.0', 'jsonrpc')}}}`
const SENT = answering('send_message', [])
const SMUGGLED = `GET /.conform/trap/${CALL} HTTP/1.1\r\nHost: {host}\r\n\r\n`
const HOST = 'Host: {host}\r\n'
const JSON_HEADERS = `Content-Type: application/json\r\nA2A-Version: 1.0\r\nConform-Call: ${CALL}\r\n`

/** A request that is ambiguous or invalid: written by hand, sent through the proxy only. */
const raw = (id: string, name: string, spec: string, text: string, expect: readonly Check[]): Row => ({
  ...BASE,
  id: `S-${id}`,
  name,
  spec,
  on: JSONRPC_1_0,
  operation: 'raw',
  direct: false,
  agent: SENT,
  expect: [...expect, { check: 'no-fetch' }],
  request: () => ({ kind: 'http', method: 'POST', target: '', headers: [], body: null, raw: text })
})
const post = (headers: string, body = BODY): string =>
  `POST {path} HTTP/1.1\r\n${HOST}${JSON_HEADERS}Connection: close\r\n${headers}\r\n${body}`
const length = (body = BODY): string => `Content-Length: ${Buffer.byteLength(body)}\r\n`
const chunked = (body = BODY): string => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`
const rejectedOr = (...checks: readonly Check[]): Check => ({ check: 'either', of: [[NEVER], checks] })
const absent = (name: string): Check => ({ check: 'request-header', name, as: 'absent' })

const FRAMING: readonly Row[] = [
  raw(
    'LENGTH-AND-CHUNKED', 'Content-Length beside Transfer-Encoding: rejected, or one of the two', 'RFC 9112 §6.1',
    post(`${length(chunked())}Transfer-Encoding: chunked\r\n`, chunked()),
    [rejectedOr(ONCE, { check: 'either', of: [[absent('Content-Length')], [absent('Transfer-Encoding')]] })]
  ),
  raw(
    'SMUGGLED', 'a second request in the body does not become a request', 'RFC 9112 §6.1, §11.2',
    `POST {path} HTTP/1.1\r\n${HOST}${JSON_HEADERS}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`, []
  ),
  raw(
    'SMUGGLED-SPACE', 'a space before the colon hides no framing', 'RFC 9112 §5.1',
    `POST {path} HTTP/1.1\r\n${HOST}${JSON_HEADERS}Content-Length: ${BODY.length + SMUGGLED.length}\r\nTransfer-Encoding : ` +
      `chunked\r\n\r\n${BODY}${SMUGGLED}`,
    [rejectedOr(absent('Transfer-Encoding'), absent('Transfer-Encoding '))]
  ),
  raw('TWO-LENGTHS', 'two different lengths are rejected', 'RFC 9112 §6.3', post(`Content-Length: 5\r\n${length()}`), [NEVER]),
  raw('LENGTH-LIST', 'a list of different lengths is rejected', 'RFC 9110 §8.6', post(`Content-Length: 5, ${BODY.length}\r\n`), [NEVER]),
  raw('LENGTH-SIGN', 'a length with a sign is rejected', 'RFC 9110 §8.6', post(`Content-Length: +${BODY.length}\r\n`), [NEVER]),
  raw('LENGTH-NEGATIVE', 'a negative length is rejected', 'RFC 9110 §8.6', post('Content-Length: -1\r\n'), [NEVER]),
  raw(
    'LENGTH-HEX', 'a hexadecimal length is rejected', 'RFC 9110 §8.6', post(`Content-Length: 0x${BODY.length.toString(16)}\r\n`), [NEVER]
  ),
  raw(
    'CODING-UNKNOWN', 'a transfer coding that the proxy does not know is rejected', 'RFC 9112 §6.1',
    post('Transfer-Encoding: xchunked\r\n', chunked()), [NEVER]
  ),
  raw(
    'CODING-NOT-LAST', 'chunked before another transfer coding is rejected', 'RFC 9112 §6.3',
    post('Transfer-Encoding: chunked, identity\r\n', chunked()), [NEVER]
  ),
  raw('TRAILER', 'fields after the body do not become headers', 'RFC 9110 §6.5.1', post(
    'Transfer-Encoding: chunked\r\n',
    `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\nX-Forwarded-For: 203.0.113.7\r\nAuthorization: Bearer trailer\r\n\r\n`
  ), [rejectedOr(ONCE, absent('Authorization'))])
]

const HEADS: readonly Row[] = [
  raw(
    'FOLDED', 'a folded line is rejected, or becomes one line', 'RFC 9112 §5.2', post(`X-Conform: one\r\n two\r\n${length()}`),
    [rejectedOr(ONCE, { check: 'request-header', name: 'X-Conform', as: 'has', value: 'one' }, absent(' two (no colon)'))]
  ),
  raw(
    'NUL', 'a NUL in a value does not reach the agent', 'RFC 9110 §5.5', post(`X-Conform: a\0b\r\n${length()}`),
    [rejectedOr(ONCE, { check: 'request-header', name: 'X-Conform', as: 'not', value: '\0' })]
  ),
  raw(
    'BARE-CR', 'a CR in a value does not reach the agent', 'RFC 9110 §5.5', post(`X-Conform: a\rX-Other: b\r\n${length()}`),
    [rejectedOr(ONCE, { check: 'request-header', name: 'X-Conform', as: 'not', value: '\r' }, absent('X-Other'))]
  ),
  raw(
    'NAME', 'a name that is no token does not reach the agent', 'RFC 9110 §5.1', post(`X Conform: 1\r\n${length()}`),
    [rejectedOr(ONCE, absent('X Conform'))]
  ),
  raw(
    'NO-COLON', 'a line without a colon does not reach the agent', 'RFC 9112 §5', post(`X-Conform\r\n${length()}`),
    [rejectedOr(ONCE, absent('X-Conform'), absent('X-Conform (no colon)'))]
  ),
  raw('TWO-HOSTS', 'two Host lines are rejected', 'RFC 9112 §3.2', post(`Host: other.example\r\n${length()}`), [NEVER]),
  raw('NO-HOST', 'a request of HTTP/1.1 without Host is rejected', 'RFC 9112 §3.2', post(length()).replace(HOST, ''), [NEVER]),
  raw(
    'CONNECT', 'CONNECT opens no tunnel', 'RFC 9110 §9.3.6', `CONNECT {host} HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
    [{ check: 'either', of: [[{ check: 'status', is: [400, 403, 404, 405, 501] }], [{ check: 'end', is: 'broken' }]] }]
  ),
  raw('UPGRADE-H2C', 'an upgrade to HTTP/2 does not reach the agent', 'RFC 9110 §7.8; RFC 9113 §3.1', post(
    `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n${length()}`
  ).replace('Connection: close\r\n', ''), [rejectedOr(ONCE, absent('Upgrade'), absent('HTTP2-Settings'))]),
  {
    ...raw(
      'VERSION', 'a request of HTTP/2.0 in the form of 1.1 is rejected', 'RFC 9112 §2.3', post(length()).replace('HTTP/1.1', 'HTTP/2.0'),
      [NEVER]
    ),
    level: 'should'
  },
  {
    ...raw(
      'HEAD-SIZE', 'a head of 100 kB is rejected, or passes whole', 'RFC 6585 §5', post(`X-Conform: ${'x'.repeat(100_000)}\r\n${length()}`),
      [rejectedOr(ONCE, { check: 'request-header', name: 'X-Conform', as: 'has', value: 'x'.repeat(100_000) })]
    ),
    level: 'should'
  }
]

const json = (id: string, name: string, body: (ordinary: string) => string, spec = 'profile S3; RFC 8259 §4'): Row => ({
  ...BASE,
  id: `S-JSON-${id}`,
  name: `${name}: rejected, or the same bytes`,
  spec,
  on: HTTP_1_0,
  request: withBody(
    'send_message', (_, ordinary) => body(ordinary)
  ),
  agent: SENT,
  expect: [{ check: 'either', of: [[ONCE, SAME_BODY], [NEVER, { check: 'error', anyId: true }]] }]
})
const BODIES: readonly Row[] = [
  json('DUPLICATE', 'a member that occurs twice', ordinary => ordinary.replace('"messageId"', '"parts":[{"text":"other"}],"messageId"')),
  json(
    'TWO-SPELLINGS', 'a member in both spellings', ordinary => ordinary.replace('"messageId"', '"message_id":"other","messageId"'),
    'profile S3; A2A 1.0.1 §5.5'
  ),
  json('ESCAPED-NAME', 'a member with an escape in its name', ordinary => ordinary.replace('"parts"', String.raw`"p\u0061rts"`)),
  json('LONE-SURROGATE', 'a lone surrogate', ordinary => ordinary.replace('Hello', String.raw`\ud800`)),
  json(
    'DEEP', 'data with 3,000 levels',
    ordinary => ordinary.replace('"parts"', `"metadata":{"x":${'['.repeat(3_000)}${']'.repeat(3_000)}},"parts"`)
  ),
  json('HUGE-NUMBER', 'a number that no computer stores', ordinary => ordinary.replace('"parts"', '"metadata":{"x":1e999999},"parts"')),
  json('PROTO', 'a member named __proto__', ordinary => ordinary.replace('"parts"', '"metadata":{"__proto__":{"x":1}},"parts"'))
]

const path = (id: string, name: string, target: string, level: Level = 'must', spec = 'profile S4; RFC 3986 §6.2.2'): Row => ({
  ...BASE,
  level,
  id: `S-PATH-${id}`,
  name: `${name}: rejected, or the same path`,
  spec,
  on: REST_1_0,
  operation: 'get_task',
  agent: answering(
    'get_task', []
  ),
  expect: [
    { check: 'either', of: [[NEVER], [ONCE, SAME_TARGET]] }
  ],
  request: () => ({ ...httpRequest('get_task', 'rest', '1.0'), target })
})
/** Why two cases have the level SHOULD: docs/reference/proxy-profile.md#dot-segments. */
const MAY_NORMALIZE = 'profile S4; RFC 9110 §4.2.3: "any HTTP component MAY perform normalization"; RFC 3986 §6.2.2.2, §6.2.2.3'
const PATHS: readonly Row[] = [
  path('DOTS', 'dot segments', `/tasks/../tasks/${CALL}`, 'should', MAY_NORMALIZE), path(
    'ENCODED-DOTS', 'encoded dot segments', `/tasks/%2e%2e/tasks/${CALL}`, 'should', MAY_NORMALIZE
  ), path('SLASHES', 'two slashes', `/tasks//${CALL}`, 'must', 'profile S4; RFC 3986 §3.3: no normalization merges empty segments'),
  path(
    'ENCODED-SLASH', 'an encoded slash in an id', `/tasks/${CALL}%2Fx`
  ), path('BACKSLASH', 'a backslash', `/tasks/..\\${CALL}`), path('ENCODED-NUL', 'an encoded NUL', `/tasks/${CALL}%00`),
  path('PARAMETERS', 'a parameter of a segment', `/tasks;x=1/${CALL}`), path(
    'ENCODED-COLON', 'an encoded colon before an action', `/tasks/${CALL}%3Acancel`
  ), path('ENCODED-QUESTION', 'an encoded question mark', `/tasks/${CALL}%3Fx=1`)
]

const forged = (id: string, line: Line, expect: Check, level: Level = 'should'): Row => ({
  ...BASE,
  id: `S-FORGED-${id}`,
  name: `${line[0]} of the client does not look as if the proxy had written it`,
  spec: 'RFC 7239 §8.1; profile S5',
  level,
  on: JSONRPC_1_0,
  request: withHeaders(
    'send_message', line
  ),
  agent: SENT,
  expect: [ONCE, expect]
})
const FORGED: readonly Row[] = [
  forged('FOR', ['X-Forwarded-For', '203.0.113.7'], {
    check: 'either',
    of: [
      [{ check: 'request-header', name: 'X-Forwarded-For', as: 'not', value: '203.0.113.7' }],
      [{ check: 'request-header', name: 'X-Forwarded-For', as: 'has', value: ',' }]
    ]
  }, 'must'),
  forged('FORWARDED', ['Forwarded', 'for=203.0.113.7'], {
    check: 'either',
    of: [
      [{ check: 'request-header', name: 'Forwarded', as: 'not', value: '203.0.113.7' }],
      [{ check: 'request-header', name: 'Forwarded', as: 'has', value: ',' }]
    ]
  }),
  forged(
    'HOST', ['X-Forwarded-Host', 'forged.example'],
    { check: 'request-header', name: 'X-Forwarded-Host', as: 'not', value: 'forged.example' }
  ),
  forged('PROTO', ['X-Forwarded-Proto', 'https'], { check: 'request-header', name: 'X-Forwarded-Proto', as: 'not', value: 'https' }),
  forged('REAL-IP', ['X-Real-IP', '203.0.113.7'], { check: 'request-header', name: 'X-Real-IP', as: 'not', value: '203.0.113.7' })
]

const TRAP = `{agent}/.conform/trap/${CALL}`
const FETCHES: readonly Row[] = [
  {
    ...BASE,
    id: 'S-FETCH-WEBHOOK',
    name: 'the webhook of a push configuration is not called',
    spec: 'A2A 1.0.1 §13.2; profile S7',
    register: 'T15',
    on: HTTP_1_0,
    operation: 'create_push_config',
    request: withBody(
      'create_push_config', (_, ordinary) => ordinary.replace(WEBHOOK, TRAP)
    ),
    agent: answering('create_push_config', []),
    expect: [{ check: 'no-fetch' }]
  },
  {
    ...BASE,
    id: 'S-FETCH-PART',
    name: 'the address of a part is not fetched',
    spec: 'A2A 1.0.1 §14.1.1; profile S7',
    on: HTTP_1_0,
    request: withBody(
      'send_message', (_, ordinary) => ordinary.replace('{"text":"Hello"}', `{"url":"${TRAP}"}`)
    ),
    agent: SENT,
    expect: [{ check: 'no-fetch' }]
  },
  {
    ...BASE,
    id: 'S-FETCH-SCHEMA',
    name: 'the address of a schema is not fetched',
    spec: 'A2A 1.0.1 §14.1.1; profile S7',
    on: HTTP_1_0,
    request: withBody(
      'send_message', (_, ordinary) => ordinary.replace('"parts"', `"metadata":{"$schema":"${TRAP}","$ref":"${TRAP}"},"parts"`)
    ),
    agent: SENT,
    expect: [{ check: 'no-fetch' }]
  },
  {
    ...BASE,
    id: 'S-FETCH-CARD',
    name: 'addresses in the card are not fetched',
    spec: 'A2A 1.0.1 §8.4.2, §14.1.1; profile S7',
    on: [
      ['card', '1.0']
    ],
    operation: 'card',
    request: () => CARD_REQUEST,
    expect: [{ check: 'no-fetch' }]
  },
  {
    ...BASE,
    id: 'S-REDIRECT-CREDENTIALS',
    name: 'credentials do not follow a redirect',
    spec: 'RFC 9110 §15.4; profile S8',
    on: HTTP_1_0,
    request: withHeaders(
      'send_message', ['Authorization', 'Bearer secret']
    ),
    agent: () => ({ status: 302, headers: [['Location', `/.conform/trap/${CALL}`]], pieces: [''] }),
    expect: [{ check: 'no-fetch' }]
  }
]

export const SAFETY_CASES: readonly Case[] = casesOf([
  ...FRAMING, ...HEADS, ...BODIES, ...PATHS, ...FORGED, ...FETCHES,
  {
    ...BASE,
    id: 'S-BODY-OF-GET',
    name: 'a body of GET is rejected, or passes whole',
    spec: 'RFC 9110 §9.3.1',
    on: REST_1_0,
    operation: 'get_task',
    request: () => ({
      ...httpRequest('get_task', 'rest', '1.0'), body: SMUGGLED.replace('{host}', 'x')
    }),
    agent: answering('get_task', []),
    expect: [
      { check: 'either', of: [[NEVER], [ONCE, SAME_BODY], [ONCE, { check: 'request-header', name: 'Content-Length', as: 'absent' }]] },
      { check: 'no-fetch' }
    ]
  },
  {
    ...BASE,
    id: 'S-GRPC-TWO-MEMBERS',
    name: 'a part with two contents is rejected, or passes unchanged',
    spec: 'profile S3; Protocol Buffers, oneof',
    on: [
      ['grpc', '1.0']
    ],
    request: () => ({
      ...grpcRequest('send_message', '1.0'),
      messages: [pb([2, pb([1, CALL], [4, 1], [5, pb([1, 'one'], [3, 'https://two.example/'])])]).toString('base64')]
    }),
    agent: () => responseOf('send_message', 'grpc', '1.0'),
    expect: [
      { check: 'either', of: [[ONCE, { check: 'request', part: 'messages' }], [NEVER, { check: 'error' }]] }
    ]
  },
  {
    ...BASE,
    id: 'S-GRPC-TRUNCATED',
    name: 'a message that is no protocol buffer is rejected, or passes unchanged',
    spec: 'profile S3',
    on: [
      ['grpc', '1.0']
    ],
    request: () => ({
      ...grpcRequest('send_message', '1.0'), messages: [Buffer.concat([pb([2, pb([1, CALL])]), Buffer.from([0x12, 0x7f])]).toString('base64')]
    }),
    agent: () => responseOf('send_message', 'grpc', '1.0'),
    expect: [
      { check: 'either', of: [[ONCE, { check: 'request', part: 'messages' }], [NEVER, { check: 'error' }]] }
    ]
  }
])
