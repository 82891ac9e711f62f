import t from 'tap'
import { idToken, readEnvelope } from '#a2a/message/call.js'
import type { EnvelopeProblem, RpcEnvelope } from '#a2a/message/call.js'

const good = (value: unknown): RpcEnvelope => {
  const read = readEnvelope(value)
  if (!read.ok) throw new Error(read.problem.message)
  return read.envelope
}
const bad = (value: unknown): EnvelopeProblem => {
  const read = readEnvelope(value)
  if (read.ok) throw new Error('the envelope was accepted')
  return read.problem
}
const call = (more: object): unknown => ({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {}, ...more })

t.test('an envelope is read; absent and null count as absent', async t => {
  t.same(good(call({})), { method: 'SendMessage', params: {}, id: 1 })
  for (const id of ['x', '', 0, -1, 1e21, null]) t.equal(good(call({ id })).id, id)
  t.equal(good({ jsonrpc: '2.0', method: 'm' }).id, null, 'a notification')
  t.equal(good({ jsonrpc: '2.0', method: 'm', params: null }).params, null)
  t.same(good(call({ extra: 1, __proto__x: 2 })), { method: 'SendMessage', params: {}, id: 1 }, 'unknown members are none of ours')
  t.same(good(JSON.parse('{"jsonrpc":"2.0","id":1,"method":"m","__proto__":{"params":[]}}')), { method: 'm', params: null, id: 1 })
})

t.test('invalid envelopes are rejected with the member and the fix', async t => {
  const rows: readonly (readonly [string, unknown, EnvelopeProblem])[] = [
    [
      'batch',
      [call({})],
      {
        reason: 'INVALID_REQUEST',
        path: '',
        message: 'Batch requests are not supported by A2A; send one JSON-RPC object per HTTP request.'
      }
    ],
    [
      'empty batch',
      [],
      {
        reason: 'INVALID_REQUEST',
        path: '',
        message: 'Batch requests are not supported by A2A; send one JSON-RPC object per HTTP request.'
      }
    ],
    [
      'string',
      'x',
      {
        reason: 'INVALID_REQUEST',
        path: '',
        message: 'The body must be one JSON-RPC 2.0 object with "jsonrpc", "id", "method" and "params".'
      }
    ],
    [
      'null',
      null,
      {
        reason: 'INVALID_REQUEST',
        path: '',
        message: 'The body must be one JSON-RPC 2.0 object with "jsonrpc", "id", "method" and "params".'
      }
    ],
    [
      'no jsonrpc',
      { id: 1, method: 'm' },
      { reason: 'INVALID_REQUEST', path: 'jsonrpc', message: 'The member "jsonrpc" must be the string "2.0".' }
    ],
    [
      'jsonrpc 1.0',
      call({ jsonrpc: '1.0' }),
      { reason: 'INVALID_REQUEST', path: 'jsonrpc', message: 'The member "jsonrpc" must be the string "2.0".' }
    ],
    [
      'jsonrpc number',
      call({ jsonrpc: 2 }),
      { reason: 'INVALID_REQUEST', path: 'jsonrpc', message: 'The member "jsonrpc" must be the string "2.0".' }
    ],
    [
      'no method',
      { jsonrpc: '2.0', id: 1 },
      { reason: 'INVALID_REQUEST', path: 'method', message: 'The member "method" must be a non-empty string.' }
    ],
    [
      'empty method',
      call({ method: '' }),
      { reason: 'INVALID_REQUEST', path: 'method', message: 'The member "method" must be a non-empty string.' }
    ],
    [
      'method list',
      call({ method: ['SendMessage'] }),
      { reason: 'INVALID_REQUEST', path: 'method', message: 'The member "method" must be a string.' }
    ],
    ['params array', call({ params: [] }), { reason: 'INVALID_PARAMS', path: 'params', message: 'The member "params" must be an object.' }],
    [
      'params string',
      call({ params: '{}' }),
      { reason: 'INVALID_PARAMS', path: 'params', message: 'The member "params" must be an object.' }
    ]
  ]
  for (const [name, value, problem] of rows) t.same(bad(value), problem, name)
  for (const id of [1.5, true, {}, [], Number.POSITIVE_INFINITY]) {
    t.same(
      bad(call({ id })),
      { reason: 'INVALID_REQUEST', path: 'id', message: 'The member "id" must be a string or an integer.' },
      JSON.stringify(id)
    )
  }
})

t.test('members that some agents read as envelope members are rejected', async t => {
  for (const [key, field] of [
    ['Method', 'method'],
    ['METHOD', 'method'],
    ['JSONRPC', 'jsonrpc'],
    ['jsonRpc', 'jsonrpc'],
    ['json_rpc', 'jsonrpc'],
    ['PARAMS', 'params'],
    ['paramſ', 'params'],
    ['Id', 'id'],
    ['_id', 'id']
  ] as const) {
    t.same(
      bad(call({ [key]: 'x' })),
      {
        reason: 'INVALID_REQUEST',
        path: /^\w+$/.test(key) ? key : `["${key}"]`,
        message: `Ambiguous envelope: the member ${/^\w+$/.test(key) ? key : `["${key}"]`} is read as "${field}" by some agents; spell it "${field}" or leave it out.`
      },
      key
    )
  }
  t.equal(bad({ jsonrpc: '2.0', Method: 'SendMessage' }).path, 'Method', 'also where the field itself is absent')
})

t.test('the id keeps the digits and escapes that the client wrote', async t => {
  const rows: readonly (readonly [string, string])[] = [
    ['{"id":0}', '0'],
    ['{"id":12345678901234567890}', '12345678901234567890'],
    ['{"id":-0}', '-0'],
    ['{"id":1.0}', '1.0'],
    ['{"id":1E2}', '1E2'],
    ['{"id":1e400}', '1e400'],
    ['{"id":1.5}', '1.5'],
    ['{"id":"a\\u0062\\""}', '"a\\u0062\\""'],
    ['{"id":"é😀"}', '"é😀"'],
    ['{ "\\u0069d" : "x" }', '"x"'],
    ['{"id":""}', '""'],
    ['{"a":{"id":1},"id":2}', '2'],
    ['{"id":null}', 'null'],
    ['{"id":true}', 'null'],
    ['{"id":{}}', 'null'],
    ['{"id":[1]}', 'null'],
    ['{}', 'null'],
    ['[{"id":1}]', 'null'],
    ['"x"', 'null']
  ]
  for (const [text, token] of rows) t.equal(idToken(Buffer.from(text), JSON.parse(text)), token, text)
})

t.test('the gravest problem is reported, in any order of the members', async t => {
  const reversed = (object: object): object => Object.fromEntries(Object.entries(object).reverse())
  const rows: readonly (readonly [object, string, EnvelopeProblem['reason']])[] = [
    [{ method: 3, methOd: '', id: 1 }, 'methOd', 'INVALID_REQUEST'],
    [{ params: 1, Params: {}, method: 'm' }, 'Params', 'INVALID_REQUEST'],
    [{ params: 1, method: 3 }, 'method', 'INVALID_REQUEST'],
    [{ params: 1, method: 'm' }, 'params', 'INVALID_PARAMS']
  ]
  for (const [object, path, reason] of rows) {
    t.match(bad(object), { path, reason })
    t.same(bad(reversed(object)), bad(object))
  }
})
