/**
 * Responses under `responses: enforce` that clients would act upon and an evaluation could miss or interpret differently. No part of them
 * may arrive.
 */
import t from 'tap'
import type { Ask, Reply } from './responses-kit.js'
import { BAD, behind, EVENTS, GOOD, isRefused, rpcResult } from './responses-kit.js'

type Row = readonly [what: string, how: Ask, reply: Reply]

const EVIL_MESSAGE = `{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"t"}],"metadata":{${BAD}}}`
const EVIL_TASK = `{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{${BAD}}}`
const EVIL_ARTIFACT = `{"artifactId":"a","parts":[{"data":{${BAD}}}]}`
const wrapped = rpcResult(`{"message":${EVIL_MESSAGE}}`)
const OLD: Ask = { version: '0.3' }
const REST: Ask = { binding: 'HTTP+JSON' }
const REST_OLD: Ask = { binding: 'HTTP+JSON', version: '0.3' }
const STREAM: Ask = { method: 'SendStreamingMessage' }
const GET: Ask = { method: 'GetTask', params: { id: 't1' } }
const json = (...more: string[]): string[] => ['content-type', 'application/json', ...more]
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le')

const ROWS: readonly Row[] = [
  ['plain', {}, { body: wrapped }],
  // What the gateway takes for an event stream, and clients of calls that have one answer parse as JSON.
  ['JSON that says it is an event stream', {}, { headers: EVENTS, body: wrapped }],
  ['the same after blanks', {}, { headers: EVENTS, body: ` \r\n\n\t ${wrapped}\n\n` }],
  ['the same after a byte order mark', {}, { headers: EVENTS, body: `\ufeff${wrapped}` }],
  ['the same on many lines', {}, { headers: EVENTS, body: JSON.stringify(JSON.parse(wrapped), null, 1).replace(/": /g, '"\n: ') }],
  ['the same, HTTP+JSON', REST, { headers: EVENTS, body: `{"message":${EVIL_MESSAGE}}` }],
  ['the same, GetTask', GET, { headers: EVENTS, body: rpcResult(EVIL_TASK) }],
  ['the same, ListTasks', { method: 'ListTasks', params: {} }, { headers: EVENTS, body: rpcResult(`{"tasks":[${EVIL_TASK}]}`) }],
  ['two content types, the stream first', {}, { headers: [...EVENTS, ...json()], body: wrapped }],
  ['two content types, JSON first', STREAM, { headers: [...json(), ...EVENTS], body: `data: ${wrapped}\n\n` }],
  // What clients decode and the gateway does not.
  ['a stream in UTF-16', STREAM, { headers: ['content-type', 'text/event-stream; charset=utf-16le'], body: utf16(`data: ${wrapped}\n\n`) }],
  [
    'a stream in UTF-16, said in a second line',
    STREAM,
    { headers: [...EVENTS, 'content-type', 'text/event-stream; charset=utf-16le'], body: utf16(`data: ${wrapped}\n\n`) }
  ],
  [
    'a stream in UTF-16, said badly',
    STREAM,
    { headers: ['content-type', 'text/event-stream; charset = utf-16le'], body: utf16(`data: ${wrapped}\n\n`) }
  ],
  [
    'a stream in UTF-7',
    STREAM,
    {
      headers: ['content-type', 'text/event-stream; charset=utf-7'],
      body: `data: ${rpcResult('{"message":{"messageId":"+ACI-,+ACI-metadata+ACI-:+AHs-+ACI-x+ACI-:+ACI-EVIL+ACIAfQ-,+ACI-y+ACI-:+ACI-","role":"ROLE_AGENT","parts":[{"text":"t"}]}}')}\n\n`
    }
  ],
  ['JSON in UTF-16', {}, { headers: ['content-type', 'application/json; charset=utf-16le'], body: utf16(wrapped) }],
  ['JSON in UTF-16 without a word', {}, { headers: json(), body: utf16(wrapped) }],
  [
    'two encodings in two lines',
    STREAM,
    { headers: [...EVENTS, 'content-encoding', 'identity', 'content-encoding', 'gzip'], body: Buffer.from([0x1f, 0x8b, 8, 0]) }
  ],
  ['JSON by another name', {}, { headers: ['content-type', 'application/vnd.x+json'], body: wrapped }],
  ['JSON by no name', {}, { headers: [], body: wrapped }],
  ['JSON by the name of text', {}, { headers: ['content-type', 'text/plain'], body: wrapped }],
  ['another status', {}, { status: 203, body: wrapped }],
  // Lines that some clients see and others do not.
  ...['\u2028', '\u2029', '\u0085', '\v', '\f', '\x1c', '\x1d', '\x1e'].flatMap((end): Row[] => [
    [`a comment that ends with U+${end.charCodeAt(0).toString(16)}`, STREAM, { headers: EVENTS, body: `: x${end}data: ${wrapped}\n\n` }],
    [`an id that ends with U+${end.charCodeAt(0).toString(16)}`, STREAM, { headers: EVENTS, body: `id: x${end}data: ${wrapped}\n\n` }],
    [
      `an event's name that ends with U+${end.charCodeAt(0).toString(16)}`,
      STREAM,
      { headers: EVENTS, body: `event: x${end}data: ${wrapped}${end}${end}\ndata: ${wrapped.replace('"EVIL"', '1')}\n\n` }
    ]
  ]),
  ['an event that is not ended', STREAM, { headers: EVENTS, body: `data: ${wrapped}` }],
  ['an event that is an error by name', STREAM, { headers: EVENTS, body: `event: error\ndata: ${wrapped}\n\n` }],
  ['CR for LF', STREAM, { headers: EVENTS, body: `event: x\rdata: ${wrapped}\r\r` }],
  ['several data lines', STREAM, { headers: EVENTS, body: `data: ${wrapped.replace('"result"', '\ndata: "result"')}\n\n` }],
  ['data without a blank', STREAM, { headers: EVENTS, body: `data:${wrapped}\n\n` }],
  ['two documents in one event', STREAM, { headers: EVENTS, body: `data: ${wrapped.replace('"EVIL"', '1')}\ndata: ${wrapped}\n\n` }],
  // One answer that is two things.
  ['two results', {}, { body: rpcResult(`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}},"message":${EVIL_MESSAGE}}`) }],
  [
    'a result in another spelling',
    STREAM,
    { headers: EVENTS, body: `data: ${rpcResult(`{"artifact_update":{"task_id":"t","artifact":${EVIL_ARTIFACT}}}`)}\n\n` }
  ],
  ['a result in another case', {}, { body: rpcResult(`{"message":{"parts":[]},"Message":${EVIL_MESSAGE}}`) }],
  [
    'an error and a result',
    {},
    { body: `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"},"result":{"message":${EVIL_MESSAGE}}}` }
  ],
  ['duplicate members', {}, { body: rpcResult(`{"message":{"parts":[]},"message":${EVIL_MESSAGE}}`) }],
  [
    'HTTP+JSON: an error beside a message without an id',
    REST,
    { body: `{"error":{"code":1},"message":{"role":"ROLE_AGENT","parts":[{"text":"t"}],"metadata":{${BAD}}}}` }
  ],
  ['HTTP+JSON: an error beside a task without a state', REST, { body: `{"error":{"code":1},"task":{"id":"t","metadata":{${BAD}}}}` }],
  [
    'HTTP+JSON: an error beside an update',
    { ...REST, method: 'stream' },
    { headers: EVENTS, body: `event: error\ndata: {"error":{},"artifact_update":{"artifact":${EVIL_ARTIFACT}}}\n\n` }
  ],
  [
    'HTTP+JSON: GetTask, an error beside the task',
    { ...REST, path: '/tasks/t1' },
    { body: `{"error":{"code":1},"id":"t1","artifacts":[${EVIL_ARTIFACT}]}` }
  ],
  [
    'HTTP+JSON: GetTask, a code and a text beside the task',
    { ...REST, path: '/tasks/t1' },
    { body: `{"code":1,"message":"x","id":"t1","metadata":{${BAD}}}` }
  ],
  [
    'HTTP+JSON: ListTasks, an error beside the list',
    { ...REST, path: '/tasks' },
    { body: `{"error":{"code":1},"tasks":[{"id":"t1","metadata":{${BAD}}}]}` }
  ],
  [
    'HTTP+JSON 0.3: an error beside msg',
    REST_OLD,
    { body: `{"error":{},"msg":{"role":"ROLE_AGENT","content":[{"text":"t"}],"metadata":{${BAD}}}}` }
  ],
  // 0.3 without `kind`: readers of Python take the model that most fields fit.
  [
    'no kind: a task and a message',
    OLD,
    {
      body: rpcResult(
        `{"id":"t","contextId":"c","status":{"state":"working"},"messageId":"m","role":"agent","taskId":"t","parts":[{"kind":"data","data":{${BAD}}}]}`
      )
    }
  ],
  [
    'no kind: two updates',
    { version: '0.3', method: 'message/stream' },
    {
      headers: EVENTS,
      body: `data: ${rpcResult(`{"taskId":"t","contextId":"c","status":{"state":"working"},"artifact":{"artifactId":"a","parts":[{"kind":"data","data":{${BAD}}}]}}`)}\n\n`
    }
  ],
  [
    'no kind: an update and a message',
    { version: '0.3', method: 'message/stream' },
    {
      headers: EVENTS,
      body: `data: ${rpcResult(`{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[]},"messageId":"m","role":"agent","parts":[{"kind":"data","data":{${BAD}}}]}`)}\n\n`
    }
  ],
  [
    'an unknown kind',
    OLD,
    { body: rpcResult(`{"kind":"Message","messageId":"m","role":"agent","parts":[{"kind":"data","data":{${BAD}}}]}`) }
  ],
  [
    'content beside parts',
    OLD,
    { body: rpcResult(`{"kind":"message","messageId":"m","role":"agent","parts":[],"content":[{"kind":"data","data":{${BAD}}}]}`) }
  ],
  [
    'data of another kind',
    OLD,
    { body: rpcResult(`{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","data":{${BAD}}}]}`) }
  ],
  [
    'data beside a text',
    {},
    { body: rpcResult(`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"t","data":{${BAD}}}]}}`) }
  ],
  ['a list that is none', { method: 'ListTasks', params: {} }, { body: rpcResult(`{"tasks":{"0":${EVIL_TASK}}}`) }],
  ['another id', {}, { body: rpcResult('{"message":{"parts":[]}}', '2') }],
  ['a role that nobody knows', {}, { body: wrapped.replace('ROLE_AGENT', 'USER') }],
  [
    'metadata of a part',
    {},
    { body: rpcResult(`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"t","metadata":{${BAD}}}]}}`) }
  ],
  [
    'a name of Object.prototype',
    {},
    {
      body: rpcResult(
        `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"t"}],"__proto__":{"metadata":{}},"metadata":{"constructor":{},${BAD}}}}`
      )
    }
  ]
]

t.test('none of it arrives', async t => {
  const { ask, gateway } = await behind(t)
  for (const [what, how, reply] of ROWS) {
    const answer = await ask(how, reply)
    t.ok(isRefused(answer), `${what}: refused`)
    t.notMatch(answer.bytes.toString('latin1').replaceAll('\0', ''), /EVIL/, `${what}: nothing of it`)
  }
  t.equal((await ask({}, { body: wrapped.replace(BAD, GOOD) })).text, wrapped.replace(BAD, GOOD), 'a good one does')
  t.notMatch(JSON.stringify(gateway.audits()), /EVIL/)
})
