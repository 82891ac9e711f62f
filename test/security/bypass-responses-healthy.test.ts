/**
 * Responses of healthy agents that look odd: under `responses: enforce` they arrive byte by byte, as they do under `responses: observe`.
 */
import t from 'tap'
import type { Ask, Reply } from './responses-kit.js'
import { behind, EVENTS, isRefused, rpcResult } from './responses-kit.js'

type Row = readonly [what: string, how: Ask, reply: Reply]

const MESSAGE = '{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"t"}],"metadata":{"x":1}}'
const TASK =
  '{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":null},"artifacts":[],"history":[],"metadata":{"x":1}}'
const good = rpcResult(`{"message":${MESSAGE}}`)
const STREAM: Ask = { method: 'SendStreamingMessage' }
const OLD: Ask = { version: '0.3' }
const OLD_STREAM: Ask = { version: '0.3', method: 'message/stream' }
const REST: Ask = { binding: 'HTTP+JSON' }
const REST_OLD: Ask = { binding: 'HTTP+JSON', version: '0.3' }
const sse = (...events: string[]): Reply => ({ headers: EVENTS, body: events.map(data => `data: ${data}\n\n`).join('') })
const type = (value: string, ...more: string[]): string[] => ['content-type', value, ...more]

const ROWS: readonly Row[] = [
  ['charset', {}, { headers: type('application/json; charset=UTF-8'), body: good }],
  ['charset without a hyphen', {}, { headers: type('application/json;charset=utf8'), body: good }],
  ['application/a2a+json', REST, { headers: type('application/a2a+json; charset="utf-8"'), body: `{"message":${MESSAGE}}` }],
  ['the same content type twice', {}, { headers: type('application/json', 'content-type', 'application/json'), body: good }],
  ['an empty content encoding', {}, { headers: type('application/json', 'content-encoding', ''), body: good }],
  ['identity', {}, { headers: type('application/json', 'content-encoding', 'Identity'), body: good }],
  ['a stream with a charset', STREAM, { headers: type('text/event-stream; charset=utf-8'), body: `data: ${good}\n\n` }],
  ['a stream with an empty parameter', STREAM, { headers: type('text/event-stream;'), body: `data: ${good}\n\n` }],
  ['201', {}, { status: 201, body: good }],
  ['202 to a notification, without a body', { id: null }, { status: 202, headers: ['content-length', '0'], body: '' }],
  ['202 to a notification, in chunks that never come', { id: null }, { status: 202, body: '' }],
  ['200 to a notification, of no type', { id: null }, { status: 200, headers: ['connection', 'close'], body: '' }],
  ['204', { id: null }, { status: 204, headers: [], body: '' }],
  ['a notification answered with the id null', { id: null }, { body: rpcResult(`{"message":${MESSAGE}}`, 'null') }],
  ['304', { ...REST, path: '/tasks/t1' }, { status: 304, headers: ['etag', '"a"'], body: '' }],
  ['both result and error written', {}, { body: `{"jsonrpc":"2.0","id":1,"error":null,"result":{"message":${MESSAGE},"task":null}}` }],
  ['an error with a null result', {}, { body: '{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32001,"message":"no"}}' }],
  ['an error without an id', {}, { body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}' }],
  ['a 1 that is written 1.0', {}, { body: good.replace('"id":1', '"id":1.0') }],
  ['blanks and line ends', {}, { body: `\r\n ${good.replaceAll(',', ' ,\n')}\r\n` }],
  ['a stream that answers with JSON', STREAM, { body: good }],
  ['a stream that answers with a JSON error', STREAM, { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}' }],
  ['an event that answers a call', {}, sse(good)],
  ['an empty stream', STREAM, sse()],
  ['comments only', STREAM, { headers: EVENTS, body: ': ping - 2026-01-01 00:00:00.000000+00:00\r\n\r\n:\n\n' }],
  ['fields of all kinds', STREAM, { headers: EVENTS, body: `\ufeffretry: 1000\nid: 1\nevent: message\ndata: ${good}\n\nid\n\n` }],
  [
    'an event without data to keep the connection',
    STREAM,
    { headers: EVENTS, body: `event: ping\ndata:\n\nevent: ping\ndata\n\ndata: \n\ndata: ${good}\n\n` }
  ],
  ['CRLF', STREAM, { headers: EVENTS, body: `data: ${good}\r\n\r\ndata: ${good}\r\n\r\n` }],
  [
    'an error event of JSON-RPC',
    STREAM,
    { headers: EVENTS, body: 'event: error\ndata: {"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"x"}}\n\n' }
  ],
  [
    'an error event of HTTP+JSON',
    { ...REST, method: 'stream' },
    { headers: EVENTS, body: 'event: error\ndata: {"error":{"code":500,"status":"INTERNAL","message":"x","details":[{}]}}\n\n' }
  ],
  [
    'an error event of 0.3 HTTP+JSON',
    { ...REST_OLD, method: 'stream' },
    { headers: EVENTS, body: 'event: error\ndata: {"code":-32603,"message":"x","data":{"a":1}}\n\n' }
  ],
  ['an HTTP+JSON error on 200', REST, { body: '{"error":{"code":404,"status":"NOT_FOUND","message":"x","details":[]}}' }],
  ['separators in strings', STREAM, sse(good.replace('"t"', '"a\u2028b\u2029c\u0085d"'))],
  [
    'all kinds of events',
    STREAM,
    sse(
      rpcResult(`{"task":${TASK}}`),
      rpcResult('{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":2,"timestamp":"2026-01-01T00:00:00Z"},"metadata":null}}'),
      rpcResult(
        '{"artifactUpdate":{"taskId":"t1","contextId":"c","artifact":{"artifactId":"a","name":"","parts":[{"text":"t","mediaType":"","filename":""}]},"append":false,"lastChunk":true}}'
      )
    )
  ],
  [
    'snake case of ProtoJSON',
    STREAM,
    sse(rpcResult('{"status_update":{"task_id":"t1","context_id":"c","status":{"state":"TASK_STATE_WORKING"}}}'))
  ],
  [
    'numbers of enums',
    {},
    {
      body: rpcResult(
        '{"task":{"id":"t","contextId":"c","status":{"state":3,"message":{"messageId":"m","role":2,"parts":[{"text":"x"}]}}}}'
      )
    }
  ],
  [
    'extra members',
    {},
    {
      body: rpcResult(
        '{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"t","thought":true}],"type":"m","created":1},"usage":{"a":1}}'
      )
    }
  ],
  [
    '0.3 with all optionals null',
    OLD,
    {
      body: rpcResult(
        '{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"x","metadata":null}],"contextId":null,"taskId":null,"extensions":null,"metadata":null,"referenceTaskIds":null},"timestamp":null},"artifacts":null,"history":null,"metadata":null}'
      )
    }
  ],
  [
    '0.3 updates',
    OLD_STREAM,
    sse(
      rpcResult('{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false}'),
      rpcResult(
        '{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"data","data":{"x":1}}]},"append":true,"lastChunk":null}'
      )
    )
  ],
  [
    '0.3 without kinds',
    OLD_STREAM,
    sse(
      rpcResult('{"id":"t","contextId":"c","status":{"state":"working"}}'),
      rpcResult('{"taskId":"t","contextId":"c","status":{"state":"working"},"final":false}'),
      rpcResult('{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[]}}'),
      rpcResult('{"messageId":"m","role":"agent","parts":[{"text":"x"}],"taskId":"t","contextId":"c"}')
    )
  ],
  [
    '0.3 proto',
    REST_OLD,
    {
      body: '{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED","update":{"messageId":"m","role":"ROLE_AGENT","content":[{"data":{"data":{"x":1}}}]}}}}'
    }
  ],
  ['0.3 proto, a message', REST_OLD, { body: '{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"x"}]}}' }],
  ['an empty list', { method: 'ListTasks', params: {} }, { body: rpcResult('{}') }],
  [
    'a long list',
    { method: 'ListTasks', params: {} },
    { body: rpcResult(`{"tasks":[${new Array(2_000).fill(TASK).join(',')}],"nextPageToken":"","totalSize":2000,"pageSize":2000}`) }
  ],
  ['a deletion', { method: 'DeleteTaskPushNotificationConfig', params: { taskId: 't', id: 'p' } }, { body: rpcResult('null') }],
  [
    'prototype names',
    {},
    {
      body: rpcResult(
        '{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"data":{"__proto__":{"x":2},"constructor":1}}],"metadata":{"__proto__":1,"constructor":{},"toString":null}}}'
      )
    }
  ],
  ['lone surrogates', {}, { body: rpcResult('{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"\\ud800"}]}}') }],
  [
    'numbers beyond doubles',
    {},
    {
      body: rpcResult('{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"data":{"n":123456789012345678901234567890,"m":1e400}}]}}')
    }
  ]
]

for (const responses of ['enforce', 'observe']) {
  t.test(`responses: ${responses}`, async t => {
    const { ask, gateway } = await behind(t, responses)
    for (const [what, how, reply] of ROWS) {
      const answer = await ask(how, reply)
      t.equal(answer.status, reply.status ?? 200, `${what}: status`)
      t.notOk(isRefused(answer), `${what}: not refused`)
      t.ok(answer.bytes.equals(Buffer.from(reply.body)), `${what}: as it was sent`)
    }
    const recorded = gateway.audits().flatMap(({ decision, violations }) =>
      (violations as readonly { rule: string, path: string }[]).map(({ rule, path }) => `${String(decision)} ${rule} ${path}`)
    )
    t.same(recorded, ['observed answer-unknown result.message.type', 'observed answer-unknown result.message.created'], 'extra members only')
  })
}
