/** The reader and the writer against protobuf-es, for every message of A2A. */
import { fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf'
import type { JsonValue } from '@bufbuild/protobuf'
import fc from 'fast-check'
import assert from 'node:assert'
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Operation } from '#a2a/operations.js'
import { VERSIONS } from '#a2a/versions.js'
import type { JsonObject } from '#wire/json/object.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { registryOf } from '../../helpers/proto.js'
import { messages } from '../../helpers/protobuf-messages.js'
import { check } from '../../helpers/seed.js'

const LIMITS = { depth: 64, members: 10_000 }
const OPERATIONS: readonly Operation[] = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'CreateTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'GetExtendedAgentCard'
]

for (const version of VERSIONS) {
  const registry = registryOf(version)
  const tables = new Set<MessageTable>()
  for (const operation of OPERATIONS) {
    const method = grpcMethodFor(operation, version)
    if (method !== null) tables.add(method.request).add(method.response)
  }
  for (const table of tables) {
    t.test(`${version} ${table.name}`, async t => {
      const schema = registry.getMessage(`${version === '1.0' ? 'lf.a2a.v1' : 'a2a.v1'}.${table.name}`)
      assert(schema !== undefined, `protobuf-es knows ${table.name}`)
      t.ok(check(`wire/protobuf/oracle/${version}-${table.name}`, fc.property(messages(table), json => {
        const message = fromJson(schema, json as JsonValue)
        const bytes = Buffer.from(toBinary(schema, message))
        const read = readProtobuf(bytes, table, LIMITS)
        assert(read.ok, read.ok ? '' : read.problem.message)
        assert.deepStrictEqual(read.unknown, [])
        assert.deepStrictEqual(read.value, toJson(schema, fromBinary(schema, bytes)), 'the object is the ProtoJSON of protobuf-es')
        assert.deepStrictEqual(read.value, json)
        // The order of the fields is the same too: both write them by number.
        assert.strictEqual(writeProtobuf(json, table).toString('hex'), bytes.toString('hex'), 'the writer writes the same bytes')
      }), { numRuns: table.name === 'AgentCard' ? 40 : 80 }) > 0, 'inputs')
    })
  }

  t.test(`${version} bytes that end early`, async t => {
    const table = grpcMethodFor('SendMessage', version)?.request as MessageTable
    const schema = registry.getMessage(`${version === '1.0' ? 'lf.a2a.v1' : 'a2a.v1'}.${table.name}`)
    assert(schema !== undefined)
    const json = version === '1.0'
      ? { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { a: [1, { b: 'ü' }] } }], metadata: { 'urn:a': true } } }
      : { message: { messageId: 'm', role: 'ROLE_USER', content: [{ data: { data: { a: [1, { b: 'ü' }] } } }], metadata: { 'urn:a': true } } }
    const bytes = writeProtobuf(json, table)
    t.strictSame(value(bytes, table), json)
    for (let end = 0; end < bytes.length; end++) {
      const cut = bytes.subarray(0, end)
      let oracle: unknown
      try {
        oracle = toJson(schema, fromBinary(schema, cut))
      } catch {
        oracle = null
      }
      const ours = value(cut, table)
      // Ours may be stricter, and never reads another value.
      if (ours !== null && !same(ours, oracle)) t.fail(`${end} bytes are read as ${JSON.stringify(ours)}, not ${JSON.stringify(oracle)}`)
      if (oracle === null && ours !== null) t.fail(`${end} bytes are accepted`)
    }
  })
}

function value (bytes: Buffer, table: MessageTable): JsonObject | null {
  const read = readProtobuf(bytes, table, LIMITS)
  return read.ok ? read.value : null
}

function same (one: unknown, other: unknown): boolean {
  try {
    assert.deepStrictEqual(one, other)
    return true
  } catch {
    return false
  }
}
