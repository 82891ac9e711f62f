/** Requests over gRPC: the same call as over HTTP+JSON, names of tasks that agents read alike, and edits in the message. */
import fc from 'fast-check'
import assert from 'node:assert'
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import type { Call } from '#a2a/message/call.js'
import { readCall } from '#a2a/message/call.js'
import { unclearName } from '#a2a/message/named.js'
import type { Operation } from '#a2a/operations.js'
import { JSON_PAYLOAD, payloadOf } from '#a2a/payload.js'
import { idsOf } from '#a2a/request-ids.js'
import { namesOf, taskIdOf, tenantOf } from '#a2a/task-id.js'
import type { Version } from '#a2a/versions.js'
import { VERSIONS } from '#a2a/versions.js'
import type { JsonObject } from '#wire/json/object.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { messages, raw } from '../helpers/protobuf-messages.js'
import { check } from '../helpers/seed.js'

const limits = { depth: 64, members: 10_000 }

function read (bytes: Buffer, version: Version, operation: Operation | null, more: object = {}): Call {
  return readCall({ bytes, binding: 'GRPC', version, contentType: 'application/grpc', restOperation: operation, limits, ...more })
}

function grpc (version: Version, operation: Operation, body: JsonObject): Call {
  return read(writeProtobuf(body, (grpcMethodFor(operation, version) as GrpcMethod).request), version, operation)
}

t.test('a call is read as the same call over HTTP+JSON', async t => {
  for (const version of VERSIONS) {
    const { request } = grpcMethodFor('SendMessage', version) as GrpcMethod
    t.ok(check(`a2a/grpc-call/same-${version}`, fc.property(messages(request), body => {
      const bytes = writeProtobuf(body, request)
      const call = read(bytes, version, 'SendMessage')
      const rest = readCall({
        bytes: Buffer.from(JSON.stringify(body)),
        binding: 'HTTP+JSON',
        version,
        contentType: 'application/json',
        restOperation: 'SendMessage',
        limits
      })
      const shown = ({ view, problem, operation, request }: Call): unknown => ({ view, problem, operation, request })
      // JSON has no -0, and its numbers keep their digits. An empty text is a default of protobuf.
      assert.deepEqual(JSON.parse(JSON.stringify(shown(call))), JSON.parse(JSON.stringify(shown(rest))))
      assert.deepStrictEqual([call.method, call.idValue, call.id(), call.inexact, call.unknown], [null, null, 'null', null, []])
    }), { numRuns: 100 }) > 0, 'inputs')
  }
})

t.test('operations without a message', async t => {
  t.match(grpc('1.0', 'GetTask', { id: 't', tenant: 'one', historyLength: 0 }), {
    operation: 'GetTask',
    view: null,
    problem: null,
    request: { object: { id: 't', tenant: 'one', historyLength: 0 }, path: '' }
  })
  t.match(read(Buffer.alloc(0), '1.0', 'ListTasks'), { operation: 'ListTasks', problem: null, request: { object: {} } }, 'no bytes, no parameters')
  t.match(read(Buffer.alloc(0), '0.3', 'GetExtendedAgentCard'), { problem: null })
  t.match(read(Buffer.alloc(0), '1.0', 'SendMessage'), { problem: null, view: { message: null } }, 'the agent validates a request without a message')
})

t.test('tasks, contexts and tenants', async t => {
  const rows: readonly (readonly [Version, Operation, JsonObject, string | null])[] = [
    ['1.0', 'SendMessage', { message: { taskId: 't' } }, 't'],
    ['1.0', 'GetTask', { id: 't' }, 't'],
    ['1.0', 'CancelTask', { id: 't' }, 't'],
    ['1.0', 'SubscribeToTask', { id: 't' }, 't'],
    ['1.0', 'CreateTaskPushNotificationConfig', { taskId: 't', id: 'c' }, 't'],
    ['1.0', 'GetTaskPushNotificationConfig', { taskId: 't', id: 'c' }, 't'],
    ['1.0', 'ListTaskPushNotificationConfigs', { taskId: 't' }, 't'],
    ['1.0', 'DeleteTaskPushNotificationConfig', { taskId: 't', id: 'c' }, 't'],
    ['1.0', 'ListTasks', { contextId: 'c' }, null],
    ['0.3', 'SendMessage', { message: { taskId: 't' } }, 't'],
    ['0.3', 'GetTask', { name: 'tasks/t' }, 't'],
    ['0.3', 'CancelTask', { name: 'tasks/t' }, 't'],
    ['0.3', 'SubscribeToTask', { name: 'tasks/t' }, 't'],
    ['0.3', 'CreateTaskPushNotificationConfig', { parent: 'tasks/t', configId: 'c' }, 't'],
    ['0.3', 'GetTaskPushNotificationConfig', { name: 'tasks/t/pushNotificationConfigs/c' }, 't'],
    ['0.3', 'ListTaskPushNotificationConfigs', { parent: 'tasks/t' }, 't'],
    ['0.3', 'DeleteTaskPushNotificationConfig', { name: 'tasks/t/pushNotificationConfigs/c' }, 't']
  ]
  for (const [version, operation, body, id] of rows) {
    const call = grpc(version, operation, body)
    t.equal(taskIdOf(call, null), id, `${version} ${operation}`)
    t.strictSame(idsOf(call, null, 10).filter(({ kind }) => kind === 'task').map(one => one.id), id === null ? [] : [id])
    t.equal(unclearName(call, 'GRPC', null), null)
  }
  t.strictSame(namesOf(grpc('1.0', 'ListTasks', { contextId: 'c' }), null), { taskId: null, contextId: 'c' })
  for (const operation of ['SendMessage', 'GetTask', 'ListTaskPushNotificationConfigs'] as const) {
    t.equal(tenantOf(grpc('1.0', operation, { tenant: 'one' }), null), 'one')
  }
})

t.test('names that agents read differently', async t => {
  const rows: readonly (readonly [Operation, JsonObject, RegExp | null])[] = [
    ['GetTask', { name: '' }, null],
    ['GetTask', { name: 't' }, /^name is read differently by agents; begin it with "tasks\/"/],
    ['GetTask', { name: 'x/tasks/t' }, /^name is read differently/],
    ['GetTask', { name: 'tasks//tasks/t' }, /^name is read differently/],
    ['GetTask', { name: '/tasks/t' }, /^name is read differently/],
    ['ListTaskPushNotificationConfigs', { parent: 'a tasks/t' }, /^parent is read differently/],
    ['CreateTaskPushNotificationConfig', { parent: 'tasks/t', config: { name: 'tasks/t/pushNotificationConfigs/c' } }, null],
    ['CreateTaskPushNotificationConfig', { parent: 'tasks/t', config: {} }, null],
    ['CreateTaskPushNotificationConfig', { parent: 'tasks/t', config: { name: 'tasks/u/pushNotificationConfigs/c' } }, /^config\.name names another task than "parent"/]
  ]
  for (const [operation, body, expected] of rows) {
    const problem = unclearName(grpc('0.3', operation, body), 'GRPC', null)
    if (expected === null) t.equal(problem, null, JSON.stringify(body))
    else t.match(`${problem?.path} ${problem?.message}`, expected, JSON.stringify(body))
  }
})

t.test('problems of a message', async t => {
  t.match(read(Buffer.from('0a', 'hex'), '1.0', 'SendMessage').problem, {
    reason: 'PARSE_ERROR',
    rule: 'protobuf',
    path: '',
    message: 'The request message is not acceptable protobuf: tenant ends inside a field (byte 1).'
  })
  const twice = Buffer.concat([raw(2, [raw(1, 'a')]), raw(2, [raw(1, 'b')])])
  t.match(read(twice, '1.0', 'SendMessage'), { problem: { message: /message occurs twice \(byte 5\)\.$/ }, view: null, request: null })
  t.match(read(raw(9, ''), '1.0', 'GetTask'), { problem: null, unknown: ['GetTaskRequest field 9'] })
  t.match(read(Buffer.alloc(0), '1.0', null).problem, { reason: 'METHOD_NOT_FOUND', rule: 'unknown-method' })
  t.match(read(Buffer.alloc(0), '0.3', 'ListTasks').problem, { reason: 'METHOD_NOT_FOUND' })
  t.match(read(raw(2, [raw(5, [raw(1, 'a')])]), '1.0', 'SendMessage', { limits: { depth: 3, members: 9 } }).problem, { message: /deeper than 3 levels/ })
})

t.test('payloads', async t => {
  t.equal(payloadOf('JSONRPC', '1.0', 'SendMessage', 'request'), JSON_PAYLOAD)
  t.equal(payloadOf('HTTP+JSON', '0.3', 'Other', 'response'), JSON_PAYLOAD)
  const payload = payloadOf('GRPC', '1.0', 'SendMessage', 'request')
  t.equal(payloadOf('GRPC', '1.0', 'SendMessage', 'request'), payload, 'made once')
  t.throws(() => payloadOf('GRPC', '0.3', 'ListTasks', 'request'), /A2A 0\.3 has no gRPC method for ListTasks/)
  const bytes = writeProtobuf({ message: { messageId: 'm' } }, (grpcMethodFor('SendMessage', '1.0') as GrpcMethod).request)
  const edited = payload.edit(bytes, [{ path: ['message', 'metadata', 'a'], value: Buffer.from('1') }])
  t.strictSame(payload.parse(edited, limits), { ok: true, value: { message: { messageId: 'm', metadata: { a: 1 } } }, unknown: [] })
  const part = raw(2, [raw(5, [raw(1, 'a'), raw(8, '')])])
  t.equal(payload.parse(part, limits).ok, false, 'requests are closed')
  t.equal(payloadOf('GRPC', '1.0', 'SendMessage', 'response').parse(part, limits).ok, true, 'responses are not')
})
