/**
 * A large body as a stream. undici forgets a body that it is given whole: where the agent answers before it has read all of it, the connection counts as
 * free, and the next caller's request waits behind what nobody reads. Of a stream undici knows whether it is sent, and closes such a connection.
 */
import { Readable } from 'node:stream'

/** Bytes at once; what is not larger is with the system before an answer can come. */
export const PIECE = 65_536

export function inPieces (body: Buffer): Readable {
  let at = 0
  const pieces = new Readable({
    read () {
      this.push(at < body.length ? body.subarray(at, at += PIECE) : null)
    }
  })
  // The call that fails is told; its body is of no interest then.
  return pieces.on('error', () => {})
}
