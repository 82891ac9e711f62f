/** The client's side of an exchange, for every front. Requests and responses of `node:http` have these shapes; front/grpc has its own. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'

/** Where the gateway serves HTTP. */
export interface HttpListener {
  readonly scheme: 'http' | 'https'
  readonly port: number
}

/** The head of a request, its connection, and its body as a stream. */
export interface ClientRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly httpVersion: string
  /** Flat list of names and values. Pseudo-headers of HTTP/2 come first; nothing forwards or reads them. */
  readonly rawHeaders: string[]
  /** By lower-case name. `host` is the authority of HTTP/2. */
  readonly headers: IncomingHttpHeaders
  readonly socket: Socket
  /** True when the gateway has received the whole body, and when the rest of it needs no reading. */
  readonly complete: boolean
  /** The main listener, for a request that came on another one. */
  readonly main?: () => HttpListener
  on (event: 'data', listener: (chunk: Buffer) => void): unknown
  once (event: 'end' | 'close' | 'error', listener: () => void): unknown
  pause (): unknown
  resume (): unknown
}

/** Response that the gateway sends. */
export interface ClientResponse {
  readonly statusCode: number
  readonly headersSent: boolean
  /** The client has disconnected, or the gateway has broken the response off. */
  readonly destroyed: boolean
  /** The client's connection has taken the whole response. */
  readonly writableFinished: boolean
  readonly writableNeedDrain: boolean
  on (event: 'close' | 'drain', listener: () => void): unknown
  writeHead (status: number, phrase: string, headers: string[]): unknown
  writeHead (status: number, headers: string[]): unknown
  flushHeaders (): void
  write (chunk: Buffer): boolean
  end (chunk?: Buffer | string): unknown
  destroy (): unknown
  /**
   * Ends the response with trailers. Only gRPC has it: the status of a call follows its messages.
   * @param trailers flat list of names and values
   */
  readonly endWith?: (trailers: readonly string[]) => void
  /** True where the head goes out before any of a stream: the front cannot hold it back. Absent: false. */
  readonly headFirst?: boolean
  /** True where the front collects writes itself, and looks for them at once. Absent: false. */
  readonly immediate?: boolean
  /** Bytes of the response that wait for the client. Only gRPC has it, because its calls share a connection. */
  readonly waiting?: number
  /** With `waiting`: bytes that the client has taken. */
  readonly taken?: number
  /** Breaks the response off. Only gRPC has it. @param code error code of RFC 9113 §7 */
  readonly reset?: (code: number) => void
}
