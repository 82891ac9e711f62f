/** Writes events and comments of event streams (HTML Living Standard §9.2.6). */
import { DATA, SseScan } from './scan.js'

const LF = 0x0a
const CR = 0x0d
/** What ends a line for this standard, and for clients that take any Unicode line end for one. */
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu

/**
 * @param data line breaks of any kind in it arrive as LF
 * @param eventName null for none: a `message`
 */
export function eventBytes (data: Buffer | string, eventName: string | null = null): Buffer {
  const name = eventName === null ? '' : `event: ${onOneLine(eventName)}\n`
  return Buffer.from(`${name}${dataLines(data, '\n')}\n\n`)
}

/** @returns a comment on a line of its own, which may come before an event or between two */
export function commentBytes (text: string): Buffer {
  return Buffer.from(`: ${onOneLine(text)}\n`)
}

/**
 * @param event a block of lines as SseSplitter gives it, its blank line included or not
 * @returns the block with the new data where its first `data` line was, with that line's kind of line end; all other lines are as they
 * were. A block without `data` lines comes back as it is.
 */
export function withData (event: Buffer, data: Buffer | string): Buffer {
  const parts: Buffer[] = []
  const scan = new SseScan(false)
  let copied = 0
  const replace = (end: number, after: number): void => {
    if (copied === 0) parts.push(event.subarray(0, scan.start), Buffer.from(dataLines(data, lineEnd(event, end, scan.start))), event.subarray(end, after))
    else parts.push(event.subarray(copied, scan.start))
    copied = after
  }
  scan.begin(event)
  while (scan.next()) if (scan.kind === DATA) replace(scan.end, scan.after)
  if (scan.unfinished === DATA) replace(event.length, event.length)
  if (copied === 0) return event
  // A CR that had a line after it would make one line end with the LF of the blank line.
  if (event[copied] === LF && parts.findLast(part => part.length > 0)?.at(-1) === CR) parts.push(Buffer.from('\n'))
  parts.push(event.subarray(copied))
  return Buffer.concat(parts)
}

/** @returns the line end at an offset; at the end of the block that of the line before */
function lineEnd (bytes: Buffer, end: number, lineAt: number): string {
  const found = /^(?:\r\n|\r|\n)/.exec(bytes.toString('latin1', end, end + 2)) ?? /(?:\r\n|\r|\n)$/.exec(bytes.toString('latin1', Math.max(0, lineAt - 2), lineAt))
  return found === null ? '\n' : found[0]
}

function dataLines (data: Buffer | string, end: string): string {
  return data.toString().split(/\r\n|\r|\n/).map(line => `data: ${line}`).join(end)
}

function onOneLine (text: string): string {
  return text.replace(CONTROLS, ' ')
}
