/**
 * Requests without a message, of both versions: a valid one of each method, and each of its fields damaged in every way that decoders read
 * differently. The fields are those of the `.proto` files.
 */
import { GRPC_SERVICES } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import { VERSIONS } from '#a2a/versions.js'
import type { ProtoField, ProtoFile } from '../../helpers/proto.js'
import { readProto } from '../../helpers/proto.js'
import {
  BYTES, END_GROUP, FIXED32, GROUP, VARINT, doubleField, entry, field, join, numberField, struct, tag, value, varint
} from '../../helpers/protobuf-bytes.js'
import type { Row } from './rows.js'
import { LOST_PROTO } from './rows.js'

export interface RequestRow extends Row {
  /** `/lf.a2a.v1.A2AService/GetTask` */
  readonly path: string
}

type Damage = Omit<Row, 'name'> & { readonly what: string }

const accept = (what: string, bytes: Buffer, except?: Row['except']): Damage =>
  ({ what, bytes, ours: 'accept', ...except === undefined ? {} : { except } })
const reject = (what: string, bytes: Buffer): Damage => ({ what, bytes, ours: 'reject' })

/** Texts that agents read as names of a task and of a configuration. */
function textOf (method: string, { name }: ProtoField): string {
  if (name === 'url') return 'https://example.com/hook'
  if (name === 'parent') return 'tasks/t'
  if (name !== 'name') return `a ${name}`
  return method.includes('Push') ? 'tasks/t/pushNotificationConfigs/c' : 'tasks/t'
}

class MethodRows {
  private readonly file: ProtoFile
  private readonly method: string

  constructor (file: ProtoFile, method: string) {
    this.file = file
    this.method = method
  }

  /** @param inRoot puts the bytes of the message into the request */
  of (message: string, path: string, inRoot: (bytes: Buffer) => Buffer): Damage[] {
    const fields = this.fieldsOf(message)
    const whole = fields.map(one => this.sample(one))
    const at = (what: string): string => path === '' ? what : `${path}: ${what}`
    const rows = [
      ...structure(join(...whole), fields),
      ...fields.flatMap((one, i) => this.damagedField(one, join(...whole.filter((_, other) => other !== i)))
        .map(row => ({ ...row, what: `${one.name}, ${row.what}` })))
    ].map(row => ({ ...row, what: at(row.what), bytes: inRoot(row.bytes) }))
    const nested = fields.flatMap((one, i) => this.file.messages.has(one.type)
      ? this.of(one.type, path === '' ? one.name : `${path}.${one.name}`, bytes =>
        inRoot(join(...whole.filter((_, other) => other !== i), field(one.number, bytes))))
      : [])
    return [...rows, ...nested]
  }

  private fieldsOf (message: string): readonly ProtoField[] {
    return this.file.messages.get(message)?.fields ?? []
  }

  private sample (one: ProtoField): Buffer {
    const { number, type } = one
    switch (type) {
      case 'string': return field(number, textOf(this.method, one))
      case 'int32': return numberField(number, 3)
      case 'bool': return numberField(number, 1)
      case 'google.protobuf.Struct': return field(number, struct({ a: 1 }))
      case 'google.protobuf.Timestamp': return field(number, join(numberField(1, 1_780_000_000), numberField(2, 500_000_000)))
      default: return this.file.enums.has(type)
        ? numberField(number, 2)
        : field(number, join(...this.fieldsOf(type).map(inner => this.sample(inner))))
    }
  }

  /** @param rest the other fields of the message */
  private damagedField (one: ProtoField, rest: Buffer): Damage[] {
    const { number, type } = one
    const once = this.sample(one)
    const rows = [
      ...one.repeated ? [accept('twice', join(once, once))] : [reject('twice', join(once, once)), reject('twice, the second one empty', join(once, emptied(once)))],
      reject('as fixed32', join(tag(number, FIXED32), Buffer.alloc(4, 1)))
    ]
    switch (type) {
      case 'string':
        rows.push(...texts(number, textOf(this.method, one)))
        break
      case 'int32':
        rows.push(...numbers(number))
        break
      case 'bool':
        rows.push(reject('a bool of 2', numberField(number, 2)), reject('a bool of 2³²', numberField(number, 2n ** 32n)), ...spellings(number))
        break
      case 'google.protobuf.Struct':
        rows.push(...structs(number))
        break
      case 'google.protobuf.Timestamp':
        rows.push(...times(number))
        break
      default:
        rows.push(...this.file.enums.has(type) ? enums(number) : [reject('as a number', numberField(number, 1))])
    }
    return rows.map(row => ({ ...row, bytes: join(rest, row.bytes) }))
  }
}

/** The field with no bytes or 0: readers that merge keep the first one, others take the second. All numbers here are under 16. */
function emptied (once: Buffer): Buffer {
  return join(once.subarray(0, 1), Buffer.from([0]))
}

function structure (whole: Buffer, fields: readonly ProtoField[]): Damage[] {
  const known = tag(fields[0]?.number ?? 1, BYTES)
  return [
    accept('whole', whole),
    accept('no bytes', Buffer.alloc(0)),
    accept('an unknown text', join(whole, field(100, 'newer'))),
    accept('an unknown number', join(numberField(15, 7), whole)),
    reject('tag 0 before everything', join(Buffer.from([0]), whole)),
    reject('tag 0 after everything', join(whole, Buffer.from([0]))),
    reject('field number 0 with a length', join(Buffer.from([2, 0]), whole)),
    reject('an end of a group before everything', join(tag(9, END_GROUP), whole)),
    reject('an end of a group after everything', join(whole, tag(9, END_GROUP))),
    reject('a group', join(tag(9, GROUP), numberField(1, 1), tag(9, END_GROUP), whole)),
    reject('a group without an end', join(whole, tag(9, GROUP), numberField(1, 1))),
    reject('wire type 6', join(whole, Buffer.from([(9 << 3) | 6]))),
    reject('a length beyond the end', join(whole, known, varint(100))),
    reject('a tag without a value', join(whole, known)),
    reject('a tag of a field number beyond 2²⁹', join(whole, varint(2n ** 32n + BigInt((100 << 3) | VARINT)), varint(0))),
    reject('an unknown tag with a superfluous byte', join(whole, varint((15 << 3) | VARINT, 1), varint(7))),
    reject('an unknown number of eleven bytes', join(whole, tag(15, VARINT), Buffer.alloc(10, 0x80), Buffer.from([1])))
  ]
}

function spellings (number: number): Damage[] {
  return [
    reject('with a superfluous byte in its tag', join(varint((number << 3) | VARINT, 1), varint(1))),
    reject('with a superfluous byte', join(tag(number, VARINT), varint(1, 1))),
    reject('as text', field(number, 'x'))
  ]
}

function texts (number: number, text: string): Damage[] {
  const utf8 = (what: string, bytes: number[]): Damage => reject(what, field(number, Buffer.from([0x74, ...bytes])))
  return [
    accept('characters of four bytes', field(number, `${text}/🙂`)),
    utf8('a lone byte', [0xff]),
    utf8('overlong', [0xc0, 0xaf]),
    utf8('a surrogate', [0xed, 0xa0, 0x80]),
    utf8('a cut character', [0xe2, 0x82]),
    reject('as a number', numberField(number, 5)),
    reject('with a superfluous byte in its length', join(tag(number, BYTES), varint(1, 1), Buffer.from('x'))),
    reject('with a superfluous byte in its tag', join(varint((number << 3) | BYTES, 1), varint(1), Buffer.from('x')))
  ]
}

function numbers (number: number): Damage[] {
  return [
    accept('negative', numberField(number, -1n)),
    accept('zero', numberField(number, 0)),
    accept('the largest', numberField(number, 2 ** 31 - 1)),
    reject('beyond 32 bits', numberField(number, 2n ** 32n + 5n)),
    reject('negative, of five bytes', numberField(number, 0xffff_ffff)),
    ...spellings(number)
  ]
}

function enums (number: number): Damage[] {
  return [
    accept('zero', numberField(number, 0)),
    reject('without a name', numberField(number, 99)),
    reject('negative', numberField(number, -1n)),
    reject('beyond 32 bits', numberField(number, 2n ** 32n + 2n)),
    ...spellings(number)
  ]
}

function structs (number: number): Damage[] {
  const of = (...entries: Buffer[]): Buffer => field(number, join(...entries))
  const inEntry = (...fields: Buffer[]): Buffer => of(field(1, join(...fields)))
  return [
    accept('empty', of()),
    accept('__proto__ as key', field(number, struct(JSON.parse('{"__proto__": {"total": 1}, "a": 2}') as object)), LOST_PROTO),
    reject('a key twice', of(entry('a', value(1)), entry('a', value(2)))),
    reject('an entry with two keys', inEntry(field(1, 'a'), field(1, 'b'), field(2, value(1)))),
    reject('an entry with two values', inEntry(field(1, 'a'), field(2, value({ x: 1 })), field(2, value({ y: 2 })))),
    reject('an entry without value', inEntry(field(1, 'a'))),
    accept('a Value without a kind', of(entry('a', Buffer.alloc(0)))),
    reject('two kinds in a Value', of(entry('a', join(value('x'), value(1))))),
    reject('NaN', of(entry('a', doubleField(2, NaN)))),
    reject('a null that is not zero', of(entry('a', numberField(1, 7)))),
    reject('an unknown field of Struct', of(entry('a', value(1)), field(2, 'newer'))),
    reject('tag 0 in the Struct', of(Buffer.from([0]), entry('a', value(1)))),
    reject('as a number', numberField(number, 1))
  ]
}

function times (number: number): Damage[] {
  const of = (...fields: Buffer[]): Buffer => field(number, join(...fields))
  return [
    accept('empty', of()),
    accept('before 1970', of(numberField(1, -1n))),
    accept('of milliseconds', of(numberField(1, 1), numberField(2, 1_000_000))),
    reject('seconds twice', of(numberField(1, 1), numberField(1, 2))),
    reject('nanoseconds twice', of(numberField(1, 1), numberField(2, 1), numberField(2, 2_000_000))),
    reject('negative nanoseconds', of(numberField(1, 1), numberField(2, -1n))),
    reject('a thousand million nanoseconds', of(numberField(1, 1), numberField(2, 1_000_000_000))),
    reject('beyond the year 9999', of(numberField(1, 253_402_300_800n))),
    reject('before the year 1', of(numberField(1, -62_135_596_801n))),
    reject('seconds as text', of(field(1, '1'))),
    reject('seconds with a superfluous byte', of(tag(1, VARINT), varint(1, 1))),
    reject('tag 0 in the time', of(Buffer.from([0]), numberField(1, 1))),
    reject('as a number', numberField(number, 1))
  ]
}

const FILES: Readonly<Record<Version, '0.3.0' | 'head'>> = { 0.3: '0.3.0', '1.0': 'head' }

export const REQUEST_ROWS: readonly RequestRow[] = VERSIONS.flatMap(version => {
  const file = readProto(FILES[version])
  return file.methods.filter(({ request }) => request !== 'SendMessageRequest').flatMap(({ name, request }) =>
    new MethodRows(file, name).of(request, '', bytes => bytes).map(({ what, ...row }) =>
      ({ ...row, name: `${version} ${name}: ${what}`, path: `/${GRPC_SERVICES[version]}/${name}` })))
})
