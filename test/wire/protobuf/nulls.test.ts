/** Null as the Java SDK writes it: the same value, and the bytes of an explicit null, whatever is around it. */
import fc from 'fast-check'
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { withExplicitNulls } from '#wire/protobuf/nulls.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { readProtobufUnread } from '#wire/protobuf/unread.js'
import { isObject } from '#wire/json/object.js'
import { field, join, numberField, value } from '../../helpers/protobuf-bytes.js'
import { check } from '../../helpers/seed.js'

const LIMITS = { depth: 64, members: 100_000 }
const { request: SEND, response: ANSWER } = grpcMethodFor('SendMessage', '1.0') as { request: MessageTable, response: MessageTable }

/** A Value as the Java SDK writes it: null is `Value.newBuilder().build()`, which has no bytes. */
function javaValue (json: unknown): Buffer {
  if (json === null) return Buffer.alloc(0)
  if (Array.isArray(json)) return field(6, join(...json.map(one => field(1, javaValue(one)))))
  if (!isObject(json)) return value(json)
  return field(5, join(...Object.entries(json).map(([key, one]) => field(1, join(field(1, key), field(2, javaValue(one)))))))
}

const requestOf = (write: typeof value, data: unknown, metadata: object, text: string): Buffer => field(2, join(
  field(1, text),
  numberField(4, 1),
  field(5, field(1, text)),
  field(5, join(field(4, write(data)), field(7, 'application/json'))),
  // A Value of an object is its Struct with a tag and a length.
  field(6, structOf(write, metadata))
))
const structOf = (write: typeof value, json: object): Buffer =>
  join(...Object.entries(json).map(([key, one]) => field(1, join(field(1, key), field(2, write(one))))))

/**
 * The bytes that the Java SDK writes, built by hand from its mapper (a Value without a kind for null):
 * a message "m" with data {"a": null, "b": 1} and metadata {"n": null, "l": [null]}.
 */
const JAVA = '124d0a016d20012a030a016d2a2d22192a170a050a016112000a0e0a0162120911000000000000f03f3a106170706c69636174696f6e2f6a736f6e32120a050a016e12000a090a016c120432020a00'

t.test('the message of the Java SDK 1.2.0', async t => {
  const java = Buffer.from(JAVA, 'hex')
  t.same(java, requestOf(javaValue, { a: null, b: 1 }, { n: null, l: [null] }, 'm'))
  const read = readProtobuf(java, SEND, LIMITS)
  t.match(read, { ok: true, value: { message: { parts: [{ text: 'm' }, { data: { a: null, b: 1 } }], metadata: { n: null, l: [null] } } } })
  t.equal(read.ok && read.nulls?.length, 3)
  t.same(withExplicitNulls(java, read.ok ? read.nulls ?? [] : []), requestOf(value, { a: null, b: 1 }, { n: null, l: [null] }, 'm'))
})

t.test('any value', async t => {
  const { tree: json } = fc.letrec(tie => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null), fc.integer(), fc.string({ maxLength: 130 }), fc.boolean(),
      fc.array(tie('tree'), { maxLength: 40 }), fc.dictionary(fc.string({ maxLength: 4 }), tie('tree'), { maxKeys: 5, noNullPrototype: true })
    )
  }))
  const objects = fc.dictionary(fc.string({ maxLength: 4 }), json, { maxKeys: 5, noNullPrototype: true })
  t.ok(check('wire/protobuf/nulls/explicit', fc.property(json, objects, fc.string({ maxLength: 200 }), (data, metadata, text) => {
    const java = requestOf(javaValue, data, metadata, text)
    const explicit = requestOf(value, data, metadata, text)
    const read = readProtobuf(java, SEND, LIMITS)
    const plain = readProtobuf(explicit, SEND, LIMITS)
    if (!read.ok || !plain.ok) return read.ok === plain.ok
    const unread = readProtobufUnread(java, SEND, LIMITS, false)
    return plain.nulls === undefined && JSON.stringify(read.value) === JSON.stringify(plain.value) &&
      unread.ok && JSON.stringify(unread.nulls) === JSON.stringify(read.nulls) &&
      (read.nulls === undefined ? java : withExplicitNulls(java, read.nulls)).equals(explicit)
  })) > 0, 'inputs')
})

t.test('a Value of a newer kind is no null', async t => {
  const newer = field(2, join(field(1, 'm'), numberField(4, 2), field(5, field(4, field(9, 'newer')))))
  t.match(readProtobuf(newer, ANSWER, LIMITS, true), { ok: false, problem: { message: /is a Value of a kind that A2A does not define/ } })
})
