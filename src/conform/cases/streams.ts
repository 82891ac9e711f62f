/** Transparent, streams over HTTP: server-sent events as they are, each when the agent sends it. */
import type { Case, Check, Script } from '../model.js'
import { CALL } from '../model.js'
import { eventTexts, httpRequest, responseOf, resultText } from '../protocol.js'
import type { Place, Row } from './build.js'
import { answering, casesOf, COMPLETE, HTTP, HTTP_1_0, ONCE, SAME_BYTES, SAME_STATUS, withHeaders } from './build.js'

const BASE = {
  group: 'transparent', operation: 'send_streaming_message', on: HTTP_1_0, level: 'must', spec: 'A2A 1.0.1 §9.4.2, §11.7; HTML §9.2.6'
} as const
const EVENTS: Check = { check: 'body', as: 'events' }
const STREAM = [['Content-Type', 'text/event-stream']] as const

type Change = (events: readonly string[], place: Place) => readonly string[]
/** A stream of the ordinary events, changed. */
const stream = (change: Change, more: Partial<Script> = {}) => (place: Place): Script => ({
  status: 200, headers: STREAM, pieces: change(eventTexts(...place), place), ...more
})

const odd = (id: string, name: string, change: Change, extra: Partial<Row> = {}): Row => ({
  ...BASE, id: `T-STREAM-${id}`, name, agent: stream(change), expect: [ONCE, SAME_STATUS, SAME_BYTES, COMPLETE], ...extra
})

/** An update of the task with a text. */
const update = ([transport, version]: Place, text: string): string => {
  const ids = `"taskId":"${CALL}","contextId":"context-1"`
  const result = version === '1.0'
    ? `{"statusUpdate":{${ids},"status":{"state":"TASK_STATE_WORKING"},"metadata":{"text":"${text}"}}}`
    : `{"kind":"status-update",${ids},"status":{"state":"working"},"final":false,"metadata":{"text":"${text}"}}`
  return `data: ${resultText(transport, result)}\n\n`
}

/** Puts pieces between the first event and the others. */
const after = (...pieces: readonly string[]) => ([first = '', ...others]: readonly string[]): readonly string[] => [
  first, ...pieces, ...others
]

export const STREAM_CASES: readonly Case[] = casesOf([
  {
    ...BASE,
    on: HTTP,
    id: 'T-STREAM-TIMELY',
    name: 'each event reaches the client before the agent sends the next one',
    spec: 'A2A 1.0.1 §3.5.2; profile T6',
    agent: stream(
      events => events, { gated: true }
    ),
    expect: [{ check: 'timely' }, SAME_BYTES, COMPLETE]
  },
  {
    ...BASE,
    id: 'T-STREAM-TIMELY-RESUBSCRIBE',
    operation: 'subscribe_to_task',
    name: 'events of a subscription reach the client at once',
    spec: 'A2A 1.0.1 §3.1.6; profile T6',
    agent: place => ({
      ...responseOf('subscribe_to_task', ...place), gated: true
    }),
    expect: [{ check: 'timely' }, SAME_BYTES, COMPLETE]
  },
  {
    ...BASE,
    id: 'T-STREAM-COMMENT-TIMELY',
    name: 'a comment that keeps the connection alive reaches the client at once',
    spec: 'profile T6',
    level: 'should',
    agent: stream(
      after(': keep-alive\n\n', ': keep-alive again\n\n'), { gated: true }
    ),
    expect: [{ check: 'timely' }, SAME_BYTES]
  },
  odd('COMMENTS', 'comments stay', after(': one\n', ':two\n\n', ':\n\n')),
  odd('IDS', 'ids of events stay', events => events.map((event, i) => `id: ${i}\n${event}`)),
  odd('RETRY', 'a retry time stays', after('retry: 1500\n\n')),
  odd('NAMES', 'names of events stay', events => events.map(event => `event: message\n${event}`)),
  odd('UNKNOWN-FIELDS', 'fields that no specification names stay', events => events.map(event => `x-conform: 1\nnothing\n${event}`)),
  odd('CRLF', 'events with CRLF pass', events => events.map(event => event.replaceAll('\n', '\r\n'))),
  odd('CR', 'events with CR pass', events => events.map(event => event.replaceAll('\n', '\r'))),
  odd('DATA-LINES', 'data in several lines passes', events => events.map(event => event.replace(/,"contextId"/, '\ndata: ,"contextId"'))),
  odd('NO-SPACE', 'data without a space after the colon passes', events => events.map(event => event.replace('data: ', 'data:'))),
  odd('BLANK-LINES', 'blank lines between events stay', events => events.map(event => `\n\n${event}\n`)),
  odd('BOM', 'a byte order mark passes', ([first = '', ...others]) => [`\ufeff${first}`, ...others], { level: 'may' }),
  odd(
    'UNICODE', 'text beyond ASCII passes, also in comments',
    (events, place) => after(': größer 大きい 🧪\n\n', update(place, 'größer 大きい 🧪'))(events)
  ),
  odd(
    'NUMBERS', 'numbers keep their digits',
    (events, place) => after(update(place, 'x').replace('"text":"x"', '"big":12345678901234567890,"one":1.0,"exponent":1e3'))(events)
  ),
  odd(
    'CUT', 'events that arrive in several pieces pass',
    events => events.flatMap(event => [event.slice(0, 3), event.slice(3, 40), event.slice(40)])
  ),
  odd('JOINED', 'events that arrive together pass', events => [events.join('')]),
  odd(
    'LARGE', 'an event of 300 kB passes', (events, place) => after(update(place, 'x'.repeat(300_000)))(events),
    { level: 'should', spec: 'profile T3' }
  ),
  odd(
    'MANY', '200 events keep their order',
    (events, place) => after(...Array.from({ length: 200 }, (_, i) => update(place, `event ${i}`)))(events),
    { expect: [ONCE, EVENTS, SAME_BYTES, COMPLETE] }
  ),
  odd(
    'LAST-INCOMPLETE', 'a last event without its blank line passes', events => [...events.slice(0, -1), (events.at(-1) ?? '').trimEnd()],
    { level: 'should' }
  ),
  odd('EMPTY-DATA', 'an event with empty data passes', after('data:\n\n', 'event: ping\ndata\n\n'), { level: 'should' }),
  odd(
    'UNTIL-CLOSE', 'a stream that ends with the connection passes', events => events,
    { agent: stream(events => events, { framing: 'close' }) }
  ),
  {
    ...BASE,
    id: 'T-STREAM-IDLE',
    name: 'a stream without events for more than a second stays open',
    level: 'must',
    spec: 'profile T7',
    agent: stream(
      events => events, { pause: 1_200 }
    ),
    expect: [SAME_BYTES, COMPLETE]
  },
  {
    ...BASE,
    id: 'T-STREAM-TYPE',
    name: 'the content type and the headers of the stream reach the client',
    agent: stream(
      events => events,
      { headers: [['Content-Type', 'text/event-stream; charset=utf-8'], ['Cache-Control', 'no-cache'], ['X-Conform-One', 'yes']] }
    ),
    expect: [
      { check: 'response-header', name: 'Content-Type', as: 'same' },
      { check: 'response-header', name: 'Cache-Control', as: 'same' },
      { check: 'response-header', name: 'X-Conform-One', as: 'lines' }
    ]
  },
  {
    ...BASE,
    id: 'T-STREAM-BROKEN',
    name: 'the client sees that the stream broke',
    spec: 'RFC 9112 §8',
    agent: stream(
      events => events.slice(0, 2), { end: 'reset', framing: 'chunked' }
    ),
    expect: [{ check: 'either', of: [[{ check: 'end', is: 'broken' }], [{ check: 'error' }]] }]
  },
  {
    ...BASE,
    id: 'T-STREAM-LEAVE',
    name: 'the agent sees that the client has left the stream',
    spec: 'profile T8',
    request: place => ({
      ...httpRequest('send_streaming_message', ...place), leaveAfter: 1
    }),
    agent: stream(events => events.slice(0, 1), { end: 'hang', framing: 'chunked' }),
    expect: [{ check: 'cancelled' }]
  },
  {
    ...BASE,
    id: 'T-STREAM-REFUSED',
    name: 'an error before the stream reaches the client as it is',
    agent: ([transport]) => transport === 'rest'
      ? {
          status: 400,
          headers: [['Content-Type', 'application/a2a+json']],
          pieces: [`{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"for ${CALL}"}}`]
        }
      : {
          status: 200,
          headers: [['Content-Type', 'application/json']],
          pieces: [`{"jsonrpc":"2.0","id":"${CALL}","error":{"code":-32004,"message":"no streams"}}`]
        },
    expect: [ONCE, SAME_STATUS, { check: 'response-header', name: 'Content-Type', as: 'same' }, SAME_BYTES]
  },
  odd('ERROR-EVENT', 'an event with an error passes', (events, [transport]) => [...events.slice(0, 1), transport === 'rest'
    ? 'event: error\ndata: {"error":{"code":500,"status":"INTERNAL","message":"broken"}}\n\n'
    : `event: error\ndata: {"jsonrpc":"2.0","id":"${CALL}","error":{"code":-32603,"message":"broken"}}\n\n`]),
  {
    ...BASE,
    id: 'T-STREAM-LAST-EVENT-ID',
    operation: 'subscribe_to_task',
    level: 'should',
    name: 'Last-Event-ID reaches the agent',
    spec: 'HTML §9.2.4',
    request: withHeaders(
      'subscribe_to_task', ['Last-Event-ID', '7']
    ),
    agent: answering('subscribe_to_task', []),
    expect: [ONCE, { check: 'request-header', name: 'Last-Event-ID', as: 'same' }]
  },
  {
    ...BASE,
    id: 'T-STREAM-NO-RETRY',
    name: 'a stream that breaks is not requested again',
    spec: 'RFC 9110 §9.2.2',
    agent: stream(
      events => events.slice(0, 1), { end: 'reset', framing: 'chunked' }
    ),
    expect: [ONCE]
  }
])
