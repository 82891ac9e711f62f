/** Writes events and comments of event streams (HTML Living Standard §9.2.6). */
import { DATA, SseScan } from './scan.js'

const LF = 0x0a
const CR = 0x0d
/** Characters that end a line in this standard, or for clients that accept any Unicode line end. */
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu

/**
 * @param data line breaks of any kind in it arrive at the client as LF
 * @param eventName null for no name: the client dispatches a `message`
 */
export function eventBytes (data: Buffer | string, eventName: string | null = null): Buffer {
  const name = eventName === null ? '' : `event: ${onOneLine(eventName)}\n`
  return Buffer.from(`${name}${dataLines(data, '\n')}\n\n`)
}

/** @returns a comment on a line of its own. The comment may stand before an event or between two events. */
export function commentBytes (text: string): Buffer {
  return Buffer.from(`: ${onOneLine(text)}\n`)
}

/**
 * Replaces the data of an event.
 * @param event a block of lines as SseSplitter returns it, with or without its blank line
 * @returns the block with the new data in the place of its first `data` line, with the same line end. All lines without data stay
 *   unchanged. A block without `data` lines is returned unchanged.
 */
export function withData (event: Buffer, data: Buffer | string): Buffer {
  const parts: Buffer[] = []
  const scan = new SseScan(false)
  let copied = 0
  const replace = (end: number, after: number): void => {
    if (copied === 0) {
      parts.push(event.subarray(0, scan.start), Buffer.from(dataLines(data, lineEnd(event, end, scan.start))), event.subarray(end, after))
    } else {
      parts.push(event.subarray(copied, scan.start))
    }
    copied = after
  }
  scan.begin(event)
  while (scan.next()) if (scan.kind === DATA) replace(scan.end, scan.after)
  if (scan.unfinished === DATA) replace(event.length, event.length)
  if (copied === 0) return event
  // A CR at the end of the parts would form one line end with the LF of the blank line.
  if (event[copied] === LF && parts.findLast(part => part.length > 0)?.at(-1) === CR) parts.push(Buffer.from('\n'))
  parts.push(event.subarray(copied))
  return Buffer.concat(parts)
}

/** @returns the line end at an offset; at the end of the block, the line end of the line before */
function lineEnd (bytes: Buffer, end: number, lineAt: number): string {
  const lineBreak =
    /^(?:\r\n|\r|\n)/.exec(bytes.toString('latin1', end, end + 2)) ??
    /(?:\r\n|\r|\n)$/.exec(bytes.toString('latin1', Math.max(0, lineAt - 2), lineAt))
  return lineBreak === null ? '\n' : lineBreak[0]
}

function dataLines (data: Buffer | string, end: string): string {
  return data.toString().split(/\r\n|\r|\n/).map(line => `data: ${line}`).join(end)
}

function onOneLine (text: string): string {
  return text.replace(CONTROLS, ' ')
}
