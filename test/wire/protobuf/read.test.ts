/**
 * Bytes with two readings. The official SDKs read each of these differently (Python and Go merge or reject, JavaScript replaces or stops),
 * so the gateway rejects them, and says where.
 */
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { JsonObject } from '#wire/json/object.js'
import { parseStrict } from '#wire/json/json.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { count, double, number, raw, tag } from '../../helpers/protobuf-messages.js'

const LIMITS = { depth: 64, members: 1_000 }
const SEND = tableOf('SendMessage')
const SEND_0_3 = (grpcMethodFor('SendMessage', '0.3') as { request: MessageTable }).request
const LIST = tableOf('ListTasks')
const CARD = (grpcMethodFor('GetExtendedAgentCard', '1.0') as { response: MessageTable }).response
const STREAM = (grpcMethodFor('SendStreamingMessage', '1.0') as { response: MessageTable }).response

function tableOf (operation: 'SendMessage' | 'ListTasks'): MessageTable {
  return (grpcMethodFor(operation, '1.0') as { request: MessageTable }).request
}

/** Bytes of a SendMessageRequest with one Message of these fields. */
const message = (...fields: readonly Buffer[]): Buffer => raw(2, fields)
const part = (...fields: readonly Buffer[]): Buffer => message(raw(5, fields))
/** A part with data: the fields of a Value. */
const data = (...fields: readonly Buffer[]): Buffer => part(raw(4, fields))
const struct = (...entries: readonly Buffer[]): Buffer => data(raw(5, entries))
const entry = (key: string, ...value: readonly Buffer[]): Buffer => raw(1, [raw(1, key), raw(2, value)])
const TEXT = raw(3, 'x')
const NULL = number(1, 0)
const SCHEME = raw(8, [raw(1, 's'), raw(2, [])])
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

/** Name, bytes, problem; SendMessageRequest of 1.0 unless a table is given. */
const REJECTED: readonly (readonly [string, Buffer, RegExp, MessageTable?])[] = [
  ['message twice', Buffer.concat([message(raw(1, 'a')), message(raw(1, 'b'))]), /^message occurs twice \(byte 5\)$/],
  ['message twice, empty', Buffer.concat([message(), message()]), /^message occurs twice/],
  ['metadata twice', Buffer.concat([raw(4, []), raw(4, [])]), /^metadata occurs twice/],
  ['a text twice', message(raw(1, 'a'), raw(1, 'a')), /^message\.messageId occurs twice/],
  ['a text twice, first empty', message(raw(1, ''), raw(1, 'a')), /^message\.messageId occurs twice/],
  ['a role twice', message(number(4, 1), number(4, 2)), /^message\.role occurs twice/],
  ['a oneof member twice', part(raw(1, 'a'), raw(1, 'b')), /^message\.parts\[0\]\.text occurs twice/],
  ['two members of a oneof', part(raw(1, 'a'), raw(4, [TEXT])), /^message\.parts\[0\] has both "text" and "data", of which it may have one/],
  ['data twice', part(raw(4, [TEXT]), raw(4, [TEXT])), /parts\[0\]\.data occurs twice/],
  ['two kinds in a Value', data(TEXT, number(4, 1)), /parts\[0\]\.data is a Value with two kinds/],
  ['one kind twice in a Value', data(TEXT, TEXT), /is a Value with two kinds/],
  ['two Structs in a Value', data(raw(5, []), raw(5, [])), /is a Value with two kinds/],
  ['a null other than 0', data(number(1, 1)), /is a null with a number other than 0/],
  ['an entry without a value', struct(raw(1, [raw(1, 'k')])), /parts\[0\]\.data\.k is an entry without a value/],
  ['a key twice in a Struct', struct(entry('k', TEXT), entry('k', NULL)), /data\.k occurs twice/],
  ['an absent and an empty key', struct(raw(1, [raw(2, [TEXT])]), entry('', TEXT)), /data\[""\] occurs twice/],
  ['__proto__ twice', struct(entry('__proto__', TEXT), entry('__proto__', TEXT)), /data\.__proto__ occurs twice/],
  ['an entry with two keys', struct(raw(1, [raw(1, 'a'), raw(1, 'b'), raw(2, [TEXT])])), /is an entry with two keys or two values/],
  ['an entry with two values', struct(raw(1, [raw(1, 'a'), raw(2, [TEXT]), raw(2, [TEXT])])), /is an entry with two keys or two values/],
  ['a map key twice', Buffer.concat([SCHEME, SCHEME]), /^securitySchemes\.s occurs twice/, CARD],
  ['a map entry without its message', raw(8, [raw(1, 's')]), /^securitySchemes\.s is an entry without a value/, CARD],
  ['tag 0, then more', Buffer.concat([message(raw(1, 'a')), hex('00'), message(raw(1, 'b'))]), /^the message has a field with the number 0 \(byte 5\)$/],
  ['tag 0 in a message', message(hex('00'), raw(1, 'a')), /^message has a field with the number 0/],
  ['field 0 with a length', Buffer.concat([hex('0200'), message()]), /has a field with the number 0/],
  ['an end group', Buffer.concat([message(), hex('0c')]), /wire type 4/],
  ['an end group of an unknown field', Buffer.concat([tag(99, 4), message()]), /has a group, or a field with a wire type that does not exist/],
  ['a group of an unknown field', Buffer.concat([tag(99, 3), tag(99, 4)]), /has a group/],
  ['a group of a known field', Buffer.concat([tag(2, 3), tag(2, 4)]), /has the field 2 with wire type 3 instead of 2/],
  ['wire type 6', tag(99, 6), /wire type that does not exist/],
  ['wire type 7', tag(99, 7), /wire type that does not exist/],
  ['a text as a number', message(number(1, 1)), /^message has the field 1 with wire type 0 instead of 2/],
  ['a role as text', message(raw(4, 'ROLE_USER')), /^message has the field 4 with wire type 2 instead of 0/],
  ['a message as fixed64', Buffer.concat([tag(2, 1), Buffer.alloc(8)]), /wire type 1 instead of 2/],
  ['a Value number as text', data(raw(2, '1')), /has the field 2 with wire type 2 instead of 1/],
  ['a Value number as float', data(Buffer.concat([tag(2, 5), Buffer.alloc(4)])), /wire type 5 instead of 1/],
  ['a Struct entry as a number', struct(number(1, 1)), /has the field 1 with wire type 0 instead of 2/],
  ['a list element as a number', data(raw(6, [number(1, 1)])), /has the field 1 with wire type 0 instead of 2/],
  ['an entry key as a number', struct(raw(1, [number(1, 1), raw(2, [TEXT])])), /has the field 1 with wire type 0 instead of 2/],
  ['Timestamp seconds as text', raw(7, [raw(1, '1')]), /has the field 1 with wire type 2 instead of 0/, LIST],
  ['a tag with superfluous bytes', Buffer.concat([hex('9200'), count(0)]), /number with superfluous bytes/],
  ['a length with superfluous bytes', Buffer.concat([tag(2, 2), hex('8000')]), /number with superfluous bytes/],
  ['a value with superfluous bytes', message(Buffer.concat([tag(4, 0), hex('8100')])), /message\.role has a number with superfluous bytes/],
  ['an unknown value with superfluous bytes', Buffer.concat([tag(99, 0), hex('8100')]), /number with superfluous bytes/],
  ['a tag of more than 32 bits', hex('928080808001'), /more than 32 bits/],
  ['a length of more than 32 bits', hex('12 8080808010'), /more than 32 bits/],
  ['a length of 2^32 - 1', hex('12 ffffffff0f'), /ends inside a field/],
  ['a number of more than 64 bits', Buffer.concat([tag(99, 0), hex('ffffffffffffffffff02')]), /more than 64 bits/],
  ['a number without end', Buffer.concat([tag(99, 0), Buffer.alloc(11, 0xff)]), /more than 64 bits/],
  ['an enum without a name', message(number(4, 3)), /^message\.role is a number that A2A does not name/],
  ['a negative enum', message(number(4, -1)), /^message\.role is a number/],
  ['an enum of 2^32', message(number(4, 2n ** 32n + 1n)), /^message\.role is a number/],
  ['a state without a name', raw(3, [raw(3, [number(1, 9)])]), /^statusUpdate\.status\.state is a number/, STREAM],
  ['bool 2', raw(3, [number(4, 2)]), /^configuration\.returnImmediately is a bool other than 0 and 1/],
  ['bool 2^32', raw(3, [number(4, 2n ** 32n)]), /is a bool other than 0 and 1/],
  ['bool 2 in a Value', data(number(4, 2)), /is a bool other than 0 and 1/],
  ['int32 of 2^31', raw(3, [number(3, 2n ** 31n)]), /historyLength is not an integer of 32 bits/],
  ['int32 of -1 in five bytes', raw(3, [Buffer.concat([tag(3, 0), hex('ffffffff0f')])]), /is not an integer of 32 bits/],
  ['NaN', data(double(2, NaN)), /is NaN or infinite/],
  ['infinity', data(double(2, Infinity)), /is NaN or infinite/],
  ['-infinity in a list', data(raw(6, [raw(1, [double(2, -Infinity)])])), /data\[0\] is NaN or infinite/],
  ['invalid UTF-8', message(raw(1, [hex('ff')])), /^message\.messageId is not UTF-8/],
  ['overlong UTF-8', message(raw(1, [hex('c0af')])), /is not UTF-8/],
  ['a surrogate in UTF-8', message(raw(1, [hex('eda080')])), /is not UTF-8/],
  ['UTF-8 beyond U+10FFFF', message(raw(1, [hex('f4908080')])), /is not UTF-8/],
  ['a character cut by the end', message(raw(1, [hex('c3')])), /is not UTF-8/],
  ['invalid UTF-8 in a long text', message(raw(1, [Buffer.alloc(40, 'a'), hex('80'), Buffer.from('\ufffd')])), /is not UTF-8/],
  ['invalid UTF-8 in a key', struct(raw(1, [raw(1, [hex('ff')]), raw(2, [TEXT])])), /is not UTF-8/],
  ['invalid UTF-8 in a URI', message(raw(7, [hex('ff')])), /^message\.extensions\[0\] is not UTF-8/],
  ['an unknown field in a Part', part(raw(1, 'a'), raw(8, 'b')), /^message\.parts\[0\] has the field 8, which A2A does not define for Part/],
  ['an unknown field in a Part of 0.3', raw(1, [raw(5, [raw(5, '')])]), /does not define for Part/, SEND_0_3],
  ['an unknown field in a file of 0.3', raw(1, [raw(5, [raw(2, [raw(5, '')])])]), /does not define for FilePart/, SEND_0_3],
  ['an unknown field in data of 0.3', raw(1, [raw(5, [raw(3, [raw(2, '')])])]), /does not define for DataPart/, SEND_0_3],
  ['an unknown field in a Value', data(TEXT, raw(7, '')), /does not define for Value/],
  ['an unknown field in a Struct', struct(raw(2, '')), /does not define for Struct/],
  ['an unknown field in a list', data(raw(6, [raw(2, '')])), /does not define for ListValue/],
  ['an unknown field in an entry', struct(raw(1, [raw(1, 'a'), raw(2, [TEXT]), raw(3, '')])), /does not define for an entry/],
  ['two seconds in a Timestamp', raw(7, [number(1, 1), number(1, 2)]), /^statusTimestampAfter is a Timestamp with two seconds/, LIST],
  ['a time after the year 9999', raw(7, [number(1, 253_402_300_800)]), /is not a time between the years 1 and 9999/, LIST],
  ['a time before the year 1', raw(7, [number(1, -62_135_596_801)]), /is not a time/, LIST],
  ['negative nanos', raw(7, [number(2, -1)]), /is not a time/, LIST],
  ['a billion nanos', raw(7, [number(2, 1_000_000_000)]), /is not a time/, LIST],
  ['a part that ends beyond the message', raw(2, [tag(5, 2), count(5)]), /^message\.parts\[0\] ends inside a field/],
  ['a field that ends inside the parent only', Buffer.concat([tag(2, 2), count(2), tag(1, 2), count(1), Buffer.from('a')]), /^message\.messageId ends inside a field/],
  ['half a double', data(Buffer.concat([tag(2, 1), Buffer.alloc(4)])), /ends inside a field/],
  ['half an unknown fixed32', Buffer.concat([tag(99, 5), Buffer.alloc(3)]), /ends inside a field/],
  ['a tag without a value', tag(2, 2), /^message ends inside a field/],
  ['half a tag', hex('92'), /ends inside a field/]
]

t.test('two readings are rejected, with the path and the byte', async t => {
  const wrong = REJECTED.flatMap(([name, bytes, problem, table = SEND]) => {
    const read = readProtobuf(bytes, table, LIMITS)
    if (read.ok) return [`${name}: accepted as ${JSON.stringify(read.value)}`]
    const { message, offset } = read.problem
    return problem.test(message) && message.endsWith(`(byte ${offset})`) ? [] : [`${name}: ${message}`]
  })
  t.strictSame(wrong, [])
  t.equal(new Set(REJECTED.map(([name]) => name)).size, REJECTED.length, 'each case is another')
})

/** Legal forms that writers differ in. */
const ACCEPTED: readonly (readonly [string, Buffer, unknown, MessageTable?])[] = [
  ['no bytes', Buffer.alloc(0), {}],
  ['an empty message', message(), { message: {} }],
  ['defaults that are written', message(raw(1, ''), number(4, 0)), { message: {} }],
  ['a default with presence', raw(3, [number(3, 0), number(4, 0)]), { configuration: { historyLength: 0 } }],
  ['an empty oneof member', part(raw(1, '')), { message: { parts: [{ text: '' }] } }],
  ['fields in another order', Buffer.concat([raw(4, []), message(raw(7, 'u'), raw(1, 'a'))]), { message: { extensions: ['u'], messageId: 'a' }, metadata: {} }],
  ['elements between other fields', message(raw(7, 'u'), raw(1, 'a'), raw(7, 'v')), { message: { extensions: ['u', 'v'], messageId: 'a' } }],
  ['one text with two URIs', message(raw(7, 'u,v')), { message: { extensions: ['u,v'] } }],
  ['a value before its key', struct(raw(1, [raw(2, [TEXT]), raw(1, 'k')])), { message: { parts: [{ data: { k: 'x' } }] } }],
  ['an entry without a key', struct(raw(1, [raw(2, [TEXT])])), { message: { parts: [{ data: { '': 'x' } }] } }],
  ['null', data(NULL), { message: { parts: [{ data: null }] } }],
  ['-1', raw(3, [number(3, -1)]), { configuration: { historyLength: -1 } }],
  ['bytes', part(raw(2, [hex('fffe00')])), { message: { parts: [{ raw: '//4A' }] } }],
  ['a text of a map that is not written', raw(8, [raw(1, 's'), raw(2, [raw(3, [raw(2, [raw(2, [raw(3, [raw(1, 'read')])])])])])]), {
    securitySchemes: { s: { oauth2SecurityScheme: { flows: { clientCredentials: { scopes: { read: '' } } } } } }
  }, CARD],
  ['the replacement character', message(raw(1, '\ufffd')), { message: { messageId: '\ufffd' } }],
  ['a byte order mark', message(raw(1, '\ufeffa')), { message: { messageId: '\ufeffa' } }],
  ['a time', raw(7, [number(1, 1), number(2, 1_000)]), { statusTimestampAfter: '1970-01-01T00:00:01.000001Z' }, LIST],
  ['the first time', raw(7, [number(1, -62_135_596_800)]), { statusTimestampAfter: '0001-01-01T00:00:00Z' }, LIST],
  ['the last time', raw(7, [number(1, 253_402_300_799), number(2, 999_999_999)]), { statusTimestampAfter: '9999-12-31T23:59:59.999999999Z' }, LIST],
  ['an empty Timestamp', raw(7, []), { statusTimestampAfter: '1970-01-01T00:00:00Z' }, LIST]
]

t.test('other forms of the same message are accepted', async t => {
  for (const [name, bytes, value, table = SEND] of ACCEPTED) {
    const read = readProtobuf(bytes, table, LIMITS)
    t.strictSame(read, { ok: true, value, unknown: [] }, name)
  }
})

t.test('__proto__ is a key like others', async t => {
  const read = readProtobuf(struct(entry('__proto__', raw(5, [entry('total', TEXT)])), entry('a', TEXT)), SEND, LIMITS)
  t.ok(read.ok)
  const found = (read as unknown as { value: { message: { parts: { data: object }[] } } }).value.message.parts[0]?.data as object
  t.strictSame(Object.keys(found), ['__proto__', 'a'])
  t.equal(Object.getPrototypeOf(found), Object.prototype)
  t.strictSame(Object.getOwnPropertyDescriptor(found, '__proto__')?.value, { total: 'x' })
  t.equal((found as Record<string, unknown>).total, undefined)
})

t.test('unknown fields are named, each once', async t => {
  const bytes = Buffer.concat([
    message(raw(19, 'x'), number(19, 1), raw(1, 'a'), Buffer.concat([tag(20, 5), Buffer.alloc(4)])),
    Buffer.concat([tag(536_870_911, 1), Buffer.alloc(8)]),
    raw(7, [])
  ])
  t.strictSame(readProtobuf(bytes, SEND, LIMITS), {
    ok: true,
    value: { message: { messageId: 'a' } },
    unknown: ['Message field 19', 'Message field 20', 'SendMessageRequest field 536870911', 'SendMessageRequest field 7']
  })
  const many = Buffer.concat(Array.from({ length: 100 }, (_, i) => number(100 + i, 1)))
  const read = readProtobuf(many, SEND, LIMITS)
  t.equal(read.ok && read.unknown.length, 20)
})

t.test('responses may have unknown fields everywhere and numbers of enums without a name, and nothing else', async t => {
  const bytes = data(raw(7, ''), raw(5, [raw(2, ''), entry('a', TEXT, number(8, 1))]))
  t.strictSame(readProtobuf(Buffer.concat([bytes.subarray(0), raw(9, '')]), SEND, LIMITS, true), {
    ok: true,
    value: { message: { parts: [{ data: { a: 'x' } }] } },
    unknown: ['Value field 7', 'Struct field 2', 'Value field 8', 'SendMessageRequest field 9']
  })
  t.equal(readProtobuf(data(raw(7, '')), SEND, LIMITS, true).ok, false, 'a Value of a new kind has no reading')
  t.equal(readProtobuf(part(raw(1, 'a'), raw(8, 'b')), SEND, LIMITS, true).ok, true)
  const others = REJECTED.filter(([, , problem]) => !problem.source.includes('does not define'))
  const accepted = others.filter(([, bytes, , table = SEND]) => readProtobuf(bytes, table, LIMITS, true).ok)
  t.strictSame(accepted.map(([name]) => name), ['an enum without a name', 'a negative enum', 'a state without a name'])
  for (const value of [3, 2 ** 31 - 1, -1]) {
    t.match(readProtobuf(message(number(4, value)), SEND, LIMITS, true), { ok: true, value: { message: { role: String(value) } } })
  }
  for (const value of [2n ** 31n, 2n ** 32n + 1n, -(2n ** 31n) - 1n]) {
    t.match(readProtobuf(message(number(4, value)), SEND, LIMITS, true), { ok: false }, `${value}: readers see other bits`)
  }
})

t.test('limits are those of the same message in JSON', async t => {
  const json: JsonObject = {
    message: {
      messageId: 'm',
      parts: [{ data: [[], [1, 2], { a: { b: [] }, c: {} }] }, { text: 't' }],
      extensions: ['a', 'b'],
      metadata: {}
    },
    metadata: { a: [1] }
  }
  const bytes = writeProtobuf(json, SEND)
  const text = Buffer.from(JSON.stringify(json))
  const limit = (accepts: (limit: number) => boolean): number => Array.from({ length: 100 }, (_, i) => i).find(accepts) as number
  for (const key of ['depth', 'members'] as const) {
    const ofJson = limit(value => parseStrict(text, { ...LIMITS, [key]: value }).ok)
    const ours = limit(value => readProtobuf(bytes, SEND, { ...LIMITS, [key]: value }).ok)
    t.equal(ours, ofJson, key)
    const read = readProtobuf(bytes, SEND, { ...LIMITS, [key]: ours - 1 })
    t.match(read, { ok: false, problem: { kind: key, message: key === 'depth' ? /deeper than \d+ levels/ : /beyond the limit of \d+ members/ } })
  }
})

t.test('messages are nested at most 100 times, as the official runtimes read them', async t => {
  const lists = (depth: number): Buffer => {
    let value = raw(6, [])
    for (let i = 1; i < depth; i++) value = raw(6, [raw(1, [value])])
    return data(value)
  }
  // The request, its message, the part, and two for each list.
  t.equal(readProtobuf(lists(48), SEND, { depth: 512, members: 1_000 }).ok, true)
  t.match(readProtobuf(lists(49), SEND, { depth: 512, members: 1_000 }), { ok: false, problem: { kind: 'depth', message: /deeper than 100 messages/ } })
  t.match(readProtobuf(lists(30), SEND, { depth: 20, members: 1_000 }), { ok: false, problem: { kind: 'depth', message: /deeper than 20 levels/ } })
  t.match(readProtobuf(lists(10_000), SEND, { depth: 512, members: 100_000 }), { ok: false, problem: { kind: 'depth' } })
})

t.test('a flood of small fields ends at the limit of members', async t => {
  const parts = Buffer.concat(Array.from({ length: 100_000 }, () => raw(5, [])))
  const unknown = Buffer.concat(Array.from({ length: 100_000 }, () => number(31, 1)))
  const entries = Buffer.concat(Array.from({ length: 100_000 }, (_, i) => entry(String(i), NULL)))
  const uris = Buffer.concat(Array.from({ length: 100_000 }, () => raw(7, '')))
  const floods: readonly (readonly [string, Buffer])[] = [
    ['parts', message(parts)],
    ['unknown fields', message(unknown)],
    ['unknown fields of the request', Buffer.concat(Array.from({ length: 100_000 }, () => raw(31, '')))],
    ['entries', struct(entries)],
    ['extensions', message(uris)],
    ['elements', data(raw(6, [Buffer.concat(Array.from({ length: 100_000 }, () => raw(1, [NULL])))]))]
  ]
  for (const [name, bytes] of floods) {
    t.match(readProtobuf(bytes, SEND, { depth: 64, members: 5_000 }), { ok: false, problem: { kind: 'members' } }, name)
  }
  const unknownInData = struct(...Array.from({ length: 5_001 }, () => raw(31, '')))
  t.match(readProtobuf(unknownInData, SEND, { depth: 64, members: 5_000 }, true), { ok: false, problem: { kind: 'members' } })
})

t.test('a StreamResponse has at most one result', async t => {
  t.strictSame(readProtobuf(Buffer.alloc(0), STREAM, LIMITS, true), { ok: true, value: {}, unknown: [] })
  const two = Buffer.concat([raw(1, [raw(1, 't')]), raw(3, [raw(1, 't')])])
  t.match(readProtobuf(two, STREAM, LIMITS, true), { ok: false, problem: { kind: 'duplicate', message: /has both "task" and "statusUpdate"/ } })
})
