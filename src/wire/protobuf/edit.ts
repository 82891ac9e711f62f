import { printPath } from '../json/duplicate.js'
import type { JsonEdit } from '../json/edit.js'
import { EditTarget } from '../json/edit.js'
import type { JsonObject } from '../json/object.js'
import { parseJson } from '../json/parse-json.js'
import { FieldCursor, Splice } from './splice.js'
import type { FieldRow, MessageTable } from './table.js'
import { MESSAGE, STRUCT, VALUE } from './table.js'
import { writeElement, writeEntry, writeField, writeMember, writeProtobuf, writeValue } from './write.js'

type Steps = readonly (string | number)[]
type Pieces = readonly Buffer[] | null

const NO_EDITS: readonly never[] = []

/**
 * Edits a message in place, as `editJson` edits the ProtoJSON of the message: the same edits, with the same meaning. Every byte outside the
 * edits stays the same, except for the lengths of the messages around them. Unknown fields stay.
 * @param bytes a message that `readProtobuf` accepts
 * @returns the same buffer when nothing changes
 * @throws TypeError when the message has no place for a value: a member that A2A does not define, a value of another type, or a second
 *   member of a oneof. No edit is lost silently
 */
export function editProtobuf (bytes: Buffer, table: MessageTable, edits: readonly JsonEdit[]): Buffer {
  const root = EditTarget.of(edits)
  if (root.value !== null) return writeProtobuf(parsed(root.value) as JsonObject, table)
  const pieces = new Editor(bytes).message(new FieldCursor(bytes, 0, bytes.length), bytes.length, table, root, NO_EDITS)
  return pieces === null ? bytes : Buffer.concat(pieces)
}

/** Each method edits the fields of one message. It returns the new fields, or null when nothing changes. */
class Editor {
  private readonly bytes: Buffer

  constructor (bytes: Buffer) {
    this.bytes = bytes
  }

  /** @param end offset after the message */
  message (fields: FieldCursor, end: number, table: MessageTable, { inner }: EditTarget, steps: Steps): Pieces {
    const splice = new Splice(this.bytes, fields.end)
    const absent = new Map(inner)
    const containers = new Map<FieldRow, Container>()
    let bits = 0
    while (fields.next()) {
      const row = table.rows[fields.number]
      const target = row === undefined ? undefined : inner.get(row.name)
      if (row === undefined || target === undefined) {
        bits |= row?.bit ?? 0
        continue
      }
      absent.delete(row.name)
      const place = [...steps, row.name]
      if (row.list || row.map) {
        let container = containers.get(row)
        if (container === undefined) containers.set(row, container = new Container(row, target))
        this.occurrence(fields, container, splice, place)
        continue
      }
      const by = newValue(target)
      if (by === null && target.removed) splice.replace(fields, NO_EDITS)
      else {
        bits |= row.bit
        if (by === null) splice.replaceValue(fields, this.inside(fields, row, target, place))
        else splice.replace(fields, [writeField(row, parsed(by), place)])
      }
    }
    for (const { row, absent } of containers.values()) {
      for (const [key, value] of made(absent)) splice.append(writeEntry(row, key, value, [...steps, row.name, key]), end)
    }
    for (const [name, value] of made(absent)) {
      const row = table.names.get(name)
      if (row === undefined) throw new TypeError(`${printPath([...steps, name])} is not a field of ${table.name}`)
      if ((bits & row.bit) !== 0) {
        throw new TypeError(
        `${printPath([...steps, name])} occurs together with another member of "${row.oneof}"`
        )
      }
      bits |= row.bit
      splice.append(writeField(row, value, [...steps, name]), end)
    }
    return splice.result(end)
  }

  /** Edits one element of a list, or one entry of a map. */
  private occurrence (field: FieldCursor, container: Container, splice: Splice, steps: Steps): void {
    const { row, target } = container
    const by = newValue(target)
    const first = container.count++ === 0
    if (by !== null) return splice.replace(field, first ? [writeField(row, parsed(by), steps)] : NO_EDITS)
    if (target.removed) return splice.replace(field, NO_EDITS)
    if (row.map) return this.entry(field, row, container, splice, steps)
    const element = target.inner.get(container.count - 1)
    if (element === undefined) return
    const place = [...steps, container.count - 1]
    if (element.value !== null) splice.replace(field, [writeElement(row, parsed(element.value), place)])
    else if (element.removed) splice.replace(field, NO_EDITS)
    else splice.replaceValue(field, this.inside(field, row, element, place))
  }

  /** Edits one entry of a map or, with `row` null, of a Struct. */
  private entry (field: FieldCursor, row: FieldRow | null, { target, absent }: Entries, splice: Splice, steps: Steps): void {
    const entry = field.inside()
    let key = ''
    let value: FieldCursor | null = null
    while (entry.next()) {
      if (entry.number === 1) key = this.bytes.toString('utf8', entry.from, entry.end)
      else if (entry.number === 2) value = entry.inside()
    }
    const member = target.inner.get(key)
    absent.delete(key)
    if (member === undefined) return
    const place = [...steps, key]
    const by = newValue(member)
    if (by !== null) splice.replace(field, [row === null ? writeMember(key, parsed(by), place) : writeEntry(row, key, parsed(by), place)])
    else if (member.removed) splice.replace(field, NO_EDITS)
    else if (value !== null) {
      const inner = new Splice(this.bytes, field.from)
      for (const part = field.inside(); part.next();) {
        if (part.number !== 2) continue
        inner.replaceValue(part, row === null ? this.value(part, member, place) : this.inside(part, row, member, place))
      }
      splice.replaceValue(field, inner.result(field.end))
    }
  }

  /** Edits the value of a field. Steps into a scalar lead nowhere. */
  private inside (field: FieldCursor, { type, table }: FieldRow, target: EditTarget, steps: Steps): Pieces {
    if (target.inner.size === 0) return null
    if (type === MESSAGE && table !== null) return this.message(field.inside(), field.end, table, target, steps)
    if (type === STRUCT) return this.struct(field, target, steps)
    return type === VALUE ? this.value(field, target, steps) : null
  }

  private struct (field: FieldCursor, target: EditTarget, steps: Steps): Pieces {
    const splice = new Splice(this.bytes, field.from)
    const entries = { target, absent: new Map(target.inner) }
    for (const entry = field.inside(); entry.next();) if (entry.number === 1) this.entry(entry, null, entries, splice, steps)
    for (const [key, value] of made(entries.absent)) splice.append(writeMember(key, value, [...steps, key]), field.end)
    return splice.result(field.end)
  }

  /** Edits a google.protobuf.Value: a Struct, a list, or null, which becomes an object. */
  private value (field: FieldCursor, target: EditTarget, steps: Steps): Pieces {
    if (target.inner.size === 0) return null
    const splice = new Splice(this.bytes, field.from)
    for (const kind = field.inside(); kind.next();) {
      if (kind.number === 5) splice.replaceValue(kind, this.struct(kind, target, steps))
      else if (kind.number === 6) splice.replaceValue(kind, this.list(kind, target, steps))
      else if (kind.number === 1) {
        const object = target.made()
        if (object !== null) splice.replace(kind, [writeValue(parsed(object), steps)])
      }
    }
    return splice.result(field.end)
  }

  private list (field: FieldCursor, { inner }: EditTarget, steps: Steps): Pieces {
    const splice = new Splice(this.bytes, field.from)
    let index = 0
    for (const fieldCursor = field.inside(); fieldCursor.next();) {
      if (fieldCursor.number !== 1) continue
      const target = inner.get(index)
      const place = [...steps, index++]
      if (target === undefined) continue
      if (target.value !== null) splice.replaceValue(fieldCursor, [writeValue(parsed(target.value), place)])
      else if (target.removed) splice.replace(fieldCursor, NO_EDITS)
      else splice.replaceValue(fieldCursor, this.value(fieldCursor, target, place))
    }
    return splice.result(field.end)
  }
}

interface Entries {
  readonly target: EditTarget
  /** Edits of members that have not occurred. */
  readonly absent: Map<string | number, EditTarget>
}

/** A list or a map, whose elements are fields of the message. */
class Container implements Entries {
  readonly row: FieldRow
  readonly target: EditTarget
  readonly absent: Map<string | number, EditTarget>
  /** Elements so far. */
  count = 0

  constructor (row: FieldRow, target: EditTarget) {
    this.row = row
    this.target = target
    // The whole of a list or map that is set or removed has no members to add.
    this.absent = row.map && newValue(target) === null && !target.removed ? new Map(target.inner) : new Map()
  }
}

/** JSON of the member that takes the place of an old one; null for none. */
function newValue (target: EditTarget): Buffer | null {
  return target.value ?? (target.removed ? target.made() : null)
}

/** Members to add, with their values. */
function * made (absent: ReadonlyMap<string | number, EditTarget>): Generator<readonly [string, unknown]> {
  for (const [name, target] of absent) {
    const value = typeof name === 'string' ? target.made() : null
    if (value !== null) yield [name as string, parsed(value)]
  }
}

function parsed (json: Buffer): unknown {
  return parseJson(json)
}
