/** Messages of a table in ProtoJSON, in the form that writers of protobuf produce, and bytes that no writer produces. */
import fc from 'fast-check'
import { anyText } from './any-text.js'
import type { Random } from '../fuzz/engine/random.js'
import type { JsonObject } from '#wire/json/object.js'
import { BOOL, BYTES, ENUM, INT32, MESSAGE, STRUCT, TEXT, TIMESTAMP, VALUE } from '#wire/protobuf/table.js'
import type { FieldRow, MessageTable } from '#wire/protobuf/table.js'
import { writeElement } from '#wire/protobuf/write.js'

/** Text around the length at which the reader changes its decoder, in one, two, three and four bytes per character. */
export const texts = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 8 }) },
  { weight: 2, arbitrary: fc.string({ minLength: 20, maxLength: 30 }) },
  { weight: 2, arbitrary: anyText({ maxLength: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom('\ufffd', '\ufeff', '\u0000', 'constructor', 'toString', '0', '1', `${'a'.repeat(23)}é`, '\ufffd'.repeat(12)) }
)

/** JSON values that a Value holds. */
export function values (keys: fc.Arbitrary<string> = texts): fc.Arbitrary<unknown> {
  return fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      texts,
      fc.array(tie('value'), { maxLength: 4 }),
      objects(keys, tie('value'))
    )
  })).value
}

/** `__proto__` becomes an own member. */
function objects (keys: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>): fc.Arbitrary<JsonObject> {
  return fc.array(fc.tuple(keys, value), { maxLength: 4 }).map(members => Object.fromEntries(members))
}

const times = fc.tuple(
  fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }),
  fc.constantFrom('', '.001', '.120', '.000001', '.123456', '.000000001', '.123456789')
).map(([seconds, fraction]) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}${fraction}Z`)

/**
 * Messages of a table. Absent are values that equal their default, empty lists and empty maps, as in ProtoJSON.
 * @param keys of objects in data
 */
export function messages (table: MessageTable, keys: fc.Arbitrary<string> = texts): fc.Arbitrary<JsonObject> {
  const known = CACHE.get(table)
  if (known !== undefined && keys === texts) return known
  const rows = [...table.names.values()]
  const singles = rows.filter(row => row.oneof === null)
  const oneofs = [...new Set(rows.flatMap(row => row.oneof ?? []))].map(name => rows.filter(row => row.oneof === name))
  const fields = Object.fromEntries(singles.map(row => [row.name, field(row, keys)]))
  const members = fc.record(fields, { requiredKeys: [], noNullPrototype: true })
  const chosen = oneofs.map(group => fc.option(fc.oneof(...group.map(row => field(row, keys).map(value => ({ [row.name]: value }))))))
  const found = fc.tuple(members, ...chosen).map(([object, ...others]) => pruned(table, Object.assign({}, object, ...others) as JsonObject))
  if (keys === texts) CACHE.set(table, found)
  return found
}

const CACHE = new Map<MessageTable, fc.Arbitrary<JsonObject>>()

function field (row: FieldRow, keys: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const one = single(row, keys)
  if (row.list) return fc.array(one, { maxLength: 3 })
  return row.map ? objects(keys, one) : one
}

function single ({ type, names, table }: FieldRow, keys: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  switch (type) {
    case TEXT: return texts
    case BYTES: return fc.uint8Array({ maxLength: 12 }).map(bytes => Buffer.from(bytes).toString('base64'))
    case BOOL: return fc.boolean()
    case INT32: return fc.oneof(fc.integer(), fc.constantFrom(0, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)))
    case ENUM: return fc.constantFrom(...names)
    case TIMESTAMP: return times
    case STRUCT: return objects(keys, values(keys))
    case MESSAGE: return messages(table as MessageTable, keys)
    default: return values(keys)
  }
}

/** Leaves out what ProtoJSON leaves out. Also for the result of an edit of the JSON, in which null and empty lists may be left. */
export function pruned (table: MessageTable, object: JsonObject): JsonObject {
  const kept: Record<string, unknown> = {}
  for (const row of table.names.values()) {
    const value = object[row.name]
    if (value === undefined || (value === null && row.type !== VALUE) || value === row.omitted) continue
    if ((row.list || row.map) && Object.keys(value as object).length === 0) continue
    if (row.table === null) kept[row.name] = value
    else if (row.list) kept[row.name] = (value as JsonObject[]).map(one => pruned(row.table as MessageTable, one))
    else if (row.map) {
      const inner = row.table
      const entries = Object.entries(value as Record<string, JsonObject>)
      kept[row.name] = Object.fromEntries(entries.map(([key, one]) => [key, pruned(inner, one)]))
    } else kept[row.name] = pruned(row.table, value as JsonObject)
  }
  return kept
}

/**
 * Writes a message as other writers may: fields in any order, elements of lists between other fields, defaults written, unknown fields.
 * @param marks receives the bytes of the unknown fields
 */
export function scrambled (table: MessageTable, object: JsonObject, random: Random, marks: Buffer[] = []): Buffer {
  const queues: Buffer[][] = []
  for (const row of table.names.values()) {
    const value = object[row.name]
    if (value === undefined) {
      if (row.omitted !== undefined && random.chance(4)) queues.push([writeElement(row, row.omitted, [])])
    } else if (row.map) {
      const entries = Object.entries(value as JsonObject)
      queues.push(entries.map(([key, one]) => raw(row.number, [raw(1, key), ofRow(row, one, random, marks, 2)])))
    } else queues.push((row.list ? value as unknown[] : [value]).map(one => ofRow(row, one, random, marks, row.number)))
  }
  if (!table.closed && random.chance(2)) {
    const mark = raw(900 + random.below(90), `unknown ${marks.length}`)
    marks.push(mark)
    queues.push([mark])
  }
  const fields: Buffer[] = []
  for (let left = queues.filter(queue => queue.length > 0); left.length > 0; left = left.filter(queue => queue.length > 0)) {
    fields.push(random.pick(left).shift() as Buffer)
  }
  return Buffer.concat(fields)
}

function ofRow (row: FieldRow, value: unknown, random: Random, marks: Buffer[], field: number): Buffer {
  if (row.table !== null) return raw(field, scrambled(row.table, value as JsonObject, random, marks))
  return writeElement({ ...row, tag: field * 8 + (row.tag & 7) }, value, [])
}

/** Writes one field as it is, without any check. */
export function raw (number: number, payload: Buffer | string | readonly Buffer[]): Buffer {
  const bytes = Array.isArray(payload) ? Buffer.concat(payload) : Buffer.from(payload as string)
  return Buffer.concat([tag(number, 2), count(bytes.length), bytes])
}

/** A field that holds a number. */
export function number (field: number, value: bigint | number): Buffer {
  return Buffer.concat([tag(field, 0), count(value)])
}

export function double (field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return Buffer.concat([tag(field, 1), bytes])
}

export function tag (field: number, wire: number): Buffer {
  return count(BigInt(field) * 8n + BigInt(wire))
}

/** A number in the fewest bytes. */
export function count (value: bigint | number): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}
