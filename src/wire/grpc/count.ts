/** Counts the gRPC messages in the bytes of a body, and keeps none of them. */

const PREFIX = 5

export class GrpcCounter {
  /** Bytes of the prefix of the message that begins. */
  private prefix = 0
  private length = 0
  /** Bytes until the end of the message whose prefix is complete. */
  private left = 0

  /** @returns the number of messages that end in the chunk */
  count (chunk: Buffer): number {
    let messages = 0
    let at = 0
    while (at < chunk.length) {
      if (this.prefix < PREFIX) {
        const byte = chunk[at++] as number
        // The first byte is the flag.
        this.length = this.prefix++ === 0 ? 0 : this.length * 256 + byte
        if (this.prefix < PREFIX) continue
        this.left = this.length
      }
      const taken = Math.min(this.left, chunk.length - at)
      at += taken
      this.left -= taken
      if (this.left > 0) break
      messages++
      this.prefix = 0
    }
    return messages
  }
}
