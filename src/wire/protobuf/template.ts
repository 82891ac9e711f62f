/**
 * Recognises messages that differ from an earlier message only in the content of some texts. Compares bytes, four at a time, and decodes
 * nothing. The lengths of a free text and of the messages around it may differ; the structure may not.
 */
import { isUtf8 } from 'node:buffer'
import { MAX_NESTED } from './read.js'
import { FieldCursor } from './splice.js'
import { BYTE_RUN } from './table.js'

/** Offsets of the bytes of a text. */
export interface TextSpan { readonly start: number, readonly end: number }

/** Steps of a comparison. `SAME` has the offsets of its bytes. */
const SAME = 0
/** Length of a message that has free texts. */
const OPEN = 1
/** Length and bytes of a free text. */
const TEXT = 2
/** End of the message that `OPEN` began. */
const CLOSE = 3

/** Ends of the messages that a comparison has open. */
const ENDS = new Int32Array(MAX_NESTED)
const HIGH_BITS = 0x80808080 | 0

export class ProtobufTemplate {
  private readonly bytes: Buffer
  private readonly words: DataView
  /** Each step with two numbers. */
  private readonly steps: Int32Array

  /**
   * @param bytes a message that `readProtobuf` accepts, which must not change
   * @param free texts that may differ, none of them empty. They are values, not keys
   */
  constructor (bytes: Buffer, free: readonly TextSpan[]) {
    this.bytes = bytes
    this.words = viewOf(bytes)
    const sorted = [...free].sort((a, b) => a.start - b.start)
    const steps: number[] = []
    const last = compile(new FieldCursor(bytes, 0, bytes.length), sorted, steps, 0)
    steps.push(SAME, last, bytes.length)
    this.steps = Int32Array.from(steps)
  }

  /**
   * @returns true when `readProtobuf` accepts the bytes, and reads the same object but for the free texts. A free text is never empty:
   * ProtoJSON leaves out some empty texts
   */
  matches (bytes: Buffer): boolean {
    const { steps, words } = this
    const others = viewOf(bytes)
    let end = bytes.length
    let open = 0
    let i = 0
    for (let step = 0; step < steps.length; step += 3) {
      const kind = steps[step] as number
      if (kind === SAME) {
        let at = steps[step + 1] as number
        const stop = steps[step + 2] as number
        if (stop - at > end - i) return false
        for (; at + 4 <= stop; at += 4, i += 4) if (words.getInt32(at, true) !== others.getInt32(i, true)) return false
        while (at < stop) if (this.bytes[at++] !== bytes[i++]) return false
        continue
      }
      if (kind === CLOSE) {
        if (i !== end) return false
        end = ENDS[--open] as number
        continue
      }
      // Two bytes are enough for the lengths in an event that is compared. A second byte of 0 is superfluous.
      let length = i < end ? bytes[i++] as number : 0
      if (length >= 0x80) {
        const high = i < end ? bytes[i++] as number : 0
        if (high === 0 || high >= 0x80) return false
        length = (length & 0x7f) | high << 7
      }
      if (length > end - i) return false
      if (kind === OPEN) {
        ENDS[open++] = end
        end = i + length
      } else {
        if (length === 0 || !isText(bytes, others, i, i + length)) return false
        i += length
      }
    }
    return i === end
  }
}

/** Writes the steps for the fields of a message. @param from offset of the first byte without a step. @returns the new offset */
function compile (fields: FieldCursor, free: readonly TextSpan[], steps: number[], from: number): number {
  while (fields.next()) {
    if ((fields.bytes[fields.start] as number) % 8 !== BYTE_RUN) continue
    const { lengthAt, end } = fields
    const inside = free.filter(textSpan => textSpan.start >= fields.from && textSpan.end <= end)
    if (inside.length === 0) continue
    steps.push(SAME, from, lengthAt)
    const [first] = inside as [TextSpan]
    if (first.start === fields.from && first.end === end) {
      steps.push(TEXT, 0, 0)
    } else {
      steps.push(OPEN, 0, 0)
      const last = compile(fields.inside(), inside, steps, fields.from)
      steps.push(SAME, last, end, CLOSE, 0, 0)
    }
    from = end
  }
  return from
}

function isText (bytes: Buffer, words: DataView, from: number, end: number): boolean {
  let all = 0
  let i = from
  for (; i + 16 <= end; i += 16) {
    all |= words.getInt32(i, true) | words.getInt32(i + 4, true) | words.getInt32(i + 8, true) | words.getInt32(i + 12, true)
  }
  for (; i + 4 <= end; i += 4) all |= words.getInt32(i, true)
  for (; i < end; i++) all |= (bytes[i] as number) << 24
  return (all & HIGH_BITS) === 0 || isUtf8(bytes.subarray(from, end))
}

function viewOf ({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}
