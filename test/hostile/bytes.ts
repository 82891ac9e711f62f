/** The format in which scenario files describe bytes: text, and short forms for large content. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'

export type Bytes =
  /**
   * UTF-8; YAML's double quotes provide `\r
   * ` and `\0`.
   */
  | string
  /** Concatenated bytes. */
  | readonly Bytes[]
  /** Hexadecimal digits with optional blanks, for bytes that are not UTF-8. */
  | { readonly hex: string }
  | { readonly repeat: Bytes, readonly times: number }
  /** The text, repeated. `{n}` is replaced by 0, step, 2 * step, ... */
  | { readonly count: string, readonly times: number, readonly step?: number, readonly join?: string }
  | { readonly gzip: Bytes }
  | { readonly deflate: Bytes }
  | { readonly brotli: Bytes }
  /** One chunk. `size` is its first line, in which `{hex}` stands for the chunk's size. Default: `{hex}` alone. */
  | { readonly chunk: Bytes, readonly size?: string }
  | { readonly message: MessageText }
  | { readonly call: Call }

/** The text of a request body that sends one message with JSON of the attacker. */
export interface MessageText {
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
  /** Text of the list of parts. */
  readonly parts?: Bytes
  /** Text of further members of the message, with a leading comma. */
  readonly members?: Bytes
  /** Text of further members beside the message, with a leading comma. */
  readonly beside?: Bytes
}

/** One request: A2A 1.0 over HTTP+JSON as a client would send it, with the stated changes. */
export interface Call {
  readonly line?: Bytes
  /** Further header lines. */
  readonly headers?: readonly Bytes[]
  /** Header lines of a normal call that this call omits. */
  readonly without?: readonly ('host' | 'version' | 'type')[]
  /** Default: Content-Length of the body. */
  readonly framing?: 'length' | 'chunked' | 'none'
  readonly body?: Bytes
}

const CRLF = Buffer.from('\r\n')

export function bytesOf (bytes: Bytes): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes)
  if ('hex' in bytes) return Buffer.from(bytes.hex.replace(/\s/g, ''), 'hex')
  if ('repeat' in bytes) return repeated(bytesOf(bytes.repeat), bytes.times)
  if ('count' in bytes) {
    return Buffer.from(
      Array.from({ length: bytes.times }, (_, i) => bytes.count.replaceAll('{n}', String(i * (bytes.step ?? 1)))).join(bytes.join ?? '')
    )
  }
  if ('gzip' in bytes) return gzipSync(bytesOf(bytes.gzip))
  if ('deflate' in bytes) return deflateSync(bytesOf(bytes.deflate))
  if ('brotli' in bytes) return brotliCompressSync(bytesOf(bytes.brotli))
  if ('chunk' in bytes) return chunkOf(bytesOf(bytes.chunk), bytes.size)
  if ('message' in bytes) return messageText(bytes.message)
  if ('call' in bytes) return callBytes(bytes.call)
  return Buffer.concat(bytes.map(bytesOf))
}

function repeated (bytes: Buffer, times: number): Buffer {
  return Buffer.alloc(bytes.length * times, bytes)
}

/** RFC 9112 §7.1. */
export function chunkOf (content: Buffer, size = '{hex}'): Buffer {
  return Buffer.concat([Buffer.from(size.replace('{hex}', content.length.toString(16))), CRLF, content, CRLF])
}

export const LAST_CHUNK = Buffer.from('0\r\n\r\n')

function messageText ({ binding = 'HTTP+JSON', parts = '[{"text":"hello"}]', members = '', beside = '' }: MessageText): Buffer {
  const inner = Buffer.concat([
    Buffer.from('{"message":{"messageId":"m1","role":"ROLE_USER","parts":'),
    bytesOf(parts),
    bytesOf(members),
    Buffer.from('}'),
    bytesOf(beside),
    Buffer.from('}')
  ])
  return binding === 'HTTP+JSON'
    ? inner
    : Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":'), inner, Buffer.from('}')])
}

function callBytes ({
  line = 'POST /rest/message:send HTTP/1.1',
  headers = [],
  without = [],
  framing = 'length',
  body = { message: {} }
}: Call): Buffer {
  const content = bytesOf(body)
  const own = { host: 'Host: gateway.example', version: 'A2A-Version: 1.0', type: 'Content-Type: application/json' }
  const lines: Buffer[] = [bytesOf(line)]
  for (const [name, text] of Object.entries(own)) if (!without.includes(name as 'host')) lines.push(Buffer.from(text))
  for (const header of headers) lines.push(bytesOf(header))
  if (framing !== 'none') {
    lines.push(Buffer.from(framing === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${content.length}`))
  }
  return Buffer.concat([
    ...lines.flatMap(one => [one, CRLF]),
    CRLF,
    framing === 'chunked' ? Buffer.concat([chunkOf(content), LAST_CHUNK]) : content
  ])
}
