/** Steps over the fields of a valid message, and puts new bytes in their place. */
import { BYTE_RUN, FIXED64, VARINT } from './table.js'
import { varint } from './varint.js'

/** One field after another of a message that `readProtobuf` accepts. */
export class FieldCursor {
  number = 0
  /** Offset of the tag. */
  start = 0
  /** Offset of the value, after the length. */
  from = 0
  end: number
  /** Offset of the length, for fields that have one. */
  lengthAt = 0
  readonly bytes: Buffer
  private readonly stop: number
  private at = 0

  /** @param start offset of the first field. @param stop offset after the last field */
  constructor (bytes: Buffer, start: number, stop: number) {
    this.bytes = bytes
    this.stop = stop
    this.end = start
  }

  /** A cursor over the fields of the current value. */
  inside (): FieldCursor {
    return new FieldCursor(this.bytes, this.from, this.end)
  }

  /** @returns false at the end */
  next (): boolean {
    this.start = this.at = this.end
    if (this.start >= this.stop) return false
    const tag = this.number32()
    this.number = tag >>> 3
    this.lengthAt = this.from = this.at
    switch (tag & 7) {
      case VARINT:
        this.number32()
        this.end = this.at
        break
      case BYTE_RUN: {
        const length = this.number32()
        this.from = this.at
        this.end = this.at + length
        break
      }
      default: this.end = this.from + ((tag & 7) === FIXED64 ? 8 : 4)
    }
    return true
  }

  /** Reads a number. The value is meaningful up to 32 bits. */
  private number32 (): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] as number
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
  }
}

/** The pieces of an edited message. */
export class Splice {
  private readonly bytes: Buffer
  private readonly pieces: Buffer[] = []
  /** Offset after the last byte that was kept or replaced. */
  private at: number
  private changed = false

  constructor (bytes: Buffer, start: number) {
    this.bytes = bytes
    this.at = start
  }

  /** Puts bytes in the place of a field. @param by empty to remove the field */
  replace ({ start, end }: FieldCursor, by: readonly Buffer[]): void {
    this.take(start, end, by)
  }

  /** Puts bytes in the place of a field's value; the length follows. @param by null to keep the value */
  replaceValue ({ lengthAt, end }: FieldCursor, by: readonly Buffer[] | null): void {
    if (by === null) return
    let length = 0
    for (const piece of by) length += piece.length
    this.take(lengthAt, end, [varint(length), ...by])
  }

  append (piece: Buffer, end: number): void {
    this.take(end, end, [piece])
  }

  /** @param end offset after the message. @returns null when nothing has changed */
  result (end: number): readonly Buffer[] | null {
    return this.changed ? [...this.pieces, this.bytes.subarray(this.at, end)] : null
  }

  private take (start: number, end: number, by: readonly Buffer[]): void {
    this.changed = true
    this.pieces.push(this.bytes.subarray(this.at, start))
    for (const piece of by) this.pieces.push(piece)
    this.at = end
  }
}
