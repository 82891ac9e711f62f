/**
 * Tables of protobuf messages: the part of a `.proto` file that a reader needs. A row names its field as ProtoJSON does. Field types that
 * A2A does not use have no row type (64-bit integers, floats, repeated numbers): a test compares the tables with the `.proto` files.
 */

/** Wire types (protobuf encoding, "Message structure"). Groups (3 and 4) are rejected everywhere. */
export const VARINT = 0
export const FIXED64 = 1
export const BYTE_RUN = 2
export const FIXED32 = 5

/** Types of fields. `STRUCT`, `VALUE` and `TIMESTAMP` are messages that ProtoJSON writes in a form of their own. */
export const TEXT = 0
export const BYTES = 1
export const BOOL = 2
export const INT32 = 3
export const ENUM = 4
export const MESSAGE = 5
export const STRUCT = 6
export const VALUE = 7
export const TIMESTAMP = 8

/** A field, as tables write it. */
export interface FieldSpec {
  readonly number: number
  readonly type: number
  readonly shape?: 'list' | 'map'
  /** True for `optional` fields: a value that equals the default is present. */
  readonly optional?: boolean
  /** Name of the field's oneof. */
  readonly oneof?: string
  /** Names of an enum, by number. */
  readonly names?: readonly string[]
  readonly table?: MessageTable
}

export const text = (number: number): FieldSpec => ({ number, type: TEXT })
export const bytes = (number: number): FieldSpec => ({ number, type: BYTES })
export const bool = (number: number): FieldSpec => ({ number, type: BOOL })
export const int32 = (number: number): FieldSpec => ({ number, type: INT32 })
/** @param names of the enum, by number from 0 */
export const enumeration = (number: number, names: readonly string[]): FieldSpec => ({ number, type: ENUM, names })
export const struct = (number: number): FieldSpec => ({ number, type: STRUCT })
export const value = (number: number): FieldSpec => ({ number, type: VALUE })
export const timestamp = (number: number): FieldSpec => ({ number, type: TIMESTAMP })
export const message = (number: number, table: MessageTable): FieldSpec => ({ number, type: MESSAGE, table })
export const optional = (field: FieldSpec): FieldSpec => ({ ...field, optional: true })
export const list = (field: FieldSpec): FieldSpec => ({ ...field, shape: 'list' })
/** A map from strings. @param field type of its values */
export const map = (field: FieldSpec): FieldSpec => ({ ...field, shape: 'map' })
export const oneOf = (oneof: string, field: FieldSpec): FieldSpec => ({ ...field, oneof })

/** A field, prepared for the readers. All rows have the same shape, so that reading stays monomorphic. */
export interface FieldRow {
  readonly number: number
  /** Name in ProtoJSON. */
  readonly name: string
  readonly type: number
  /** Number and wire type, as on the wire. */
  readonly tag: number
  readonly list: boolean
  readonly map: boolean
  /** The value that ProtoJSON omits; undefined when every value is present. */
  readonly omitted: unknown
  /** One bit for each field, or for each oneof, so that a second one is seen. 0 for lists and maps. */
  readonly bit: number
  readonly oneof: string | null
  readonly names: readonly string[]
  /** Null unless `type` is MESSAGE. */
  readonly table: MessageTable | null
}

export class MessageTable {
  /** Name in the `.proto` file. */
  readonly name: string
  /**
   * True when an unknown field may change the meaning of the known ones, for example as another member of a oneof. Requests with such a
   * field are rejected.
   */
  readonly closed: boolean
  /** Rows by number of the field. */
  readonly rows: readonly (FieldRow | undefined)[]
  /** Rows by name in ProtoJSON, in the order of the numbers. */
  readonly names: ReadonlyMap<string, FieldRow>

  /** @param fields by name in ProtoJSON */
  constructor (name: string, fields: Readonly<Record<string, FieldSpec>>, closed = false) {
    this.name = name
    this.closed = closed
    const bits = new Map<string, number>()
    const rows: (FieldRow | undefined)[] = [undefined]
    for (const [field, spec] of Object.entries(fields)) rows[spec.number] = rowOf(field, spec, bits)
    this.rows = Array.from(rows)
    this.names = new Map(this.rows.flatMap(row => row === undefined ? [] : [[row.name, row]]))
  }
}

function rowOf (name: string, spec: FieldSpec, bits: Map<string, number>): FieldRow {
  const { number, type, shape, oneof = null, names = NONE, table = null } = spec
  const group = oneof === null ? `field ${name}` : `oneof ${oneof}`
  const bit = bits.get(group) ?? 1 << bits.size
  bits.set(group, bit)
  const explicit = shape !== undefined || oneof !== null || spec.optional === true || type >= MESSAGE
  return {
    number,
    name,
    type,
    tag: number * 8 + (shape === undefined && (type === BOOL || type === INT32 || type === ENUM) ? VARINT : BYTE_RUN),
    list: shape === 'list',
    map: shape === 'map',
    omitted: explicit ? undefined : type === BOOL ? false : type === INT32 ? 0 : type === ENUM ? names[0] : '',
    bit: shape === undefined ? bit : 0,
    oneof,
    names,
    table
  }
}

const NONE: readonly never[] = []
