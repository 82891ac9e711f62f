import { FieldCursor } from './splice.js'
import { varint } from './varint.js'

/** A length in the message, and what stands in its place. */
interface Patch { readonly at: number, readonly to: number, by: Buffer }

/** Length and bytes of a Value with `null_value: NULL_VALUE`. */
const NULL = Buffer.from([2, 0x08, 0])
const NULL_GROWTH = 2
const NO_BYTES = Buffer.alloc(0)

/**
 * Writes an explicit null into each Value that has no kind. The Java SDK writes null without a kind. In a map, agents of Python read null
 * there, and agents of JavaScript drop the key; agents of Go read null, and cannot print it (measured). Takes time linear in the message.
 * @param bytes a message that `readProtobuf` accepts
 * @param nulls offsets of the Values, ascending: `nulls` of `readProtobuf`
 */
export function withExplicitNulls (bytes: Buffer, nulls: readonly number[]): Buffer {
  const patches: Patch[] = []
  let next = 0
  /** Visits only the fields that contain a null: they are messages. @returns the bytes by which the fields grow */
  const visit = (fields: FieldCursor): number => {
    let growth = 0
    while (next < nulls.length && fields.next()) {
      if ((nulls[next] as number) > fields.end) continue
      const { lengthAt, from, end } = fields
      const patch: Patch = { at: lengthAt, to: from, by: NULL }
      patches.push(patch)
      if (from === end) {
        next++
        growth += NULL_GROWTH
        continue
      }
      const inner = visit(fields.inside())
      patch.by = varint(end - from + inner)
      growth += inner + patch.by.length - (from - lengthAt)
    }
    return growth
  }
  visit(new FieldCursor(bytes, 0, bytes.length))
  let at = 0
  const pieces = patches.flatMap(patch => {
    const buffer = patch.at === at ? NO_BYTES : bytes.subarray(at, patch.at)
    at = patch.to
    return [buffer, patch.by]
  })
  return Buffer.concat([...pieces, bytes.subarray(at)])
}
