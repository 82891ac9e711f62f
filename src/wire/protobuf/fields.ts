/** Writes fields of protocol buffers (protobuf.dev, "Encoding"). */

const VARINT = 0
const LENGTH_DELIMITED = 2

/** Collects the fields of one message. Fields without a value are written too: the caller leaves defaults out. */
export class FieldWriter {
  /** Bytes written so far. */
  size = 0
  private readonly pieces: Buffer[] = []

  /** @param value not negative, at most 2⁵³ - 1 */
  varint (field: number, value: number): this {
    return this.add(varintBytes(field * 8 + VARINT)).add(varintBytes(value))
  }

  /** @param value bytes of a string, of `bytes`, or of a message */
  bytes (field: number, value: Buffer): this {
    return this.add(varintBytes(field * 8 + LENGTH_DELIMITED)).add(varintBytes(value.length)).add(value)
  }

  text (field: number, value: string): this {
    return this.bytes(field, Buffer.from(value))
  }

  finish (): Buffer {
    return Buffer.concat(this.pieces, this.size)
  }

  private add (piece: Buffer): this {
    this.pieces.push(piece)
    this.size += piece.length
    return this
  }
}

/** @param value not negative, at most 2⁵³ - 1 */
function varintBytes (value: number): Buffer {
  const bytes: number[] = []
  while (value > 0x7f) {
    bytes.push(value % 0x80 + 0x80)
    value = Math.floor(value / 0x80)
  }
  bytes.push(value)
  return Buffer.from(bytes)
}
