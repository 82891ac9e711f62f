import { printPath } from '../json/duplicate.js'
import type { JsonObject } from '../json/object.js'
import { isObject, own } from '../json/object.js'
import type { FieldRow, MessageTable } from './table.js'
import { BOOL, BYTE_RUN, BYTES, ENUM, INT32, STRUCT, TEXT, TIMESTAMP, VALUE } from './table.js'
import { readTimestamp } from './timestamp.js'
import { signedVarint, varint } from './varint.js'

type Steps = readonly (string | number)[]

const ROOT: Steps = []
const NO_BYTES = Buffer.alloc(0)

/**
 * Writes an object in ProtoJSON as a message: fields in the order of their numbers, and no value that equals its default. Members have the
 * names that `readProtobuf` gives them; null is absent.
 * @throws TypeError with the path of a value that the message cannot hold
 */
export function writeProtobuf (value: JsonObject, table: MessageTable): Buffer {
  return messageOf(value, table, ROOT)
}

/**
 * Writes one field with its tag; all elements of a list, all entries of a map.
 * @param steps path of the value, for the error
 * @throws TypeError with the path of a value that the field cannot hold
 */
export function writeField (row: FieldRow, value: unknown, steps: Steps): Buffer {
  // ProtoJSON reads null as absent, except in a Value.
  if (value === null && (row.type !== VALUE || row.list || row.map)) return NO_BYTES
  if (row.list) {
    if (!Array.isArray(value)) throw unfit(steps, 'must be a list')
    return Buffer.concat(value.map((element, i) => writeElement(row, element, [...steps, i])))
  }
  if (row.map) {
    if (!isObject(value)) throw unfit(steps, 'must be an object')
    return Buffer.concat(Object.keys(value).map(key => writeEntry(row, key, value[key], [...steps, key])))
  }
  return isOmitted(row, value) ? NO_BYTES : writeElement(row, value, steps)
}

/** Writes a value with the tag of its field, whether it is a default or not. */
export function writeElement (row: FieldRow, value: unknown, steps: Steps): Buffer {
  const payload = payloadOf(row, value, steps)
  const tag = varint(row.tag)
  return (row.tag & 7) === BYTE_RUN ? Buffer.concat([tag, varint(payload.length), payload]) : Buffer.concat([tag, payload])
}

/** Writes an entry of a map, with the tag of the map. */
export function writeEntry (row: FieldRow, key: string, value: unknown, steps: Steps): Buffer {
  return byteField(row.number, Buffer.concat([byteField(1, textOf(key, steps)), byteField(2, payloadOf(row, value, steps))]))
}

/** Writes an entry of a Struct, with its tag. */
export function writeMember (key: string, value: unknown, steps: Steps): Buffer {
  return byteField(1, Buffer.concat([byteField(1, textOf(key, steps)), byteField(2, writeValue(value, steps))]))
}

/** Writes a google.protobuf.Value, without tag and length. */
export function writeValue (value: unknown, steps: Steps): Buffer {
  switch (typeof value) {
    case 'string': return byteField(3, textOf(value, steps))
    case 'boolean': return varintField(4, value ? 1 : 0)
    case 'number': {
      if (!Number.isFinite(value)) throw unfit(steps, 'must be a finite number')
      const bytes = Buffer.alloc(9)
      bytes[0] = 0x11
      bytes.writeDoubleLE(value, 1)
      return bytes
    }
    default:
      if (value === null) return varintField(1, 0)
      if (Array.isArray(value)) return byteField(6, Buffer.concat(value.map((entry, i) => byteField(1, writeValue(entry, [...steps, i])))))
      if (!isObject(value)) throw unfit(steps, 'must be a JSON value')
      return byteField(5, structOf(value, steps))
  }
}

/** Writes a length-delimited field: text, bytes or a message. @param number of the field */
export function byteField (number: number, payload: Buffer | string): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
  return Buffer.concat([varint(number * 8 + BYTE_RUN), varint(bytes.length), bytes])
}

/** @param number of the field. @param value an integer from 0 to 2^53 */
export function varintField (number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)])
}

function messageOf (value: unknown, table: MessageTable, steps: Steps): Buffer {
  if (!isObject(value)) throw unfit(steps, 'must be an object')
  const unknown = Object.keys(value).find(key => !table.names.has(key))
  if (unknown !== undefined) throw unfit([...steps, unknown], `is not a field of ${table.name}`)
  const pieces: Buffer[] = []
  let bits = 0
  for (const row of table.names.values()) {
    const member = own(value, row.name)
    if (member === undefined) continue
    const piece = writeField(row, member, [...steps, row.name])
    if (piece.length > 0 && (bits & row.bit) !== 0) {
      throw unfit([...steps, row.name], `occurs together with another member of "${row.oneof}"`)
    }
    if (piece.length > 0) bits |= row.bit
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function structOf (value: unknown, steps: Steps): Buffer {
  if (!isObject(value)) throw unfit(steps, 'must be an object')
  return Buffer.concat(Object.keys(value).map(key => writeMember(key, value[key], [...steps, key])))
}

/** Values of a field that the wire leaves out. */
function isOmitted ({ omitted, type }: FieldRow, value: unknown): boolean {
  return omitted !== undefined && (value === omitted || (type === ENUM && value === 0) || (type === INT32 && value === '0'))
}

/** The value without tag and length. */
function payloadOf (row: FieldRow, value: unknown, steps: Steps): Buffer {
  switch (row.type) {
    case TEXT: return textOf(value, steps)
    case BYTES: return bytesOf(value, steps)
    case BOOL:
      if (typeof value !== 'boolean') throw unfit(steps, 'must be true or false')
      return varint(value ? 1 : 0)
    case INT32: return signedVarint(integerOf(value, steps))
    case ENUM: return varint(enumOf(row, value, steps))
    case STRUCT: return structOf(value, steps)
    case VALUE: return writeValue(value, steps)
    case TIMESTAMP: return timestampOf(value, steps)
    default: return messageOf(value, row.table as MessageTable, steps)
  }
}

function textOf (value: unknown, steps: Steps): Buffer {
  if (typeof value !== 'string') throw unfit(steps, 'must be a string')
  const bytes = Buffer.from(value)
  // UTF-8 has no form for half of a surrogate pair.
  if (value.length !== bytes.length && bytes.toString() !== value) throw unfit(steps, 'must be Unicode text')
  return bytes
}

const BASE_64 = /^[A-Za-z0-9+/_-]*={0,2}$/

function bytesOf (value: unknown, steps: Steps): Buffer {
  if (typeof value !== 'string' || !BASE_64.test(value)) throw unfit(steps, 'must be base64')
  return Buffer.from(value, 'base64')
}

function integerOf (value: unknown, steps: Steps): number {
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
  if (
    typeof number !== 'number' ||
    !Number.isInteger(number) ||
    number !== (number | 0)
  ) throw unfit(steps, 'must be an integer of 32 bits')
  return number
}

function enumOf ({ names }: FieldRow, value: unknown, steps: Steps): number {
  const number = typeof value === 'number' ? value : names.indexOf(value as string)
  if (names[number] === undefined) throw unfit(steps, `must be one of ${names.join(', ')}`)
  return number
}

function timestampOf (value: unknown, steps: Steps): Buffer {
  const time = typeof value === 'string' ? readTimestamp(value) : null
  if (time === null) throw unfit(steps, 'must be a time of RFC 3339 between the years 1 and 9999')
  const { seconds, nanos } = time
  return Buffer.concat([
    ...(seconds === 0 ? [] : [varint(8), signedVarint(seconds)]),
    ...(nanos === 0 ? [] : [varintField(2, nanos)])
  ])
}

function unfit (steps: Steps, what: string): TypeError {
  return new TypeError(`${steps.length === 0 ? 'the message' : printPath(steps)} ${what}`)
}
