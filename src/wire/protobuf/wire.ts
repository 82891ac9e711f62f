/** The strict reader of the wire format: tags, numbers, text, and fields to skip. */
import { isUtf8 } from 'node:buffer'
import { ProtobufFault } from './fault.js'
import { BYTE_RUN, FIXED32, FIXED64, VARINT } from './table.js'

/** Maximum number of unknown fields that are named. */
const MAX_UNKNOWN = 20

/** Text up to this length in bytes is decoded byte by byte: a call into Node's decoder takes longer. */
const SHORT = 24

const NONE: readonly never[] = []

/**
 * Keys of Structs that were read before, by a hash of their bytes. The rows of a table have the same keys again and again. A new string
 * must be found in V8's table of names before it can be a key, and a string that was a key is there (50 kB of rows: 400 µs, not 550).
 */
const KEYS: string[] = new Array<string>(512).fill('')

export class WireReader {
  /** Unknown fields, each once, as `Message field 19`. */
  unknown: readonly string[] = NONE
  protected readonly bytes: Buffer
  protected at = 0
  /** The halves of the number that `number64` has read. */
  protected low = 0
  protected high = 0
  protected readonly lenient: boolean

  /** @param lenient true to accept unknown fields everywhere, and enum numbers without a name */
  constructor (bytes: Buffer, lenient: boolean) {
    this.bytes = bytes
    this.lenient = lenient
  }

  /** Reads a text that is a value. */
  protected text (end: number): string {
    return this.decode(end)
  }

  private decode (end: number): string {
    const { bytes } = this
    const stop = this.length(end)
    const start = this.at
    this.at = stop
    if (stop - start <= SHORT) {
      let text = ''
      let i = start
      for (; i < stop; i++) {
        const byte = bytes[i] as number
        if (byte > 0x7f) break
        text += String.fromCharCode(byte)
      }
      if (i === stop) return text
    }
    const text = bytes.toString('utf8', start, stop)
    // The decoder replaces invalid bytes. A text may also contain the replacement character itself.
    if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, stop))) throw new ProtobufFault('encoding', start, 'is not UTF-8')
    return text
  }

  /** Reads a text that becomes a key. */
  protected key (end: number): string {
    const { bytes } = this
    const start = this.at
    const stop = this.length(end)
    const first = this.at
    const length = stop - first
    let hash = length
    let ascii = 0
    if (length > SHORT) {
      this.at = start
      return this.decode(end)
    }
    for (let i = first; i < stop; i++) {
      const byte = bytes[i] as number
      hash = (Math.imul(hash, 31) + byte) | 0
      ascii |= byte
    }
    const slot = (hash ^ (hash >>> 9)) & 511
    const candidate = KEYS[slot] as string
    if (candidate.length === length && ascii < 0x80) {
      let i = 0
      while (i < length && candidate.charCodeAt(i) === bytes[first + i]) i++
      if (i === length) {
        this.at = stop
        return candidate
      }
    }
    this.at = start
    const text = this.decode(end)
    if (ascii < 0x80) KEYS[slot] = text
    return text
  }

  protected bool (end: number): boolean {
    const start = this.at
    this.number64(end)
    if (this.high !== 0 || (this.low !== 0 && this.low !== 1)) throw new ProtobufFault('syntax', start, 'is a bool other than 0 and 1')
    return this.low === 1
  }

  protected int32 (end: number): number {
    const start = this.at
    this.number64(end)
    if (this.high !== this.low >> 31) throw new ProtobufFault('syntax', start, 'is not an integer of 32 bits')
    return this.low
  }

  protected double (end: number): number {
    const start = this.at
    if (end - start < 8) throw truncated(start)
    this.at = start + 8
    const number = this.bytes.readDoubleLE(start)
    if (!Number.isFinite(number)) throw new ProtobufFault('syntax', start, 'is NaN or infinite')
    return number
  }

  /** Reads the number and the wire type of a field, up to 32 bits. */
  protected tag (end: number): number {
    const start = this.at
    const byte = this.bytes[start] as number
    let tag = byte
    if (byte < 0x80) this.at = start + 1
    else tag = this.number32(end)
    if (tag < 8) throw new ProtobufFault('syntax', start, 'has a field with the number 0')
    return tag
  }

  /** Reads a length. @returns the offset after the bytes that follow */
  protected length (end: number): number {
    const start = this.at
    const byte = this.bytes[start] as number
    let length = byte
    if (start < end && byte < 0x80) this.at = start + 1
    else length = this.number32(end)
    if (length > end - this.at) throw truncated(start)
    return this.at + length
  }

  private number32 (end: number): number {
    const start = this.at
    this.number64(end)
    if (this.high !== 0) throw new ProtobufFault('syntax', start, 'has a tag or a length of more than 32 bits')
    return this.low >>> 0
  }

  /** Reads a number of up to 64 bits into `low` and `high`. */
  protected number64 (end: number): void {
    const { bytes } = this
    const start = this.at
    let at = start
    let low = 0
    let high = 0
    for (let shift = 0; ; shift += 7) {
      if (at >= end) throw truncated(start)
      const byte = bytes[at++] as number
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >>> 4
      } else high |= bits << (shift - 32)
      if (shift === 63 && byte > 1) throw new ProtobufFault('syntax', start, 'has a number of more than 64 bits')
      if (byte < 0x80) {
        if (byte === 0 && shift > 0) throw new ProtobufFault('syntax', start, 'has a number with superfluous bytes')
        break
      }
    }
    this.at = at
    this.low = low
    this.high = high
  }

  /** Skips an unknown field. @param name of the message. @param closed true when the field may change the meaning of known ones */
  protected skip (tag: number, end: number, start: number, name: string, closed: boolean): void {
    if (closed && !this.lenient) {
      throw new ProtobufFault('syntax', start, `has the field ${tag >>> 3}, which A2A does not define for ${name}`)
    }
    switch (tag & 7) {
      case VARINT: this.number64(end); break
      case FIXED64: this.advance(8, end, start); break
      case BYTE_RUN: this.at = this.length(end); break
      case FIXED32: this.advance(4, end, start); break
      default: throw new ProtobufFault('syntax', start, 'has a group, or a field with a wire type that does not exist')
    }
    if (this.unknown.length >= MAX_UNKNOWN) return
    const field = `${name} field ${tag >>> 3}`
    if (!this.unknown.includes(field)) this.unknown = [...this.unknown, field]
  }

  private advance (length: number, end: number, start: number): void {
    if (end - this.at < length) throw truncated(start)
    this.at += length
  }
}

function truncated (start: number): ProtobufFault {
  return new ProtobufFault('syntax', start, 'ends inside a field')
}

export function wrongWire (start: number, tag: number, expected: number): ProtobufFault {
  const what = `has the field ${tag >>> 3} with wire type ${tag & 7} instead of ${expected & 7}`
  return new ProtobufFault('syntax', start, what)
}
