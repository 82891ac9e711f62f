/** Requests of SendMessage that decoders read differently, or that look as if they could; and their accepted neighbours. */
import type { Version } from '#a2a/versions.js'
import {
  END_GROUP, FIXED32, FIXED64, GROUP, VARINT, doubleField, entry, field, join, list, numberField, struct, tag, value, varint
} from '../../helpers/protobuf-bytes.js'

export type Language = 'python' | 'go' | 'javascript'

/** The agents that read accepted bytes differently all the same, and why that is safe. */
export interface Except { readonly languages: readonly Language[], readonly why: string }

export interface Row {
  readonly name: string
  readonly bytes: Buffer
  /** `reject`: the bytes have two readings, or are no message. `accept`: all readers agree. `either`: no promise, but never misread. */
  readonly ours: 'accept' | 'reject' | 'either'
  readonly except?: Except
  /** The bytes that the gateway forwards in the place of these. Agents read them as the gateway reads `bytes`. */
  readonly forwarded?: Buffer
}

/** The two versions have the same fields with other numbers, but for the contents of a part. */
interface Shape {
  readonly version: Version
  readonly request: { readonly message: number, readonly configuration: number, readonly metadata: number }
  /** The DataPart with these bytes of a Value. 0.3 has a Struct, which holds the Value as member `k`. */
  data (bytes: Buffer): Buffer
  raw (bytes: Buffer): Buffer
  readonly url: Buffer
  /** A field that a part may have beside its content, with a text; and its name. */
  more (text: Buffer | string): Buffer
  readonly moreName: string
}

const MESSAGE = { messageId: 1, contextId: 2, taskId: 3, role: 4, parts: 5, metadata: 6, extensions: 7 }
const CONFIGURATION = { modes: 1, push: 2, historyLength: 3, immediately: 4 }
const USER = 1
const AGENT = 2
const TEXT = 1

const CURRENT = { raw: 2, url: 3, data: 4, filename: 6, mediaType: 7 }
const OLD = { file: 2, data: 3, metadata: 4 }
const OLD_FILE = { uri: 1, bytes: 2, mimeType: 3, name: 4 }
const TENANT = 1

const SHAPES: Readonly<Record<Version, Shape>> = {
  '1.0': {
    version: '1.0',
    request: { message: 2, configuration: 3, metadata: 4 },
    data: bytes => field(CURRENT.data, bytes),
    raw: bytes => field(CURRENT.raw, bytes),
    url: join(field(CURRENT.url, 'https://example.com/a'), field(CURRENT.mediaType, 'text/plain')),
    more: text => field(CURRENT.mediaType, text),
    moreName: 'mediaType'
  },
  0.3: {
    version: '0.3',
    request: { message: 1, configuration: 2, metadata: 3 },
    data: bytes => field(OLD.data, field(1, entry('k', bytes))),
    raw: bytes => field(OLD.file, field(OLD_FILE.bytes, bytes)),
    url: field(OLD.file, join(field(OLD_FILE.uri, 'https://example.com/a'), field(OLD_FILE.mimeType, 'text/plain'))),
    more: text => field(OLD.metadata, field(1, join(field(1, text), field(2, value(1))))),
    moreName: 'metadata of a part'
  }
}

const text = (content: Buffer | string): Buffer => field(TEXT, content)
const part = (...fields: Buffer[]): Buffer => field(MESSAGE.parts, join(...fields))
const head = join(field(MESSAGE.messageId, 'm'), numberField(MESSAGE.role, USER))
const hello = part(text('message'))

const nested = (depth: number): Buffer => {
  let bytes = value('x')
  for (let i = 0; i < depth; i++) bytes = field(6, field(1, bytes))
  return bytes
}
const double = (bits: number[]): Buffer => join(tag(2, FIXED64), Buffer.from(bits))

const accept = (name: string, bytes: Buffer, except?: Except): Row =>
  ({ name, bytes, ours: 'accept', ...except === undefined ? {} : { except } })
const reject = (name: string, bytes: Buffer): Row => ({ name, bytes, ours: 'reject' })

const NO_KIND = Buffer.alloc(0)
/** Bytes with nulls that agents read differently, and the bytes that the gateway forwards: two rows. */
const asNull = (name: string, bytes: Buffer, forwarded: Buffer): Row[] =>
  [{ name, bytes, ours: 'accept', forwarded }, accept(`${name}, explicit`, forwarded)]

const OVERLONG = Buffer.from([0xc0, 0xaf])
const SURROGATE = Buffer.from([0xed, 0xa0, 0x80])
const invalidUtf8 = [['a lone byte', Buffer.from([0xff])], ['overlong', OVERLONG], ['a surrogate', SURROGATE],
  ['a cut character', Buffer.from([0xe2, 0x82])], ['beyond U+10FFFF', Buffer.from([0xf4, 0x90, 0x80, 0x80])]] as const

export const LOST_PROTO: Except = {
  languages: ['javascript'],
  why: 'the gateway reads a key like others, and evaluates it; an agent of this SDK sees no data at all'
}
/** `Part.metadata` and `FilePart.name` are not in proto 0.3.0. The SDKs of Python and Go have added them. */
export const NOT_PUBLISHED: Except = {
  languages: ['javascript'],
  why: 'the gateway evaluates the field; agents of this SDK ignore it'
}

type InMessage = (...fields: Buffer[]) => Buffer

const current = (inMessage: InMessage, whole: Buffer): Row[] => [
  accept('a tenant', join(field(TENANT, 't'), whole)),
  reject('tenant twice', join(field(TENANT, 'a'), whole, field(TENANT, 'b'))),
  accept('a part without content', inMessage(hello, part(field(CURRENT.filename, 'a.txt'))))
]

const old = (inMessage: InMessage, whole: Buffer): Row[] => {
  const file = (...fields: Buffer[]): Buffer => inMessage(hello, part(field(OLD.file, join(...fields))))
  const data = (...fields: Buffer[]): Buffer => inMessage(hello, part(field(OLD.data, join(...fields))))
  const bytes = field(OLD_FILE.bytes, 'a')
  const uri = field(OLD_FILE.uri, 'https://example.com/a')
  return [
    accept('a part without content', inMessage(hello, part())),
    accept('a file without content', file(field(OLD_FILE.mimeType, 'text/plain'))),
    accept('a DataPart without data', data()),
    accept('data without members', data(field(1, ''))),
    accept('metadata of a part', inMessage(hello, part(text('a'), field(OLD.metadata, struct({ a: 1 })))), NOT_PUBLISHED),
    accept('the name of a file', file(bytes, field(OLD_FILE.name, 'a.txt')), NOT_PUBLISHED),
    accept('an unknown number of SendMessageRequest in the place of 1.0', join(whole, numberField(4, 7))),
    accept('the message in the place of 1.0, which is the configuration', field(2, join(head, hello))),
    reject('bytes and an address in a file', file(bytes, uri)),
    reject('an address and bytes in a file', file(uri, bytes)),
    reject('bytes twice in a file', file(bytes, field(OLD_FILE.bytes, 'b'))),
    reject('mimeType twice', file(bytes, field(OLD_FILE.mimeType, 'a/b'), field(OLD_FILE.mimeType, 'c/d'))),
    reject('file twice', inMessage(hello, part(field(OLD.file, bytes), field(OLD.file, uri)))),
    reject('file and data in one part', inMessage(hello, part(field(OLD.file, bytes), field(OLD.data, field(1, struct({ a: 1 })))))),
    reject('data twice in a DataPart', data(field(1, struct({ a: 1 })), field(1, struct({ b: 2 })))),
    reject('a text in the place of data', data(numberField(1, 1))),
    reject('an unknown field of a file', file(bytes, field(5, 'newer'))),
    reject('an unknown field of a DataPart', data(field(1, struct({ a: 1 })), field(2, 'newer'))),
    reject('invalid UTF-8 in mimeType', file(bytes, field(OLD_FILE.mimeType, Buffer.from([0xff])))),
    reject('tag 0 in a DataPart', data(Buffer.from([0]), field(1, struct({ a: 1 })))),
    reject('an end of a group in a file', file(tag(9, END_GROUP), uri))
  ]
}

/** @returns the rows of a version: those that both versions share, then its own */
function rowsOf ({ version, request, data, raw, url, more, moreName }: Shape): Row[] {
  const inMessage = (...fields: Buffer[]): Buffer => field(request.message, join(head, ...fields))
  const whole = inMessage(hello)
  /** The message with a DataPart of these bytes of a Value. */
  const withData = (bytes: Buffer, ...others: Buffer[]): Buffer => inMessage(hello, part(data(bytes), ...others))
  return [
    accept('a message', whole),
    accept('every kind of Value', withData(value({ null: null, n: 1.5, s: 'text', t: true, f: false, o: { a: [] }, l: [1, 'x', null, {}] }))),
    accept('a Value that is a list', withData(value([1, 2]))),
    accept('a Value that is null', withData(value(null))),
    accept('bytes in a part', inMessage(hello, part(raw(Buffer.from([0, 1, 0xff]))))),
    accept('an address in a part', inMessage(hello, part(url))),
    accept('fields in reverse order', field(request.message, join(hello, numberField(MESSAGE.role, USER), field(MESSAGE.messageId, 'm')))),
    accept('metadata of the request and of the message', join(inMessage(hello, field(MESSAGE.metadata, struct({ a: 1 }))), field(request.metadata, struct({ b: [2] })))),
    accept('a configuration', join(whole, field(request.configuration, join(
      field(CONFIGURATION.modes, 'text/plain'), field(CONFIGURATION.modes, 'application/json'), numberField(CONFIGURATION.historyLength, 3))))),
    accept('a negative number', join(whole, field(request.configuration, numberField(CONFIGURATION.historyLength, -1n)))),
    accept('an empty configuration', join(whole, field(request.configuration, ''))),
    accept('a number that is present and zero', join(whole, field(request.configuration, numberField(CONFIGURATION.historyLength, 0)))),
    accept('two URIs as two extensions', inMessage(hello, field(MESSAGE.extensions, 'urn:a'), field(MESSAGE.extensions, 'urn:b'))),
    accept('two URIs in one extension', inMessage(hello, field(MESSAGE.extensions, 'urn:a,urn:b'))),
    accept('an unknown field of Message', inMessage(hello, field(1000, 'new'))),
    accept('an unknown number of SendMessageRequest', join(whole, numberField(15, 7))),
    accept('characters of four bytes', inMessage(part(text('message 🙂 \u0000 end')))),
    accept('a text that is empty', inMessage(hello, part(text('')))),
    accept('__proto__ as key', withData(value(JSON.parse('{"__proto__": {"total": 1}, "a": 2}'))), LOST_PROTO),
    accept('constructor as key', withData(value({ constructor: { prototype: 1 } }))),
    accept('lists in lists, 20 deep', withData(nested(20))),

    // Fields that occur twice.
    reject('message twice', join(whole, field(request.message, part(text('second'))))),
    reject('message twice, role only in the first', join(whole, field(request.message, join(field(MESSAGE.messageId, 'n'), hello)))),
    reject('metadata twice', join(whole, field(request.metadata, struct({ a: 1 })), field(request.metadata, struct({ b: 2 })))),
    reject('metadata of the message twice', inMessage(hello, field(MESSAGE.metadata, struct({ a: 1 })), field(MESSAGE.metadata, struct({ b: 2 })))),
    reject('configuration twice', join(whole, field(request.configuration, numberField(CONFIGURATION.historyLength, 1)),
      field(request.configuration, numberField(CONFIGURATION.immediately, 1)))),
    reject('messageId twice', inMessage(field(MESSAGE.messageId, 'second'), hello)),
    reject('role twice', inMessage(numberField(MESSAGE.role, AGENT), hello)),
    reject(`${moreName} twice`, withData(value(1), more('a/b'), more('c/d'))),
    reject('data twice', withData(value({ a: 1 }), data(value({ b: 2 })))),
    reject('text and data in one part', inMessage(part(text('message'), data(value(1))))),
    reject('data and text in one part', withData(value(1), text('other'))),
    reject('text twice', inMessage(part(text('message'), text('other')))),
    reject('two kinds in a Value', withData(join(value('x'), value(1)))),
    reject('a struct twice in a Value', withData(join(value({ a: 1 }), value({ b: 2 })))),
    reject('a list twice in a Value', withData(join(value([1]), value([2])))),
    reject('a key of a Struct twice', withData(field(5, join(entry('a', value(1)), entry('a', value(2)))))),
    reject('an entry with two keys', withData(field(5, field(1, join(field(1, 'a'), field(1, 'b'), field(2, value(1))))))),
    reject('an entry with two values', withData(field(5, field(1, join(field(1, 'a'), field(2, value({ x: 1 })), field(2, value({ y: 2 }))))))),

    // Values that are missing.
    // The Java SDK 1.2.0 writes null so.
    ...asNull('a Value without a kind', withData(NO_KIND), withData(value(null))),
    ...asNull('a Value without a kind in a list', withData(field(6, join(field(1, NO_KIND), field(1, value(1))))), withData(value([null, 1]))),
    ...asNull('a Value without a kind in a Struct', withData(field(5, join(entry('a', NO_KIND), entry('b', value(1))))), withData(value({ a: null, b: 1 }))),
    ...asNull('a Value without a kind in metadata', inMessage(hello, field(MESSAGE.metadata, entry('a', NO_KIND))), inMessage(hello, field(MESSAGE.metadata, struct({ a: null })))),
    ...asNull('70 Values without a kind, which make lengths longer', withData(field(5, entry('l', field(6, join(...Array.from({ length: 70 }, () => field(1, NO_KIND))))))),
      withData(value({ l: Array.from({ length: 70 }, () => null) }))),
    reject('an entry without value', withData(field(5, field(1, field(1, 'a'))))),

    // Where readers stop.
    reject('tag 0, then a second message', join(whole, Buffer.from([0]), field(request.message, hello))),
    reject('tag 0 in the message, then a part', inMessage(hello, Buffer.from([0]), part(text('after')))),
    reject('tag 0 in a part', inMessage(part(text('message'), Buffer.from([0]), more('a/b')))),
    reject('field number 0 with a length', join(whole, Buffer.from([2, 0]))),
    reject('an end of a group, then metadata', join(whole, tag(9, END_GROUP), field(request.metadata, struct({ a: 1 })))),
    reject('an end of a group in the message', inMessage(hello, tag(9, END_GROUP), part(text('after')))),
    reject('a group', join(whole, tag(9, GROUP), numberField(1, 1), tag(9, END_GROUP))),
    reject('a group around the message', join(tag(9, GROUP), whole, tag(9, END_GROUP), whole)),
    reject('a group without an end', join(whole, tag(9, GROUP), numberField(1, 1))),
    reject('half a field at the end', whole.subarray(0, -3)),
    reject('a length beyond the end', join(whole, tag(request.metadata, 2), varint(100))),
    reject('a field longer than its message', field(request.message, join(head, tag(MESSAGE.parts, 2), varint(50), text('message')))),

    // Text that is not UTF-8.
    ...invalidUtf8.map(([name, bytes]) => reject(`${name} in text`, inMessage(part(text(join(Buffer.from('message'), bytes)))))),
    ...invalidUtf8.map(([name, bytes]) => reject(`${name} in a string of a Value`, withData(field(3, bytes)))),
    ...invalidUtf8.map(([name, bytes]) => reject(`${name} in a key`, withData(field(5, field(1, join(field(1, bytes), field(2, value(1)))))))),
    reject('invalid UTF-8 in an extension', inMessage(hello, field(MESSAGE.extensions, Buffer.from([0x75, 0xff])))),
    reject(`invalid UTF-8 in ${moreName}`, withData(value(1), more(Buffer.from([0xff])))),

    // Other wire types and other spellings of numbers.
    reject('a number where text belongs', inMessage(hello, numberField(MESSAGE.contextId, 5))),
    reject('text where a number belongs', field(request.message, join(field(MESSAGE.messageId, 'm'), field(MESSAGE.role, 'x'), hello))),
    reject('fixed32 where a number belongs', inMessage(hello, tag(MESSAGE.role, FIXED32), Buffer.alloc(4, 1))),
    reject('a number where a message belongs', join(numberField(request.message, 1), whole)),
    reject('a tag with a superfluous byte', join(varint((request.message << 3) | 2, 1), varint(whole.length - 2), whole.subarray(2))),
    reject('a length with a superfluous byte', join(tag(request.message, 2), varint(whole.length - 2, 1), whole.subarray(2))),
    reject('an enum with a superfluous byte', field(request.message, join(field(MESSAGE.messageId, 'm'), tag(MESSAGE.role, VARINT), varint(USER, 2), hello))),
    reject('a number of eleven bytes', join(whole, tag(15, VARINT), Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]))),
    reject('a number beyond 32 bits', join(whole, field(request.configuration, numberField(CONFIGURATION.historyLength, 2n ** 32n + 5n)))),
    reject('a negative number of five bytes', join(whole, field(request.configuration, numberField(CONFIGURATION.historyLength, 0xffff_ffff)))),
    reject('an enum without a name', field(request.message, join(field(MESSAGE.messageId, 'm'), numberField(MESSAGE.role, 99), hello))),
    reject('a negative enum', field(request.message, join(field(MESSAGE.messageId, 'm'), numberField(MESSAGE.role, -1n), hello))),
    reject('an enum beyond 32 bits', field(request.message, join(field(MESSAGE.messageId, 'm'), numberField(MESSAGE.role, 2n ** 32n + 1n), hello))),
    reject('a bool of 2', withData(numberField(4, 2))),
    reject('a bool of 2³²', withData(numberField(4, 2n ** 32n))),
    reject('returnImmediately of 2³²', join(whole, field(request.configuration, numberField(CONFIGURATION.immediately, 2n ** 32n)))),
    reject('a null that is not zero', withData(numberField(1, 7))),
    reject('a tag of a field number beyond 2²⁹', join(whole, varint(2n ** 32n + BigInt((request.metadata << 3) | 2)), varint(0))),

    // Numbers that JSON cannot express.
    reject('NaN', withData(doubleField(2, NaN))),
    reject('Infinity', withData(doubleField(2, Infinity))),
    reject('-Infinity in a list', withData(field(6, field(1, doubleField(2, -Infinity))))),
    reject('NaN with a payload', withData(double([1, 0, 0, 0, 0, 0, 0xf8, 0x7f]))),

    // Fields that a newer agent could read instead of those that the gateway reads.
    reject('an unknown field of Part', inMessage(part(text('message'), field(8, 'newer')))),
    reject('an unknown field of Value', withData(join(value('x'), field(7, 'newer')))),
    reject('an unknown field of Struct', withData(field(5, join(struct({ a: 1 }), field(2, 'newer'))))),
    reject('an unknown field of ListValue', withData(field(6, join(list([1]), field(2, 'newer'))))),
    reject('an unknown field of an entry', withData(field(5, field(1, join(field(1, 'a'), field(2, value(1)), field(3, 'newer')))))),

    // Depth.
    reject('lists in lists, 60 deep', withData(nested(60))),
    reject('lists in lists, 5,000 deep', withData(nested(5_000))),
    reject('no bytes of a message, but of JSON', Buffer.from('{"message":{"messageId":"m"}}')),

    { name: 'an entry with its value before its key', bytes: withData(field(5, field(1, join(field(2, value(1)), field(1, 'a'))))), ours: 'either' },
    ...version === '1.0' ? current(inMessage, whole) : old(inMessage, whole)
  ]
}

export const ROWS: Readonly<Record<Version, readonly Row[]>> = { '1.0': rowsOf(SHAPES['1.0']), 0.3: rowsOf(SHAPES['0.3']) }
