/**
 * Protobuf messages. What the reader accepts, protobuf-es reads as the same ProtoJSON. What protobuf-es writes, the reader accepts. An edit
 * of the message is an edit of its JSON.
 */
import { fromBinary, toBinary, toJson } from '@bufbuild/protobuf'
import type { DescMessage } from '@bufbuild/protobuf'
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import type { JsonEdit, JsonPath } from '#wire/json/edit.js'
import { editJson } from '#wire/json/edit.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { editProtobuf } from '#wire/protobuf/edit.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { registryOf } from '../../helpers/proto.js'
import { pruned } from '../../helpers/protobuf-messages.js'
import { Random } from '../engine/random.js'
import type { Reader, Target } from '../engine/target.js'

const LIMITS = { depth: 32, members: 500 }
const PLAIN = /^[^\p{Cc}\u2028\u2029]+ \(byte \d+\)$/u

const SUBJECTS: readonly { readonly table: MessageTable, readonly schema: DescMessage }[] = (['1.0', '0.3'] as const).flatMap(version => {
  const registry = registryOf(version)
  const of = (table: MessageTable): { table: MessageTable, schema: DescMessage } => {
    return { table, schema: registry.getMessage(`${version === '1.0' ? 'lf.a2a.v1' : 'a2a.v1'}.${table.name}`) as DescMessage }
  }
  return [of(tableOf(version, 'request')), of(tableOf(version, 'response'))]
})

function tableOf (version: Version, side: 'request' | 'response'): MessageTable {
  return (grpcMethodFor('SendStreamingMessage', version) as GrpcMethod)[side]
}

type Four = readonly [MessageTable, MessageTable, MessageTable, MessageTable]

const MESSAGE = {
  messageId: 'm',
  role: 'ROLE_USER',
  metadata: { 'urn:a': { b: [1, null, true, 'é'] } },
  extensions: ['urn:a', 'urn:b']
}
const PARTS = [{ text: 't' }, { data: { a: [], b: { c: -1.5 } }, metadata: {}, mediaType: 'application/json' }, { raw: 'AAEC' }]
const CONTENT = [{ text: 't' }, { data: { data: { a: [] } } }, { file: { fileWithBytes: 'AAEC', mimeType: 'a/b' } }]
const [REQUEST, RESPONSE, REQUEST_0_3, RESPONSE_0_3] = SUBJECTS.map(({ table }) => table) as unknown as Four
const CONFIGURATION = { historyLength: 3, returnImmediately: true }
const TASK = {
  id: 't',
  status: { state: 'TASK_STATE_WORKING', timestamp: '2026-11-23T22:00:00.5Z' },
  artifacts: [{ artifactId: 'a', parts: PARTS }],
  history: [{ ...MESSAGE, parts: PARTS }]
}
const STATUS = { state: 'TASK_STATE_WORKING', timestamp: '2026-11-23T22:00:00.5Z' }

/** Reasons to reject a message that protobuf-es writes. */
const STRICTER = /A2A does not name|null with a number|deeper than|beyond the limit|is not a time|without a value/

export const protobuf: Target & Reader = {
  name: 'protobuf',
  maxBytes: 600,
  seeds: [
    '',
    writeProtobuf({ message: { ...MESSAGE, parts: PARTS }, configuration: CONFIGURATION, metadata: { a: 1 } }, REQUEST),
    writeProtobuf({ task: TASK }, RESPONSE),
    writeProtobuf({ artifactUpdate: { taskId: 't', artifact: { parts: PARTS }, append: true } }, RESPONSE),
    writeProtobuf({ message: { ...MESSAGE, content: CONTENT }, configuration: { blocking: true } }, REQUEST_0_3),
    writeProtobuf({ statusUpdate: { taskId: 't', status: { ...STATUS, message: { ...MESSAGE, content: CONTENT } }, final: true } }, RESPONSE_0_3)
  ],
  dictionary: [
    '\x00',
    '\x01',
    '\x0a\x00',
    '\x12\x00',
    '\x22\x00',
    '\x2a\x00',
    '\x32\x00',
    '\x0a\x02\x08\x00',
    '\x08\x00',
    '\x08\x01',
    '\x18\x01',
    '\x20\x01',
    '\x11\x00\x00\x00\x00\x00\x00\xf0\x3f',
    '\x1a\x01a',
    '\x0a\x01a\x12\x02\x08\x00',
    '\x80\x00',
    '\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01',
    '\xff\xff\xff\xff\x0f',
    '\x9a\x06\x00',
    '\x0b\x0c',
    '\xff',
    '\xc3\xa9',
    '__proto__'
  ],
  read: bytes => SUBJECTS.map(({ table }) => {
    const found = readProtobuf(bytes, table, LIMITS)
    return [found, readProtobuf(bytes, table, LIMITS, true), found.ok ? writeProtobuf(found.value, table) : null]
  }),
  check (bytes) {
    for (const { table, schema } of SUBJECTS) {
      const oracle = read(schema, bytes)
      const found = readProtobuf(bytes, table, LIMITS)
      if (!found.ok) {
        ok(PLAIN.test(found.problem.message), found.problem.message)
        ok(found.problem.offset !== null && found.problem.offset <= bytes.length, 'the offset lies in the message')
        // What protobuf-es writes is the plain form of a message.
        if (oracle !== null) canonical(table, schema, bytes, oracle)
        continue
      }
      const { value } = found
      // protobuf-es keeps the fields of a Struct in a plain object.
      if (!bytes.includes('__proto__')) {
        ok(oracle !== null, 'protobuf-es rejects the message')
        same(value, oracle, 'protobuf-es reads another value')
      }
      same(readProtobuf(bytes, table, LIMITS, true), found)
      const written = writeProtobuf(value, table)
      const again = readProtobuf(written, table, LIMITS)
      ok(again.ok, 'what the writer writes is acceptable')
      same(again.value, value)
      equal(editProtobuf(bytes, table, []), bytes)
      edit(table, bytes, value)
    }
  }
}

/** @returns null when protobuf-es rejects the bytes, or has no JSON for them */
function read (schema: DescMessage, bytes: Buffer): unknown {
  try {
    return toJson(schema, fromBinary(schema, bytes))
  } catch {
    return null
  }
}

function canonical (table: MessageTable, schema: DescMessage, bytes: Buffer, json: unknown): void {
  if (bytes.includes('__proto__')) return
  const plain = Buffer.from(toBinary(schema, fromBinary(schema, bytes), { writeUnknownFields: false }))
  const found = readProtobuf(plain, table, LIMITS)
  if (found.ok) same(found.value, json)
  else ok(STRICTER.test(found.problem.message), `what protobuf-es writes is rejected: ${found.problem.message}`)
}

function edit (table: MessageTable, bytes: Buffer, value: JsonObject): void {
  const places: JsonPath[] = []
  const walk = (one: unknown, path: JsonPath): void => {
    if (path.length > 0) places.push(path)
    if (Array.isArray(one)) one.forEach((inner, i) => walk(inner, [...path, i]))
    else if (isObject(one)) for (const key of Object.keys(one)) walk(one[key], [...path, key])
  }
  walk(value, [])
  if (places.length === 0) return
  const random = Random.of(bytes)
  const edits: JsonEdit[] = []
  do {
    const path = random.pick(places)
    // Members of metadata are free.
    const free = path.indexOf('metadata')
    edits.push(free === -1 || random.chance(2)
      ? { path, value: null }
      : { path: [...path.slice(0, free + 1), random.pick(['a', '__proto__', 'b'])], value: Buffer.from(random.pick(['1', 'null', '{"a":[]}'])) })
  } while (random.chance(2))
  const after = readProtobuf(editProtobuf(bytes, table, edits), table, LIMITS)
  ok(after.ok, after.ok ? '' : after.problem.message)
  // JSON has no -0 in common with protobuf: both sides are compared as JSON.
  const expected = pruned(table, JSON.parse(editJson(Buffer.from(JSON.stringify(value)), edits).toString()) as JsonObject)
  same(JSON.parse(JSON.stringify(after.value)), expected)
}
