import { BACKSLASH, COLON, QUOTE } from './bytes.js'
import { readExactly } from './exact-reader.js'

/**
 * Turns JSON text into a value. This is the only way from a text that others wrote to a value, beside `parseStrict`, which calls the same
 * two readers: the engine's `JSON.parse` for a text without an escape in a member name, and our own reader for all others. Some engines
 * read escaped names wrongly (exact-reader.ts).
 * @param text a string, or bytes in UTF-8, of which invalid sequences become U+FFFD
 * @returns what `JSON.parse` returns on an engine without faults: the last of two members with one name, and own members only
 * @throws SyntaxError when the text is not JSON. The message of the engine may quote the text
 */
export function parseJson (text: string | Uint8Array): unknown {
  const string = typeof text === 'string' ? text : Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString()
  return hasEscapedName(string) ? readExactly(string).value : JSON.parse(string)
}

/**
 * True when a member name of the text has an escape. For a text that is not JSON, the result has no meaning.
 *
 * Every backslash of a JSON text is in a string, and the first one after a string begins an escape. The search therefore reads from a
 * backslash to the end of its string, and nothing of the text before the backslash.
 */
export function hasEscapedName (text: string): boolean {
  let at = text.indexOf('\\')
  while (at !== -1) {
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      if (at >= text.length) return false
      at += code === BACKSLASH ? 2 : 1
    }
    do at++; while (isSpace(text.charCodeAt(at)))
    if (text.charCodeAt(at) === COLON) return true
    at = text.indexOf('\\', at)
  }
  return false
}

/** True for JSON white space (RFC 8259 §2): space, tab, line feed, carriage return. */
function isSpace (code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
