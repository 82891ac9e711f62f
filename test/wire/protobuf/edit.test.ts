/** Edits of protobuf messages: the same as edits of their ProtoJSON, and nothing else changes. */
import fc from 'fast-check'
import assert from 'node:assert'
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { VERSIONS } from '#a2a/versions.js'
import type { JsonEdit, JsonPath } from '#wire/json/edit.js'
import { editJson } from '#wire/json/edit.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { editProtobuf } from '#wire/protobuf/edit.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { Random } from '../../fuzz/engine/random.js'
import { messages, number, pruned, raw, scrambled, values } from '../../helpers/protobuf-messages.js'
import { check } from '../../helpers/seed.js'

const LIMITS = { depth: 200, members: 100_000 }
const KEYS = fc.constantFrom('a', 'b', '__proto__', 'constructor', '0', '', 'urn:é')
const SIDES = [
  ['SendMessage', 'request'],
  ['SendMessage', 'response'],
  ['SendStreamingMessage', 'response'],
  ['ListTasks', 'response'],
  ['GetExtendedAgentCard', 'response']
] as const
const SEND = (grpcMethodFor('SendMessage', '1.0') as { request: MessageTable }).request

interface Place { readonly path: JsonPath, readonly value: unknown }

/** Every path of a value, with the value. */
function places (value: unknown, path: JsonPath = [], found: Place[] = []): Place[] {
  if (path.length > 0) found.push({ path, value })
  if (Array.isArray(value)) value.forEach((one, i) => places(one, [...path, i], found))
  else if (isObject(value)) for (const key of Object.keys(value)) places(value[key], [...path, key], found)
  return found
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** Edits that fit the table: removals anywhere, values of another message at their place, members of metadata and data. */
function editsOf (table: MessageTable, object: JsonObject, other: JsonObject, added: readonly unknown[], random: Random): JsonEdit[] {
  const here = places(object)
  const there = places(other)
  const objects = here.filter(({ path, value }) => isObject(value) && path.some(step => step === 'metadata' || step === 'data'))
  const edits: JsonEdit[] = []
  for (let i = random.below(5); i >= 0; i--) {
    const value = json(added[random.below(added.length)])
    if (here.length > 0 && random.chance(2)) edits.push({ path: random.pick(here).path, value: null })
    if (here.length > 0 && random.chance(4)) edits.push({ path: [...random.pick(here).path, random.pick(['a', 0, 7, 'nowhere'])], value: null })
    if (there.length > 0 && random.chance(3)) {
      const { path, value } = random.pick(there)
      edits.push({ path, value: json(value) })
    }
    if (objects.length > 0 && random.chance(2)) {
      const { path } = random.pick(objects)
      // The members of a DataPart of 0.3 are not free.
      if (path.at(-1) !== 'data' || path.at(-2) === 'data') edits.push({ path: [...path, random.pick(['a', '__proto__', 'new'])], value })
    }
    if (table.name !== 'SendMessageRequest') continue
    if (random.chance(4)) edits.push({ path: ['message', 'metadata', 'urn:a', ...(random.chance(3) ? ['deep', 'deeper'] : [])], value })
    if (random.chance(6)) edits.push({ path: ['metadata', random.pick(['a', '__proto__'])], value })
  }
  return edits
}

/** True when an object of the JSON has two members of a oneof: no message is such. */
function hasTwo (table: MessageTable, object: JsonObject): boolean {
  let seen = 0
  for (const row of table.names.values()) {
    const value = object[row.name]
    if (value === undefined) continue
    if ((seen & row.bit) !== 0) return true
    seen |= row.bit
    const inner = row.table
    if (inner === null) continue
    const all = row.list ? value as JsonObject[] : row.map ? Object.values(value as Record<string, JsonObject>) : [value as JsonObject]
    if (all.some(one => hasTwo(inner, one))) return true
  }
  return false
}

for (const version of VERSIONS) {
  for (const [operation, side] of SIDES) {
    const table = grpcMethodFor(operation, version)?.[side]
    if (table === undefined) continue
    t.test(`${version} ${table.name}: edits of the message are edits of its JSON`, async t => {
      let changed = 0
      let conflicts = 0
      const message = messages(table, KEYS).map(one => JSON.parse(JSON.stringify(one)) as JsonObject)
      const added = fc.array(values(KEYS), { minLength: 1, maxLength: 3 })
      const property = fc.property(message, message, added, fc.integer(), (object, other, added, seed) => {
        const random = Random.of(Buffer.from(String(seed)))
        const marks: Buffer[] = []
        const bytes = scrambled(table, object, random, marks)
        const before = readProtobuf(bytes, table, LIMITS, true)
        assert(before.ok, before.ok ? '' : before.problem.message)
        assert.deepStrictEqual(before.value, object)
        const edits = editsOf(table, object, other, added, random)
        const edited = pruned(table, JSON.parse(editJson(json(object), edits).toString()) as JsonObject)
        if (hasTwo(table, edited)) {
          conflicts++
          assert.throws(() => editProtobuf(bytes, table, edits), TypeError)
          return
        }
        const after = editProtobuf(bytes, table, edits)
        if (edits.length === 0) assert.strictEqual(after, bytes)
        else changed++
        const read = readProtobuf(after, table, LIMITS, true)
        assert(read.ok, read.ok ? '' : read.problem.message)
        assert.deepStrictEqual(read.value, edited)
        if (edits.every(({ value }) => value !== null) && !edits.some(({ path }) => object[path[0] as string] !== undefined)) {
          for (const mark of marks) assert(after.includes(mark), 'an unknown field is lost')
        }
      })
      check(`wire/protobuf/edit/${version}-${table.name}`, property, { numRuns: table.name === 'AgentCard' ? 60 : 150 })
      t.comment(`${changed} with edits, ${conflicts} conflicts`)
      t.ok(changed > 30)
    })
  }
}

t.test('every other byte stays, and the lengths around the edit follow', async t => {
  const long = 'x'.repeat(120)
  // Fields in an odd order, a default that is written, unknown fields, a value before its key.
  const inner = (metadata: Buffer): Buffer => {
    return Buffer.concat([raw(50, 'u1'), raw(5, [raw(1, long)]), number(4, 0), raw(6, metadata), raw(7, 'urn:a'), raw(7, 'urn:b')])
  }
  const kept = raw(1, [raw(2, [raw(3, 'v')]), raw(1, 'k')])
  const secret = raw(1, [raw(1, 'secret'), raw(2, [raw(3, 's')])])
  const request = (message: Buffer): Buffer => Buffer.concat([raw(60, 'u2'), raw(2, message), raw(1, 't')])
  const before = request(inner(Buffer.concat([kept, secret])))
  const edits: JsonEdit[] = [{ path: ['message', 'metadata', 'secret'], value: null }]
  t.equal(editProtobuf(before, SEND, edits).toString('hex'), request(inner(kept)).toString('hex'))

  // The length of the message takes one byte more.
  const added = Buffer.concat([kept, secret, raw(1, [raw(1, 'n'), raw(2, [raw(3, 'y'.repeat(200))])])])
  t.equal(
    editProtobuf(before, SEND, [{ path: ['message', 'metadata', 'n'], value: json('y'.repeat(200)) }]).toString('hex'),
    request(inner(added)).toString('hex')
  )
  const uris = Buffer.concat([raw(50, 'u1'), raw(5, [raw(1, long)]), number(4, 0), raw(6, [kept, secret]), raw(7, 'urn:b')])
  t.equal(editProtobuf(before, SEND, [{ path: ['message', 'extensions', 0], value: null }]).toString('hex'), request(uris).toString('hex'))
  const nowhere: readonly JsonPath[] = [
    ['message', 'nothing'],
    ['message', 'parts', 7],
    ['message', 'parts', 0, 'text', 'a'],
    ['message', 'extensions', '0'],
    ['metadata'],
    ['message', 'metadata', 'k', 'v']
  ]
  for (const path of nowhere) {
    t.equal(editProtobuf(before, SEND, [{ path, value: null }]), before, `${path.join('.')} is not there`)
  }
})

t.test('an edit that the message has no place for is an error', async t => {
  const bytes = writeProtobuf({ message: { messageId: 'm', parts: [{ text: 'a' }], metadata: { a: 1 } }, configuration: {} }, SEND)
  const wrong: readonly (readonly [JsonPath, unknown, RegExp])[] = [
    [['message', 'kind'], 'message', /^message\.kind is not a field of Message$/],
    [['nothing', 'at', 'all'], 1, /^nothing is not a field of SendMessageRequest$/],
    [['message', 'messageId'], 1, /^message\.messageId must be a string/],
    [['message', 'parts', 0, 'data'], 1, /^message\.parts\[0\]\.data occurs together with another member of "content"/],
    [['message', 'parts', 0], { text: 'a', url: 'b' }, /occurs together with another member/],
    [['message', 'parts'], { text: 'a' }, /^message\.parts must be a list/],
    [['message', 'role'], 'user', /^message\.role must be one of ROLE_UNSPECIFIED/],
    [['message', 'role'], 3, /must be one of/],
    [['message', 'metadata'], [], /^message\.metadata must be an object/],
    [['message', 'metadata', 'a'], '\ud800', /^message\.metadata\.a must be Unicode text/],
    [['message', 'metadata', '\udfff'], 1, /must be Unicode text/],
    [['message', 'extensions'], ['a', 1], /^message\.extensions\[1\] must be a string/],
    [['configuration', 'historyLength'], 1.5, /must be an integer of 32 bits/],
    [['configuration', 'historyLength'], 2 ** 31, /must be an integer of 32 bits/],
    [['configuration', 'returnImmediately'], 'true', /must be true or false/],
    [['message', 'parts', 0], { raw: '*' }, /must be base64/],
    [[], { message: { messageId: 'm', unknown: 1 } }, /^message\.unknown is not a field of Message/]
  ]
  for (const [path, value, message] of wrong) {
    const text = Buffer.from(JSON.stringify(value))
    t.throws(() => editProtobuf(bytes, SEND, [{ path, value: text }]), message, path.join('.'))
  }
  t.throws(() => editProtobuf(bytes, SEND, [{ path: ['message', 'metadata', 'a'], value: Buffer.from('1e999') }]), /must be a finite number/)
})
