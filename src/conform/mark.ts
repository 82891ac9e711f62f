/** Replaces the mark of a call in texts and bytes. The name of a call has the length of the mark, so that lengths stay right. */
import { CALL } from './model.js'

/** @returns the text as UTF-8, with each mark replaced by the name */
export function filled (text: string, name: string): Buffer {
  return Buffer.from(text.replaceAll(CALL, name))
}

/** The same for bytes, such as a message of protocol buffers. */
export function filledBytes (bytes: Buffer, name: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll(CALL, name), 'latin1')
}

/** The inverse: each name becomes the mark, so that two calls can be compared. */
export function unfilled (bytes: Buffer, name: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll(name, CALL), 'latin1')
}
