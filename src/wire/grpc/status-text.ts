/** Text forms of gRPC trailers (gRPC doc/PROTOCOL-HTTP2.md). */

const PERCENT = 0x25

/**
 * Writes `grpc-message`: bytes of UTF-8 outside 0x20 to 0x7e, and `%`, are percent-encoded. So are spaces at both ends: HTTP/2 forbids them
 * around a field value (RFC 9113 §8.2.1).
 */
export function encodeGrpcMessage (message: string): string {
  if (/^(?! )[\x20-\x24\x26-\x7e]*$(?<! )/.test(message)) return message
  let encoded = ''
  for (const byte of Buffer.from(message)) {
    encoded += byte >= 0x20 && byte <= 0x7e && byte !== PERCENT
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded.replace(/^ | $/g, '%20')
}

/** Writes the value of a `-bin` key: base64 without padding. */
export function encodeBinary (bytes: Buffer): string {
  const text = bytes.toString('base64')
  const padding = text.indexOf('=')
  return padding === -1 ? text : text.slice(0, padding)
}
