import type { JsonObject } from '../json/object.js'
import { ProtobufFault } from './fault.js'
import { FieldCursor } from './splice.js'
import type { FieldRow, MessageTable } from './table.js'
import { BOOL, BYTES, ENUM, INT32, STRUCT, TEXT, TIMESTAMP, VALUE } from './table.js'
import { secondsInRange, timestampText } from './timestamp.js'
import { WireReader, wrongWire } from './wire.js'
import type { JsonLimits, JsonProblem } from '../json/json-result.js'

/**
 * `unknown`: each unknown field once, as `Message field 19`; the first twenty of them. `nulls`: the offset of each Value without a kind, if
 * there are any. The value has null there, and `withExplicitNulls` makes all readers read null.
 */
export type ProtobufResult =
  | { readonly ok: true, readonly value: JsonObject, readonly unknown: readonly string[], readonly nulls?: readonly number[] }
  | { readonly ok: false, readonly problem: JsonProblem }

/**
 * Maximum number of messages open at once, with the root. Each JSON level of a Value takes two or three. The protobuf runtimes of C++,
 * Python and Java reject messages that are nested deeper than 100.
 */
export const MAX_NESTED = 100

/**
 * Reads a message into the object that ProtoJSON defines for it. No other reader may read accepted bytes differently. The reader rejects:
 * a singular field that occurs twice and a second member of a oneof (readers merge, replace or take the last); tag 0, groups and known
 * fields with another wire type (readers stop, or skip them); numbers with superfluous bytes or out of range; text that is not UTF-8;
 * NaN and infinity (ProtoJSON has no form for them); enum numbers without a name. A Value without a kind is null, as the Java SDK means it;
 * other readers drop it, so a caller that forwards the message must send `withExplicitNulls`.
 *
 * A value equal to its default is absent, unless the field has presence. The path in a problem names fields as ProtoJSON does.
 * @param limits `depth` and `members` count objects, arrays, members and elements of the ProtoJSON, as `parseStrict` does
 * @param lenient true for responses: unknown fields are accepted in closed messages too, and an enum number without a name is read as its
 *   digits, a name that A2A does not define
 */
export function readProtobuf (bytes: Buffer, table: MessageTable, limits: JsonLimits, lenient = false): ProtobufResult {
  return resultOf(new ProtobufReader(bytes, limits, lenient), table)
}

export function resultOf (reader: ProtobufReader, table: MessageTable): ProtobufResult {
  try {
    const value = reader.root(table)
    const { unknown, nulls } = reader
    return nulls === null ? { ok: true, value, unknown } : { ok: true, value, unknown, nulls }
  } catch (error) {
    if (error instanceof ProtobufFault) return { ok: false, problem: error.problem }
    throw error
  }
}

/** Tags of the messages that Google defines: number and wire type. */
const ENTRY = 0x0a
const KEY = 0x0a
const VALUE_OF_ENTRY = 0x12
const SECONDS = 0x08
const NANOS = 0x10
/** Tags of a Value by number: null, number, text, bool, Struct, ListValue. */
const KINDS: readonly number[] = [0, 0x08, 0x11, 0x1a, 0x20, 0x2a, 0x32]
const TWO_32 = 2 ** 32

export class ProtobufReader extends WireReader {
  /** Offsets of the Values without a kind, ascending; null for none. */
  nulls: number[] | null = null
  private readonly limits: JsonLimits
  private members = 0
  /** Objects and arrays of the ProtoJSON, and messages, that are open. */
  private depth = 0
  private nested = 0

  constructor (bytes: Buffer, limits: JsonLimits, lenient: boolean) {
    super(bytes, lenient)
    this.limits = limits
  }

  /** @throws ProtobufFault */
  root (table: MessageTable): JsonObject {
    return this.message(table, this.bytes.length)
  }

  private message (table: MessageTable, end: number): JsonObject {
    const object: Record<string, unknown> = {}
    const { rows } = table
    let bits = 0
    let row: FieldRow | undefined
    this.openMessage()
    this.openJson()
    try {
      while (this.at < end) {
        const start = this.at
        row = undefined
        const tag = this.tag(end)
        const fieldRow = rows[tag >>> 3]
        this.count(start)
        if (fieldRow === undefined) {
          this.skip(tag, end, start, table.name, table.closed)
          continue
        }
        if (fieldRow.tag !== tag) throw wrongWire(start, tag, fieldRow.tag)
        if ((bits & fieldRow.bit) !== 0) throw secondOne(start, fieldRow, table, object)
        row = fieldRow
        bits |= fieldRow.bit
        if (fieldRow.list) this.element(fieldRow, object, end)
        else if (fieldRow.map) this.entry(fieldRow, object, end)
        else {
          const value = this.field(fieldRow, end)
          if (value !== fieldRow.omitted) object[fieldRow.name] = value
        }
      }
    } catch (error) {
      throw row === undefined || !(error instanceof ProtobufFault) ? error : error.within(row.name)
    }
    this.nested--
    this.depth--
    return object
  }

  private element (row: FieldRow, object: Record<string, unknown>, end: number): void {
    let list = object[row.name] as unknown[] | undefined
    this.openJson()
    // The loop has counted the element. The list itself is one member more.
    if (list === undefined) {
      this.count(this.at)
      object[row.name] = list = []
    }
    try {
      list.push(this.field(row, end))
    } catch (error) {
      throw error instanceof ProtobufFault ? error.within(list.length) : error
    }
    this.depth--
  }

  private entry (row: FieldRow, object: Record<string, unknown>, end: number): void {
    let members = object[row.name] as Record<string, unknown> | undefined
    this.openJson()
    if (members === undefined) {
      this.count(this.at)
      object[row.name] = members = {}
    }
    this.mapEntry(members, this.length(end), row)
    this.depth--
  }

  private field (row: FieldRow, end: number): unknown {
    switch (row.type) {
      case TEXT: return this.text(end)
      case BYTES: {
        const stop = this.length(end)
        const text = this.bytes.toString('base64', this.at, stop)
        this.at = stop
        return text
      }
      case BOOL: return this.bool(end)
      case INT32: return this.int32(end)
      case ENUM: return this.enumName(row, end)
      case STRUCT: return this.struct(this.length(end))
      case VALUE: return this.value(this.length(end))
      case TIMESTAMP: return this.timestamp(this.length(end))
      default: return this.message(row.table as MessageTable, this.length(end))
    }
  }

  private struct (end: number): JsonObject {
    const object: Record<string, unknown> = {}
    const from = this.at
    let entries = 0
    this.openMessage()
    this.openJson()
    while (this.at < end) {
      const start = this.at
      const tag = this.tag(end)
      this.count(start)
      if (tag === ENTRY) {
        this.mapEntry(object, this.length(end), null)
        entries++
      } else if (tag >>> 3 === 1) throw wrongWire(start, tag, ENTRY)
      else this.skip(tag, end, start, 'Struct', true)
    }
    // A key that occurs twice shows as fewer keys: a look-up of each key takes twice the time.
    let keys = 0
    // eslint-disable-next-line @typescript-eslint/no-unused-vars -- Object.keys makes a list
    for (const _ in object) keys++
    if (keys < entries) throw secondKey(this.bytes, from, end)
    this.nested--
    this.depth--
    return object
  }

  /**
   * Reads one entry of a map: the key is field 1, the value field 2, in any order. Writers may leave out an empty key, and the default of a
   * text value. A missing message is read as null by some and as nothing by others.
   * @param row the map; null for the entries of a Struct
   */
  private mapEntry (object: Record<string, unknown>, end: number, row: FieldRow | null): void {
    const from = this.at
    let key = ''
    let value: unknown
    let bits = 0
    this.openMessage()
    try {
      while (this.at < end) {
        const start = this.at
        const tag = this.tag(end)
        if (tag === KEY || tag === VALUE_OF_ENTRY) {
          if ((bits & tag) === tag) throw new ProtobufFault('duplicate', start, 'is an entry with two keys or two values')
          bits |= tag
          if (tag === KEY) key = this.key(end)
          else value = row === null ? this.value(this.length(end)) : this.field(row, end)
        } else if (tag >>> 3 === 1 || tag >>> 3 === 2) {
          throw wrongWire(start, tag, tag >>> 3 === 1 ? KEY : VALUE_OF_ENTRY)
        } else {
          this.skip(tag, end, start, 'an entry of a map', true)
        }
      }
      if ((bits & VALUE_OF_ENTRY) !== VALUE_OF_ENTRY) {
        if (row?.type !== TEXT) throw new ProtobufFault('syntax', from, 'is an entry without a value')
        value = ''
      }
      if (row !== null && Object.hasOwn(object, key)) throw new ProtobufFault('duplicate', from, 'occurs twice')
    } catch (error) {
      throw error instanceof ProtobufFault ? error.within(key) : error
    }
    if (key === '__proto__') Object.defineProperty(object, key, { configurable: true, enumerable: true, writable: true, value })
    else object[key] = value
    this.nested--
  }

  private value (end: number): unknown {
    const from = this.at
    let value: unknown
    let kinds = 0
    this.openMessage()
    while (this.at < end) {
      const start = this.at
      const tag = this.tag(end)
      const number = tag >>> 3
      if (number > 6) {
        this.skip(tag, end, start, 'Value', true)
        continue
      }
      if (KINDS[number] !== tag) throw wrongWire(start, tag, KINDS[number] as number)
      if (kinds++ > 0) throw new ProtobufFault('duplicate', start, 'is a Value with two kinds')
      switch (number) {
        case 1:
          this.number64(end)
          if (this.low !== 0 || this.high !== 0) throw new ProtobufFault('syntax', start, 'is a null with a number other than 0')
          value = null
          break
        case 2: value = this.double(end); break
        case 3: value = this.text(end); break
        case 4: value = this.bool(end); break
        case 5: value = this.struct(this.length(end)); break
        default: value = this.listValue(this.length(end))
      }
    }
    if (kinds === 0) {
      // A newer kind of Value, which a response may have.
      if (end > from) throw new ProtobufFault('syntax', from, 'is a Value of a kind that A2A does not define')
      value = null
      if (this.nulls === null) this.nulls = [from]
      else this.nulls.push(from)
    }
    this.nested--
    return value
  }

  private listValue (end: number): readonly unknown[] {
    const list: unknown[] = []
    this.openMessage()
    this.openJson()
    try {
      while (this.at < end) {
        const start = this.at
        const tag = this.tag(end)
        this.count(start)
        if (tag === ENTRY) list.push(this.value(this.length(end)))
        else if (tag >>> 3 === 1) throw wrongWire(start, tag, ENTRY)
        else this.skip(tag, end, start, 'ListValue', true)
      }
    } catch (error) {
      throw error instanceof ProtobufFault ? error.within(list.length) : error
    }
    this.nested--
    this.depth--
    return list
  }

  private timestamp (end: number): string {
    const from = this.at
    let seconds = 0
    let nanos = 0
    let bits = 0
    this.openMessage()
    while (this.at < end) {
      const start = this.at
      const tag = this.tag(end)
      if (tag !== SECONDS && tag !== NANOS) {
        if (tag >>> 3 <= 2) throw wrongWire(start, tag, tag >>> 3 === 1 ? SECONDS : NANOS)
        this.skip(tag, end, start, 'Timestamp', false)
        continue
      }
      if ((bits & tag) === tag) throw new ProtobufFault('duplicate', start, 'is a Timestamp with two seconds or two nanos')
      bits |= tag
      if (tag === NANOS) nanos = this.int32(end)
      else {
        this.number64(end)
        seconds = this.high * TWO_32 + (this.low >>> 0)
      }
    }
    if (!secondsInRange(seconds) || nanos < 0 || nanos > 999_999_999) {
      throw new ProtobufFault('syntax', from, 'is not a time between the years 1 and 9999')
    }
    this.nested--
    return timestampText(seconds, nanos)
  }

  private enumName (row: FieldRow, end: number): string {
    const start = this.at
    this.number64(end)
    const name = this.high === 0 ? row.names[this.low] : undefined
    if (name !== undefined) return name
    // Readers cut a longer number down to 32 bits, and may find a name for it.
    if (this.lenient && this.high === this.low >> 31) return String(this.low)
    throw new ProtobufFault('syntax', start, 'is a number that A2A does not name')
  }

  private count (start: number): void {
    if (++this.members > this.limits.members) {
      throw new ProtobufFault('members', start, `is beyond the limit of ${this.limits.members} members and elements`)
    }
  }

  private openJson (): void {
    if (++this.depth > this.limits.depth) {
      throw new ProtobufFault('depth', this.at, `is nested deeper than ${this.limits.depth} levels`)
    }
  }

  private openMessage (): void {
    if (++this.nested > MAX_NESTED) throw new ProtobufFault('depth', this.at, `is nested deeper than ${MAX_NESTED} messages`)
  }
}

/** @param from offset of the first entry of a Struct that has been read */
function secondKey (bytes: Buffer, from: number, end: number): ProtobufFault {
  const keys = new Set<string>()
  for (const entry = new FieldCursor(bytes, from, end); entry.next();) {
    if (entry.number !== 1) continue
    let key = ''
    for (const fieldCursor = entry.inside(); fieldCursor.next();) if (fieldCursor.number === 1) key = bytes.toString('utf8', fieldCursor.from, fieldCursor.end)
    if (keys.has(key)) return new ProtobufFault('duplicate', entry.start, 'occurs twice').within(key)
    keys.add(key)
  }
  return new ProtobufFault('duplicate', from, 'has a key that occurs twice')
}

function secondOne (start: number, row: FieldRow, table: MessageTable, object: JsonObject): ProtobufFault {
  const other = row.oneof === null
    ? undefined
    : [...table.names.values()].find(({ bit, name }) => bit === row.bit && name !== row.name && Object.hasOwn(object, name))
  return other === undefined
    ? new ProtobufFault('duplicate', start, 'occurs twice').within(row.name)
    : new ProtobufFault('duplicate', start, `has both "${other.name}" and "${row.name}", of which it may have one`)
}
