import t from 'tap'
import type { Call, CallInput } from '#a2a/message/call.js'
import { readCall } from '#a2a/message/call.js'

const limits = { depth: 64, members: 10_000 }
const rpc = (body: string | object, more: Partial<CallInput> = {}): Call =>
  readCall({
    bytes: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    binding: 'JSONRPC',
    version: '1.0',
    contentType: 'application/json',
    restOperation: null,
    limits,
    ...more
  })
const rest = (body: string | object, more: Partial<CallInput> = {}): Call =>
  rpc(body, { binding: 'HTTP+JSON', restOperation: 'SendMessage', contentType: 'application/a2a+json', ...more })
const envelope = (more: object = {}): object => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'SendMessage',
  params: { message: { parts: [{ text: 'x' }] } },
  ...more
})

t.test('a call is read: operation, id, message', async t => {
  const call = rpc(envelope())
  t.match(call, { operation: 'SendMessage', idValue: 7, problem: null, view: { message: { path: 'params.message' } } })
  t.equal(call.id(), '7')
  t.equal(rpc(envelope({ method: 'GetTask', params: { id: '1' } })).view, null, 'nothing to view in other operations')
  t.equal(rpc(envelope({ params: null })).view, null)
  t.match(rpc(envelope({ method: 'message/send' }), { version: '0.3' }), { operation: 'SendMessage', problem: null })
  t.match(rest({ message: { parts: [] } }), {
    operation: 'SendMessage',
    idValue: null,
    problem: null,
    view: { message: { path: 'message' } }
  })
  t.equal(rest({ message: {} }).id(), 'null')
})

t.test('rejections keep all digits of ids', async t => {
  t.equal(rpc('{"jsonrpc":"2.0","id":12345678901234567890,"method":"Nope"}').id(), '12345678901234567890')
  t.equal(rpc('{"jsonrpc":"2.0","id":0,"method":"Nope"}').id(), '0')
  t.equal(rpc('{"jsonrpc":"1.0","id":"a","method":"Nope"}').id(), '"a"')
  t.equal(rpc('{"jsonrpc":"2.0","id":1.5,"method":"SendMessage"}').id(), '1.5', 'a number, though not a legal one')
  t.equal(rpc('{"jsonrpc":"2.0","id":{"a":1},"method":"SendMessage"}').id(), 'null')
  t.equal(rpc('[{"jsonrpc":"2.0","id":1,"method":"SendMessage"}]').id(), 'null')
  t.equal(rpc('{"jsonrpc":"2.0","method":"SendMessage"}').id(), 'null', 'a notification')
  t.equal(rpc('{').id(), 'null')
})

t.test('the first problem is reported, with the fix', async t => {
  const rows: readonly (readonly [string, Call, object])[] = [
    [
      'no body',
      rpc(''),
      { reason: 'PARSE_ERROR', rule: 'json', path: '', message: 'The body is not acceptable JSON: the body is empty, JSON was expected.' }
    ],
    [
      'not JSON',
      rpc('{"a":}'),
      {
        reason: 'PARSE_ERROR',
        rule: 'json',
        path: '',
        message: 'The body is not acceptable JSON: the JSON is not valid at byte 5, where a value was expected.'
      }
    ],
    [
      'duplicate',
      rpc('{"id":1,"id":2}'),
      { reason: 'PARSE_ERROR', rule: 'json', message: 'The body is not acceptable JSON: duplicate member "id" in the root object.' }
    ],
    [
      'too deep',
      rpc('[[[', { limits: { depth: 2, members: 9 } }),
      { reason: 'PARSE_ERROR', message: 'The body is not acceptable JSON: the JSON is nested deeper than 2 levels.' }
    ],
    ['batch', rpc('[]'), { reason: 'INVALID_REQUEST', rule: 'envelope', path: '' }],
    ['params array', rpc(envelope({ params: [] })), { reason: 'INVALID_PARAMS', rule: 'envelope', path: 'params' }],
    [
      '1.0 method without header',
      rpc(envelope(), { version: '0.3' }),
      {
        reason: 'VERSION_NOT_SUPPORTED',
        rule: 'version',
        path: 'header A2A-Version',
        message:
          'The method belongs to A2A 1.0, but a request without the header A2A-Version is A2A 0.3. Send the header "A2A-Version: 1.0".'
      }
    ],
    [
      '0.3 method under 1.0',
      rpc(envelope({ method: 'message/send' })),
      {
        reason: 'METHOD_NOT_FOUND',
        rule: 'method',
        path: 'method',
        message:
          'The method belongs to A2A 0.3, but the header A2A-Version of the request is 1.0. Use the 1.0 method name, or send no A2A-Version header.'
      }
    ],
    [
      'unknown method',
      rpc(envelope({ method: 'codex.exec' })),
      { reason: 'METHOD_NOT_FOUND', rule: 'unknown-method', path: 'method', message: 'The method is not an operation of A2A 1.0.' }
    ],
    [
      'unknown method, 0.3',
      rpc(envelope({ method: 'codex.exec' }), { version: '0.3' }),
      { reason: 'METHOD_NOT_FOUND', rule: 'unknown-method', message: 'The method is not an operation of A2A 0.3.' }
    ],
    ['REST: no body', rest(''), { reason: 'PARSE_ERROR', message: 'The body is empty; send the message as a JSON object.' }],
    ['REST: array', rest('[]'), { reason: 'INVALID_REQUEST', rule: 'envelope', message: 'The body must be one JSON object.' }],
    ['REST: null', rest('null'), { reason: 'INVALID_REQUEST' }],
    ['REST: not JSON', rest('x'), { reason: 'PARSE_ERROR' }]
  ]
  for (const [name, call, problem] of rows) t.match(call.problem, problem, name)
  for (const method of ['constructor', '__proto__', 'sendMessage', 'x'.repeat(9999)]) {
    t.notOk(rpc(envelope({ method })).problem?.message.includes(method), 'the method is not repeated')
  }
})

t.test('an unknown method is read too, because a policy may forward it', async t => {
  t.match(rpc(envelope({ method: 'codex.exec' })), { operation: 'Other', view: { message: { path: 'params.message' } } })
})

t.test('content types: JSON in UTF-8, the protocol\'s own on HTTP+JSON only', async t => {
  const json = ['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8', 'application/json;charset=UTF-8;x=y']
  const a2a = ['application/a2a+json', 'application/a2a+json; charset=utf-8']
  const other = [
    undefined,
    '',
    'text/plain',
    'application/json, text/plain',
    'application/json;charset=latin1',
    'application/jsonx',
    'multipart/form-data',
    'application/grpc'
  ]
  const typeOf = (call: Call): string | undefined => call.problem?.reason
  for (const contentType of json) {
    t.equal(typeOf(rpc(envelope(), { contentType })), undefined, contentType)
    t.equal(typeOf(rest({ message: {} }, { contentType })), undefined, contentType)
  }
  for (const contentType of a2a) {
    t.equal(typeOf(rpc(envelope(), { contentType })), 'CONTENT_TYPE_NOT_SUPPORTED', contentType)
    t.equal(typeOf(rest({ message: {} }, { contentType })), undefined, contentType)
  }
  for (const contentType of other) {
    t.match(
      rpc(envelope(), { contentType }).problem,
      {
        reason: 'CONTENT_TYPE_NOT_SUPPORTED',
        rule: 'content-type',
        path: 'header Content-Type',
        message: 'The header Content-Type must be application/json, in UTF-8.'
      },
      String(contentType)
    )
    t.match(
      rest({ message: {} }, { contentType }).problem,
      {
        reason: 'CONTENT_TYPE_NOT_SUPPORTED',
        message: 'The header Content-Type must be application/a2a+json or application/json, in UTF-8.'
      },
      String(contentType)
    )
  }
})

t.test('HTTP+JSON operations without a message may come without a body', async t => {
  for (const restOperation of ['GetTask', 'CancelTask', 'SubscribeToTask', 'DeleteTaskPushNotificationConfig'] as const) {
    t.match(rest('', { restOperation, contentType: undefined }), { operation: restOperation, problem: null, view: null })
    t.match(rest('{}', { restOperation }), { operation: restOperation, problem: null })
    t.match(rest('{"metadata":{}}', { restOperation, contentType: 'text/plain' }).problem, { reason: 'CONTENT_TYPE_NOT_SUPPORTED' })
  }
})
