/**
 * Writes the messages of OTLP that spans need, as protobuf. The length of a message is computed before it is written, so that no bytes are
 * moved. The SDK's serializer takes almost three times as long, for a batch at once (docs/contributing/benchmarks.md, "Spans").
 */
import type { AttributeValue } from '@opentelemetry/api'

/** A value, or an item of a list, which can be null. */
type Value = AttributeValue | null | undefined

/** Bytes of a chunk. Larger messages get a chunk of their own. */
const CHUNK = 65_536
/** Longest string that a loop writes; `Buffer.write` has a fixed cost of about as much. */
const SHORT = 64

export class ProtobufWriter {
  /** The current chunk. Bytes before {@link at} do not change any more. */
  bytes: Buffer
  at: number
  /** Start of the message that is being written. */
  private from: number

  /** @param size bytes of the first chunk */
  constructor (size = CHUNK) {
    this.bytes = Buffer.allocUnsafeSlow(size)
    this.at = 0
    this.from = 0
  }

  /** Starts a message that is in one chunk. */
  begin (): void {
    this.from = this.at
  }

  /** Position of the first byte of the message, which may have moved to a new chunk. */
  get start (): number {
    return this.from
  }

  /** Makes room for `size` bytes. */
  reserve (size: number): void {
    if (this.at + size <= this.bytes.length) return
    const written = this.at - this.from
    const chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK, 2 * (written + size)))
    this.bytes.copy(chunk, 0, this.from, this.at)
    this.bytes = chunk
    this.from = 0
    this.at = written
  }

  byte (value: number): void {
    this.bytes[this.at++] = value
  }

  /** @param value an integer from 0 to 2^32 - 1 */
  varint (value: number): void {
    const { bytes } = this
    let rest = value
    while (rest > 0x7f) {
      bytes[this.at++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    bytes[this.at++] = rest
  }

  /** @param size as {@link utf8Size} returns it */
  text (value: string, size: number): void {
    this.varint(size)
    const { bytes } = this
    if (size !== value.length) bytes.write(value, this.at, size, 'utf8')
    else if (size > SHORT) bytes.write(value, this.at, size, 'latin1')
    else for (let i = 0, at = this.at; i < size; i++) bytes[at++] = value.charCodeAt(i)
    this.at += size
  }

  /** @param digits an id: less than 256 hexadecimal digits in lower case */
  hex (digits: string): void {
    const { bytes } = this
    const { length } = digits
    let at = this.at
    bytes[at++] = length >> 1
    for (let i = 0; i < length; i += 2) {
      bytes[at++] = ((DIGITS[digits.charCodeAt(i)] as number) << 4) | (DIGITS[digits.charCodeAt(i + 1)] as number)
    }
    this.at = at
  }

  /** Copies bytes, for which there is room. */
  copy (from: Buffer, start: number, end: number): void {
    this.at += from.copy(this.bytes, this.at, start, end)
  }

  fixed32 (value: number): void {
    this.at = this.bytes.writeUInt32LE(value, this.at)
  }

  /** Writes nanoseconds since the epoch, which a number cannot hold: in two halves. */
  time ([seconds, nanoseconds]: readonly [number, number]): void {
    const high = Math.floor(seconds / 0x10000) * 1e9
    const low = (high % 0x10000) * 0x10000 + (seconds % 0x10000) * 1e9 + nanoseconds
    this.fixed32(low % 0x100000000)
    this.fixed32(Math.floor(high / 0x10000) + Math.floor(low / 0x100000000))
  }

  /** Writes a `KeyValue` as the field of the tag, and makes room for it. */
  attribute (tag: number, name: string, value: AttributeValue): void {
    if (typeof value === 'string' && this.shortAttribute(tag, name, value)) return
    const nameSize = utf8Size(name)
    const content = contentSize(value)
    const valueSize = anySize(value, content)
    const size = 2 + varintSize(nameSize) + nameSize + varintSize(valueSize) + valueSize
    this.reserve(size + 6)
    this.byte(tag)
    this.varint(size)
    this.byte(0x0a)
    this.text(name, nameSize)
    this.byte(0x12)
    this.varint(valueSize)
    this.any(value, content)
  }

  /**
   * Writes most attributes in two thirds of the time: all lengths have one byte, and the text is read once.
   * @returns false when the text is too long or not ASCII; nothing is then written
   */
  private shortAttribute (tag: number, name: string, value: string): boolean {
    const head = keyOf(name)
    const { length } = value
    const size = head.length + 3 + length
    if (size > 0x7f) return false
    this.reserve(2 + size)
    const { bytes } = this
    let at = this.at
    bytes[at++] = tag
    bytes[at++] = size
    for (let i = 0; i < head.length; i++) bytes[at++] = head[i] as number
    bytes[at++] = 2 + length
    bytes[at++] = 0x0a
    bytes[at++] = length
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) return false
      bytes[at++] = code
    }
    this.at = at
    return true
  }

  /** Writes an `AnyValue`. @param content as {@link contentSize} returns it */
  private any (value: Value, content: number): void {
    if (typeof value === 'string') {
      this.byte(0x0a)
      this.text(value, content)
    } else if (typeof value === 'number') {
      this.number(value)
    } else if (typeof value === 'boolean') {
      this.byte(0x10)
      this.byte(value ? 1 : 0)
    } else if (Array.isArray(value)) {
      this.byte(0x2a)
      this.varint(content)
      for (const item of value) {
        const itemContent = contentSize(item)
        this.byte(0x0a)
        this.varint(anySize(item, itemContent))
        this.any(item, itemContent)
      }
    }
  }

  private number (value: number): void {
    if (!isInt64(value)) {
      this.byte(0x21)
      this.at = this.bytes.writeDoubleLE(value, this.at)
      return
    }
    this.byte(0x18)
    if (isUint32(value)) return this.varint(value)
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 0x7fn; rest >>= 7n) this.byte(Number(rest & 0x7fn) | 0x80)
    this.byte(Number(rest))
  }
}

/** Values of hexadecimal digits in lower case, by character code. */
const DIGITS = Uint8Array.from({ length: 103 }, (_none, code) => Math.max(0, '0123456789abcdef'.indexOf(String.fromCharCode(code))))

/** Encoded names of attributes. The gateway has few, and policies add some. */
const keys = new Map<string, Buffer>()
const KEYS = 1_024

/** @returns the field `key` of a `KeyValue`, and the tag of the field `value` */
function keyOf (name: string): Buffer {
  const buffer = keys.get(name)
  if (buffer !== undefined) return buffer
  const writer = new ProtobufWriter(7 + Buffer.byteLength(name))
  writer.byte(0x0a)
  writer.text(name, Buffer.byteLength(name))
  writer.byte(0x12)
  const key = writer.bytes.subarray(0, writer.at)
  if (keys.size >= KEYS) keys.clear()
  keys.set(name, key)
  return key
}

/** Size of a value without its tag and, for strings and lists, without its length. */
function contentSize (value: Value): number {
  if (typeof value === 'string') return utf8Size(value)
  if (typeof value === 'number') return !isInt64(value) ? 8 : isUint32(value) ? varintSize(value) : longVarintSize(value)
  if (typeof value === 'boolean') return 1
  let size = 0
  for (const item of value ?? []) {
    const itemSize = anySize(item, contentSize(item))
    size += 1 + varintSize(itemSize) + itemSize
  }
  return size
}

/** Size of an `AnyValue`. @param content as {@link contentSize} returns it */
function anySize (value: Value, content: number): number {
  if (value === null || value === undefined) return 0
  return 1 + (typeof value === 'string' || Array.isArray(value) ? varintSize(content) : 0) + content
}

export function utf8Size (value: string): number {
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) > 0x7f) return Buffer.byteLength(value)
  return value.length
}

/** @param value an integer from 0 to 2^32 - 1 */
export function varintSize (value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5
}

/** Size of an integer outside of 32 bits. A negative one has ten bytes. */
function longVarintSize (value: number): number {
  let size = 0
  for (let rest = BigInt.asUintN(64, BigInt(value)); rest > 0n; rest >>= 7n) size++
  return size
}

const isUint32 = (value: number): boolean => value >= 0 && value <= 0xffffffff
const isInt64 = (value: number): boolean => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
