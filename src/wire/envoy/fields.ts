/**
 * Reads and writes fields of the messages that Envoy and the gateway exchange. `wire/protobuf` reads messages of A2A: that reader rejects
 * what clients and agents could read differently, and turns bytes into base64. Envoy is the only writer of these messages. Its releases add
 * fields, which a reader skips, and the bytes of bodies and headers must come through as they are.
 */
import { varint } from '../protobuf/varint.js'

const VARINT = 0
const FIXED64 = 1
const BYTE_RUN = 2
const FIXED32 = 5

/** The message does not follow the wire format. */
export class EnvoyFault extends Error {}

/** One field: `bytes` for texts, bytes and messages, `number` for booleans, enums and integers. */
export interface Field {
  readonly number: number
  readonly bytes: Buffer
  /** Numbers beyond 2^53 lose digits; no field in use has one. */
  readonly value: number
}

const NO_BYTES = Buffer.alloc(0)

/**
 * Calls `take` for each field, in the order of the bytes. The last one of a singular field counts (protobuf encoding, "Last One Wins").
 * @param cut the bytes may end within a field: its first bytes count as the field
 * @param fixed called with the fields of 64 bits, which most messages do not have
 * @throws EnvoyFault
 */
export function readFields (
  bytes: Buffer,
  take: (field: Field) => void,
  cut = false,
  fixed: ((number: number, bytes: Buffer) => void) | null = null
): void {
  let at = 0
  const number = (): number => {
    let result = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]
      if (byte === undefined || scale > 2 ** 63) throw new EnvoyFault('a message ends inside a field')
      result += (byte & 0x7f) * scale
      if (byte < 0x80) return result
    }
  }
  const run = (length: number): Buffer => {
    const rest = bytes.length - at
    if (length > rest && !cut) throw new EnvoyFault('a message ends inside a field')
    const taken = Math.min(length, rest)
    at += taken
    return bytes.subarray(at - taken, at)
  }
  while (at < bytes.length) {
    const tag = number()
    const field = Math.floor(tag / 8)
    switch (tag % 8) {
      case VARINT: take({ number: field, bytes: NO_BYTES, value: number() }); break
      case BYTE_RUN: take({ number: field, bytes: run(number()), value: 0 }); break
      case FIXED64: {
        const bytes = run(8)
        fixed?.(field, bytes)
        break
      }
      case FIXED32: run(4); break
      default: throw new EnvoyFault('a message has a group')
    }
  }
}

/** Writes a field of text, bytes or a message. */
export function run (number: number, ...pieces: readonly (Buffer | string)[]): Buffer {
  const payload = pieces.map(piece => typeof piece === 'string' ? Buffer.from(piece) : piece)
  const length = payload.reduce((sum, piece) => sum + piece.length, 0)
  return Buffer.concat([varint(number * 8 + BYTE_RUN), varint(length), ...payload])
}

/** Writes a field of a boolean, an enum or an integer. */
export function integer (number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)])
}
