/** Transparent, over HTTP: header lines, bodies, framing, statuses, targets. */
import type { Case, Check, Line } from '../model.js'
import { CALL } from '../model.js'
import { httpRequest, messageText, responseOf, taskText } from '../protocol.js'
import type { BodyChange, Place, Row } from './build.js'
import {
  answering, casesOf, COMPLETE, HTTP, HTTP_1_0, JSONRPC_1_0, ONCE, replacing, REST_1_0, resulting, SAME_BODY, SAME_BYTES, SAME_STATUS,
  SAME_TARGET, withBody, withHeaders
} from './build.js'

const BASE = { group: 'transparent', operation: 'send_message', on: HTTP_1_0 } as const
const SENT = answering('send_message', [])

type Clause = readonly [level: Row['level'], spec: string]
/** A header line of a request. */
const requestHeader = (id: string, name: string, [level, spec]: Clause, lines: readonly Line[], check: Check): Row => ({
  ...BASE, id: `T-REQUEST-${id}`, name, level, spec, request: replacing('send_message', ...lines), agent: SENT, expect: [ONCE, check]
})

const REQUEST_HEADERS: readonly Row[] = [
  requestHeader(
    'HEADER-UNKNOWN', 'a header that no specification names reaches the agent', ['must', 'RFC 9110 §5.1'],
    [['X-Conform-One', 'first value; with="parts", and commas']], { check: 'request-header', name: 'X-Conform-One', as: 'lines' }
  ),
  requestHeader(
    'HEADER-REPEATED', 'repeated lines keep their values and their order', ['must', 'RFC 9110 §5.3'],
    [['X-Conform-Many', 'b'], ['X-Conform-Many', 'a'], ['X-Conform-Many', 'c, d']],
    { check: 'request-header', name: 'X-Conform-Many', as: 'same' }
  ),
  requestHeader(
    'HEADER-LINES', 'repeated lines stay separate lines', ['may', 'RFC 9110 §5.2'], [['X-Conform-Many', 'b'], ['X-Conform-Many', 'a']],
    { check: 'request-header', name: 'X-Conform-Many', as: 'lines' }
  ),
  requestHeader('HEADER-EMPTY', 'a header with an empty value reaches the agent', ['should', 'RFC 9110 §5.5'], [['X-Conform-Empty', ' ']],
    { check: 'request-header', name: 'X-Conform-Empty', as: 'lines' }),
  requestHeader(
    'HEADER-LONG', 'a value of 6,000 bytes reaches the agent', ['should', 'RFC 9110 §5.4; profile T2'],
    [['X-Conform-Long', 'x'.repeat(6_000)]], { check: 'request-header', name: 'X-Conform-Long', as: 'lines' }
  ),
  requestHeader(
    'HEADER-UTF8', 'bytes above 127 of a value reach the agent', ['should', 'RFC 9110 §5.5'],
    [['X-Conform-Text', Buffer.from('größer').toString('latin1')]], { check: 'request-header', name: 'X-Conform-Text', as: 'lines' }
  ),
  requestHeader(
    'HEADER-MANY', '60 header lines reach the agent', ['should', 'RFC 9110 §5.4; profile T2'],
    Array.from({ length: 60 }, (_, i) => [`X-Conform-${i}`, `value ${i}`] as const),
    { check: 'request-header', name: 'X-Conform-59', as: 'lines' }
  ),
  requestHeader(
    'AUTHORIZATION', 'credentials of the caller reach the agent', ['must', 'A2A 1.0.1 §7; RFC 9110 §11.6.2'],
    [['Authorization', 'Bearer abc.def-_~+/=']], { check: 'request-header', name: 'Authorization', as: 'lines' }
  ),
  requestHeader(
    'API-KEY', 'an API key in a header reaches the agent', ['must', 'A2A 1.0.1 §7'], [['X-API-Key', 'key-123']],
    { check: 'request-header', name: 'X-API-Key', as: 'lines' }
  ),
  requestHeader(
    'COOKIE', 'cookies reach the agent', ['should', 'RFC 6265 §5.4'], [['Cookie', 'a=1; b="two"']],
    { check: 'request-header', name: 'Cookie', as: 'same' }
  ),
  requestHeader(
    'ACCEPT', 'Accept reaches the agent', ['must', 'RFC 9110 §12.5.1'], [['Accept', 'application/json;q=0.8, text/event-stream']],
    { check: 'request-header', name: 'Accept', as: 'same' }
  ),
  requestHeader(
    'LANGUAGE', 'Accept-Language reaches the agent', ['should', 'RFC 9110 §12.5.4'], [['Accept-Language', 'de, en;q=0.5']],
    { check: 'request-header', name: 'Accept-Language', as: 'same' }
  ),
  requestHeader(
    'USER-AGENT', 'User-Agent reaches the agent', ['should', 'RFC 9110 §10.1.5'], [['User-Agent', 'conform/1.0 (test)']],
    { check: 'request-header', name: 'User-Agent', as: 'same' }
  ),
  requestHeader(
    'IDEMPOTENCY', 'Idempotency-Key reaches the agent', ['should', 'draft-ietf-httpapi-idempotency-key'],
    [['Idempotency-Key', '"8e03978e"']], { check: 'request-header', name: 'Idempotency-Key', as: 'same' }
  ),
  requestHeader(
    'CONTENT-TYPE', 'parameters of the content type reach the agent', ['must', 'RFC 9110 §8.3'],
    [['Content-Type', 'application/json; charset=utf-8']], { check: 'request-header', name: 'Content-Type', as: 'same' }
  ),
  requestHeader(
    'HOP-BY-HOP', 'a header that Connection names does not reach the agent', ['must', 'RFC 9110 §7.6.1'],
    [['Connection', 'X-Conform-Hop'], ['X-Conform-Hop', '1']], { check: 'request-header', name: 'X-Conform-Hop', as: 'absent' }
  ),
  requestHeader(
    'KEEP-ALIVE', 'Keep-Alive of the client does not reach the agent', ['must', 'RFC 9110 §7.6.1'],
    [['Connection', 'keep-alive'], ['Keep-Alive', 'timeout=77']], { check: 'request-header', name: 'Keep-Alive', as: 'not', value: '77' }
  )
]

/** A body of a request. */
const requestBody = (id: string, name: string, body: BodyChange, extra: Partial<Row> = {}): Row => ({
  ...BASE,
  on: HTTP,
  id: `T-REQUEST-BODY-${id}`,
  name,
  level: 'must',
  spec: 'RFC 9110 §6.4; profile T1',
  request: withBody(
    'send_message', body
  ),
  agent: SENT,
  expect: [ONCE, SAME_BODY, SAME_STATUS],
  ...extra
})

const inMessage = (members: string) => ([transport, version]: Place, ordinary: string): string =>
  ordinary.replace(messageText(version, transport), messageText(version, transport, 'Hello', members))
const text = (value: string) => ([transport, version]: Place, ordinary: string): string =>
  ordinary.replace(messageText(version, transport), messageText(version, transport, value))

const REQUEST_BODIES: readonly Row[] = [
  requestBody('SPACES', 'white space in and after the body stays', (_, ordinary) => ordinary.replaceAll('":', '"  :\n\t ') + ' \r\n\n'),
  requestBody(
    'NUMBERS', 'numbers keep their digits',
    inMessage(',"metadata":{"big":12345678901234567890,"one":1.0,"exponent":1e3,"small":-0.0,"long":0.1000000000000000055511151231257827}')
  ),
  requestBody(
    'UNKNOWN', 'members that no specification names stay',
    inMessage(',"x-conform":{"list":[1,{"deep":null}]},"metadata":{"https://conform.example/unknown":true}')
  ),
  requestBody('UNICODE', 'text beyond ASCII stays', text('größer 大きい \u{1f9ea} \u2028 \ufeff')),
  requestBody(
    'ESCAPES', 'escapes stay as they are written',
    (place, ordinary) => text('Hello')(place, ordinary).replace('Hello', String.raw`H\u00e9llo \/ \ud83e\uddea \u0000`)
  ),
  requestBody('ORDER', 'the order of members stays', inMessage(',"metadata":{"b":1,"a":2,"10":3,"9":4}')),
  requestBody('LARGE', 'a body of 100 kB passes', text('x'.repeat(100_000)), { on: HTTP_1_0 }),
  requestBody(
    'LARGEST', 'a body of 1 MiB passes', text('x'.repeat(1_048_576)),
    { on: HTTP_1_0, level: 'should', spec: 'profile T3', claims: ['bodyOf1MiB'] }
  ),
  requestBody('DEEP', 'data with 30 levels passes', inMessage(`,"metadata":{"deep":${'['.repeat(30)}${']'.repeat(30)}}`), { on: HTTP_1_0 }),
  requestBody('CHUNKED', 'a body in chunks passes', (_, ordinary) => ordinary, {
    spec: 'RFC 9112 §7.1', request: withBody('send_message', (_, ordinary) => ordinary, { framing: 'chunked' })
  }),
  requestBody('COMPRESSED', 'a compressed body passes as it is', (_, ordinary) => ordinary, {
    on: HTTP_1_0,
    level: 'should',
    spec: 'RFC 9110 §8.4',
    claims: ['compression'],
    request: withBody(
      'send_message', (_, ordinary) => ordinary, { framing: 'gzip' }
    ),
    expect: [ONCE, { check: 'request-header', name: 'Content-Encoding', as: 'same' }, SAME_BODY, SAME_STATUS]
  })
]

const CONTINUE: readonly Row[] = [
  {
    ...BASE,
    id: 'T-REQUEST-EXPECT',
    name: 'a client that sends Expect: 100-continue gets its response',
    level: 'must',
    spec: 'RFC 9110 §10.1.1',
    request: withHeaders(
      'send_message', ['Expect', '100-continue']
    ),
    agent: SENT,
    expect: [ONCE, SAME_BODY, SAME_STATUS]
  },
  {
    ...BASE,
    id: 'T-CONNECTION-REUSED',
    name: 'three requests on one connection get three responses',
    level: 'must',
    spec: 'RFC 9112 §9.3',
    request: place => ({
      ...httpRequest('send_message', ...place), repeat: 2
    }),
    agent: SENT,
    expect: [{ check: 'calls', least: 3, most: 3 }, SAME_STATUS, SAME_BYTES]
  },
  {
    ...BASE,
    id: 'T-NO-RETRY',
    name: 'a request that may have had an effect is not sent again',
    level: 'must',
    spec: 'RFC 9110 §9.2.2',
    request: place =>
      httpRequest('send_message', ...place),
    agent: () => ({ begin: 'reset' }),
    expect: [ONCE]
  },
  {
    ...BASE,
    id: 'T-NO-RETRY-STATUS',
    name: 'a request that fails with 503 is not sent again',
    level: 'must',
    spec: 'RFC 9110 §9.2.2',
    agent: answering(
      'send_message', [['Retry-After', '0']], { status: 503, pieces: ['{"error":{"code":503,"status":"UNAVAILABLE","message":"later"}}'] }
    ),
    expect: [ONCE]
  },
  {
    ...BASE,
    id: 'T-LEAVE',
    name: 'the agent sees that the client has left before the response',
    level: 'should',
    spec: 'profile T8',
    request: place => ({
      ...httpRequest('send_message', ...place), leaveAfter: 0
    }),
    agent: () => ({ pieces: ['{'], framing: 'chunked', end: 'hang' }),
    expect: [{ check: 'cancelled' }]
  }
]

/** A header line of a response. */
const responseHeader = (id: string, name: string, [level, spec]: Clause, lines: readonly Line[], check: Check): Row => ({
  ...BASE, id: `T-RESPONSE-${id}`, name, level, spec, agent: answering('send_message', lines), expect: [SAME_STATUS, check]
})

const RESPONSE_HEADERS: readonly Row[] = [
  responseHeader(
    'HEADER-UNKNOWN', 'a header that no specification names reaches the client', ['must', 'RFC 9110 §5.1'],
    [['X-Conform-One', 'first; second=", third"']], { check: 'response-header', name: 'X-Conform-One', as: 'lines' }
  ),
  responseHeader(
    'HEADER-REPEATED', 'repeated lines keep their values and their order', ['must', 'RFC 9110 §5.3'],
    [['X-Conform-Many', 'b'], ['X-Conform-Many', 'a']], { check: 'response-header', name: 'X-Conform-Many', as: 'same' }
  ),
  responseHeader(
    'SET-COOKIE', 'cookies stay separate lines', ['must', 'RFC 6265 §3'],
    [['Set-Cookie', 'a=1; Path=/'], ['Set-Cookie', 'b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT']],
    { check: 'response-header', name: 'Set-Cookie', as: 'lines' }
  ),
  responseHeader(
    'CACHE-CONTROL', 'Cache-Control reaches the client', ['must', 'RFC 9111 §5.2'], [['Cache-Control', 'private, no-store']],
    { check: 'response-header', name: 'Cache-Control', as: 'same' }
  ),
  responseHeader(
    'ETAG', 'ETag reaches the client', ['should', 'RFC 9110 §8.8.3'], [['ETag', 'W/"abc"']],
    { check: 'response-header', name: 'ETag', as: 'same' }
  ),
  responseHeader(
    'LANGUAGE', 'Content-Language reaches the client', ['should', 'RFC 9110 §8.5'], [['Content-Language', 'de']],
    { check: 'response-header', name: 'Content-Language', as: 'same' }
  ),
  responseHeader(
    'CONTENT-TYPE', 'parameters of the content type reach the client', ['must', 'RFC 9110 §8.3'],
    [['Content-Type', 'application/json; charset=utf-8']], { check: 'response-header', name: 'Content-Type', as: 'same' }
  ),
  responseHeader(
    'HOP-BY-HOP', 'a header that Connection names does not reach the client', ['must', 'RFC 9110 §7.6.1'],
    [['Connection', 'X-Conform-Hop'], ['X-Conform-Hop', '1']], { check: 'response-header', name: 'X-Conform-Hop', as: 'absent' }
  ),
  responseHeader(
    'DATE', 'Date of the agent reaches the client', ['should', 'RFC 9110 §6.6.1'], [],
    { check: 'response-header', name: 'Date', as: 'same' }
  )
]

/** A body of a response. */
const responseBody = (id: string, name: string, extra: Partial<Row>): Row => ({
  ...BASE,
  on: HTTP,
  id: `T-RESPONSE-BODY-${id}`,
  name,
  level: 'must',
  spec: 'RFC 9110 §6.4; profile T1',
  expect: [
    ONCE, SAME_STATUS, SAME_BYTES, COMPLETE
  ],
  ...extra
})
const task = (members: string) => ([transport, version]: Place): string => {
  const value = taskText(version, transport, members)
  return transport === 'rest' || version === '1.0' ? `{"task":${value}}` : value
}

const RESPONSE_BODIES: readonly Row[] = [
  responseBody('NUMBERS', 'numbers keep their digits', {
    agent: resulting(task(',"metadata":{"big":12345678901234567890,"one":1.0,"exponent":1e3,"long":0.1000000000000000055511151231257827}'))
  }),
  responseBody('UNKNOWN', 'members that no specification names stay', { agent: resulting(task(',"x-conform":{"list":[1,null]}')) }),
  responseBody(
    'UNICODE', 'text beyond ASCII, and escapes, stay',
    { agent: resulting(task(String.raw`,"metadata":{"text":"größer 大きい 🧪 \u00e9 \ud83e\uddea \/"}`)) }
  ),
  responseBody('SPACES', 'white space in and after the body stays', {
    agent: place => {
      const script = responseOf(
        'send_message', ...place
      ); return { ...script, pieces: (script.pieces ?? []).map(piece => piece.replaceAll('":', '" :\n ') + '\n\n') }
    }
  }),
  responseBody(
    'CHUNKED', 'a body in chunks passes', { spec: 'RFC 9112 §7.1', agent: answering('send_message', [], { framing: 'chunked' }) }
  ),
  responseBody(
    'UNTIL-CLOSE', 'a body that ends with the connection passes',
    { spec: 'RFC 9112 §6.3', agent: answering('send_message', [], { framing: 'close' }) }
  ),
  responseBody(
    'LARGE', 'a body of 2 MB passes', { on: HTTP_1_0, agent: resulting(task(`,"metadata":{"text":"${'x'.repeat(2_000_000)}"}`)) }
  ),
  responseBody('COMPRESSED', 'a compressed body passes as it is', {
    on: HTTP_1_0,
    level: 'should',
    spec: 'RFC 9110 §8.4',
    claims: ['compression'],
    request: withHeaders('send_message', ['Accept-Encoding', 'gzip']),
    agent: answering('send_message', [], { framing: 'gzip' }),
    expect: [SAME_STATUS, { check: 'response-header', name: 'Content-Encoding', as: 'same' }, SAME_BYTES]
  }),
  responseBody('OTHER-TYPE', 'a response that is no JSON passes', {
    on: REST_1_0,
    level: 'should',
    operation: 'get_task',
    agent: () => ({
      status: 200, headers: [['Content-Type', 'text/plain; charset=utf-8']], pieces: [`no JSON for ${CALL}\n`]
    })
  })
]

const STATUSES = [201, 202, 400, 401, 403, 404, 409, 422, 429, 500, 501, 503]
const STATUS_ROWS: readonly Row[] = [
  ...STATUSES.map((status): Row => ({
    ...BASE,
    id: `T-STATUS-${status}`,
    name: `the status ${status} and its body reach the client`,
    level: 'must',
    spec: 'RFC 9110 §15',
    on: REST_1_0,
    agent: () => ({
      status,
      headers: [['Content-Type', 'application/a2a+json']],
      pieces: [
        status < 300 ? `{"task":${taskText('1.0', 'rest')}}` : `{"error":{"code":${status},"status":"UNKNOWN","message":"for ${CALL}"}}`
      ]
    }),
    expect: [ONCE, SAME_STATUS, SAME_BYTES]
  })),
  {
    ...BASE,
    id: 'T-STATUS-204',
    name: 'a response without a body reaches the client',
    level: 'must',
    spec: 'RFC 9110 §15.3.5',
    on: REST_1_0,
    operation: 'delete_push_config',
    agent: () => ({
      status: 204
    }),
    expect: [ONCE, SAME_STATUS, SAME_BYTES, COMPLETE]
  },
  {
    ...BASE,
    id: 'T-STATUS-401',
    name: 'a challenge reaches the client',
    level: 'must',
    spec: 'RFC 9110 §11.6.1',
    on: JSONRPC_1_0,
    agent: () => ({
      status: 401,
      headers: [['Content-Type', 'application/json'], ['WWW-Authenticate', 'Bearer realm="agents", error="invalid_token"']],
      pieces: [`{"jsonrpc":"2.0","id":"${CALL}","error":{"code":-32000,"message":"no"}}`]
    }),
    expect: [ONCE, SAME_STATUS, SAME_BYTES, { check: 'response-header', name: 'WWW-Authenticate', as: 'same' }]
  }
]

const target = (id: string, name: string, level: Row['level'], path: string): Row => ({
  ...BASE,
  id: `T-TARGET-${id}`,
  name,
  level,
  spec: 'RFC 9110 §7.1; RFC 3986 §2',
  on: REST_1_0,
  operation: 'get_task',
  request: () => ({
    ...httpRequest('get_task', 'rest', '1.0'), target: path
  }),
  agent: answering('get_task', []),
  expect: [ONCE, SAME_TARGET]
})
const TARGETS: readonly Row[] = [
  target(
    'QUERY', 'the query keeps its order and its spelling', 'must',
    `/tasks?status=TASK_STATE_WORKING&contextId=${CALL}&pageSize=2&includeArtifacts=true&pageToken=a%2Bb%3D%3D`
  ),
  target('ENCODED', 'percent-encoded characters of an id stay', 'must', `/tasks/${CALL}%C3%BC%20x?historyLength=1`),
  target('SPECIAL', 'characters that need no encoding stay', 'must', `/tasks/${CALL}~a.b_c-d!$'()*+,;=@`),
  target('EMPTY-VALUE', 'an empty value of the query stays', 'should', `/tasks/${CALL}?historyLength=`),
  target('CASE', 'lower-case hexadecimal digits stay', 'should', `/tasks/${CALL}%c3%bc`)
]

export const TRANSPARENT_CASES: readonly Case[] = casesOf([
  ...REQUEST_HEADERS, ...REQUEST_BODIES, ...CONTINUE, ...RESPONSE_HEADERS, ...RESPONSE_BODIES, ...STATUS_ROWS, ...TARGETS,
  {
    ...BASE,
    id: 'T-NO-REDIRECT',
    name: 'a redirect of the agent is not followed',
    level: 'must',
    spec: 'RFC 9110 §15.4; profile S8',
    agent: () => ({
      status: 307, headers: [['Location', `/.conform/trap/${CALL}`]], pieces: ['']
    }),
    expect: [ONCE, { check: 'no-fetch' }]
  }
])
