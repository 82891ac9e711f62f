/** Reads a message and leaves its texts unread: each notes whether anybody reads it. */
import type { LongString } from '../json/lazy-string.js'
import { LazyString, markOf } from '../json/lazy-string.js'
import type { ProtobufResult } from './read.js'
import { ProtobufReader, resultOf } from './read.js'
import type { MessageTable } from './table.js'
import type { JsonLimits } from '../json/json-result.js'

class UnreadReader extends ProtobufReader {
  readonly left: LongString[] = []

  protected override text (end: number): string {
    const text = super.text(end)
    // ProtoJSON leaves out some empty texts, so an empty text is part of the structure.
    if (text === '') return text
    this.left.push({ start: this.at - Buffer.byteLength(text), end: this.at, escapes: false })
    return markOf(this.left.length - 1)
  }
}

/** Reads as `readProtobuf` does. `unreadStrings` finds the texts of the value that nobody has read. Keys and empty texts count as read. */
export function readProtobufUnread (bytes: Buffer, table: MessageTable, limits: JsonLimits, lenient: boolean): ProtobufResult {
  const reader = new UnreadReader(bytes, limits, lenient)
  const result = resultOf(reader, table)
  if (result.ok) restore(result.value, new LazyString(bytes, reader.left))
  return result
}

/** Puts the texts in the place of their marks. No other value looks like a mark: all texts have one. */
function restore (node: object, texts: LazyString): void {
  for (const [key, value] of Object.entries(node) as [string, unknown][]) {
    if (typeof value === 'object' && value !== null) restore(value, texts)
    else if (typeof value === 'string') texts.restore(node, Array.isArray(node) ? Number(key) : key, value)
  }
}
