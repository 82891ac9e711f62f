/** Protobuf bytes piece by piece, the wrong ones too: no library writes a field twice, or a number in more bytes than needed. */

export const VARINT = 0
export const FIXED64 = 1
export const BYTES = 2
export const GROUP = 3
export const END_GROUP = 4
export const FIXED32 = 5

/** @param padding bytes more than needed: the same number for lenient readers */
export function varint (value: number | bigint, padding = 0): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  for (let i = 0; i < padding; i++) {
    bytes[bytes.length - 1] = (bytes.at(-1) as number) | 0x80
    bytes.push(0)
  }
  return Buffer.from(bytes)
}

export function tag (field: number, wire: number): Buffer {
  return varint((field << 3) | wire)
}

/** A field with a length: a message, text or bytes. */
export function field (number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content as string)
  return Buffer.concat([tag(number, BYTES), varint(bytes.length), bytes])
}

export function numberField (number: number, value: number | bigint): Buffer {
  return Buffer.concat([tag(number, VARINT), varint(value)])
}

export function doubleField (number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return Buffer.concat([tag(number, FIXED64), bytes])
}

export const join = (...parts: Buffer[]): Buffer => Buffer.concat(parts)

/** `google.protobuf.Value` of a JSON value. */
export function value (json: unknown): Buffer {
  if (json === null) return numberField(1, 0)
  switch (typeof json) {
    case 'number': return doubleField(2, json)
    case 'string': return field(3, json)
    case 'boolean': return numberField(4, json ? 1 : 0)
    default: return Array.isArray(json) ? field(6, list(json)) : field(5, struct(json as object))
  }
}

/** `google.protobuf.ListValue` */
export function list (json: readonly unknown[]): Buffer {
  return join(...json.map(one => field(1, value(one))))
}

/** `google.protobuf.Struct` */
export function struct (json: object): Buffer {
  return join(...Object.entries(json).map(([key, one]) => entry(key, value(one))))
}

/** A member of a Struct. */
export function entry (key: string, bytes: Buffer): Buffer {
  return field(1, join(field(1, key), field(2, bytes)))
}
