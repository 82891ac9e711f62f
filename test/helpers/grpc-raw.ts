/** gRPC calls frame by frame over `node:http2`, for bytes and headers that no gRPC library sends. */
import { once } from 'node:events'
import type { ClientHttp2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { connect } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import type { Socket } from 'node:net'

export const SEND_MESSAGE = '/lf.a2a.v1.A2AService/SendMessage'

export interface RawCall {
  readonly path?: string
  /** Added to those of a gRPC request, or instead of them; `undefined` removes one. */
  readonly headers?: OutgoingHttpHeaders
  /** Everything that the request contains: prefixes and messages. */
  readonly body: Buffer
}

export interface RawResponse {
  /** HTTP status; null when the stream was reset before. */
  readonly http: number | null
  /** `grpc-status`; null when neither headers nor trailers have one. */
  readonly status: number | null
  /** `grpc-message`, decoded. */
  readonly message: string
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  /** True when the response is one HEADERS frame. */
  readonly trailersOnly: boolean
  readonly messages: readonly Buffer[]
  /** The code of RST_STREAM; 0 when the stream ended as it should. */
  readonly reset: number
}

/** A message with its prefix of five bytes. */
export function grpcMessage (message: Buffer, flag = 0, length = message.length): Buffer {
  const frame = Buffer.alloc(5 + message.length)
  frame[0] = flag
  frame.writeUInt32BE(length, 1)
  message.copy(frame, 5)
  return frame
}

export class RawGrpc {
  readonly session: ClientHttp2Session

  private constructor (session: ClientHttp2Session) {
    this.session = session
  }

  /**
   * @param address `127.0.0.1:PORT`
   * @param from address of the client
   */
  static async to (address: string, from = '127.0.0.1'): Promise<RawGrpc> {
    const createConnection = ({ hostname, port }: URL): Socket => connectSocket({ host: hostname, port: Number(port), localAddress: from })
    const session = connect(`http://${address}`, { createConnection })
    session.on('error', () => {})
    await once(session, 'connect')
    return new RawGrpc(session)
  }

  close (): void {
    this.session.destroy()
  }

  /** Sends a call and waits for its end, at the most 20 s. */
  async call ({ path = SEND_MESSAGE, headers = {}, body }: RawCall): Promise<RawResponse> {
    const all: OutgoingHttpHeaders = {
      ':method': 'POST', ':path': path, te: 'trailers', 'content-type': 'application/grpc', 'a2a-version': '1.0', ...headers
    }
    for (const [name, value] of Object.entries(all)) if (value === undefined) delete all[name]
    const stream = this.session.request(all)
    let head: IncomingHttpHeaders = {}
    let trailers: IncomingHttpHeaders = {}
    let trailersOnly = false
    const chunks: Buffer[] = []
    stream.on('response', (received, flags) => {
      head = received
      trailersOnly = (flags & 1) !== 0
    })
    stream.on('trailers', received => { trailers = received })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', () => {})
    stream.setTimeout(20_000, () => stream.close(8))
    stream.end(body)
    await new Promise<void>(resolve => { stream.once('close', resolve) })
    const status = trailers['grpc-status'] ?? head['grpc-status']
    const text = trailers['grpc-message'] ?? head['grpc-message']
    return {
      http: head[':status'] === undefined ? null : Number(head[':status']),
      status: status === undefined ? null : Number(status),
      message: decodeMessage(String(text ?? '')),
      headers: head,
      trailers,
      trailersOnly,
      messages: messagesOf(Buffer.concat(chunks)),
      reset: stream.rstCode
    }
  }
}

function decodeMessage (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function messagesOf (bytes: Buffer): Buffer[] {
  const all: Buffer[] = []
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    all.push(bytes.subarray(at + 5, end))
    at = end
  }
  return all
}
