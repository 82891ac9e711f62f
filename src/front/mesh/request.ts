/** A client's request as a proxy describes it: the shared steps read it as they do a request of `node:http`. */
import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { headOf } from '#pipeline/request-head.js'
import type { TrustedProxies } from '#wire/forwarded.js'
import type { ClientRequest } from '#call/client-streams.js'

/** The head of a request, as both protocols of Envoy have it. */
export interface DescribedHead {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly host: string
  /** Flat list of names in lower case and values. */
  readonly headers: string[]
  /** Bytes of the body that are to come. Null: unknown. */
  readonly length: number | null
  /** The connection of the proxy, as {@link proxySocket} returns it. */
  readonly socket: Socket
}

export class MeshRequest extends EventEmitter implements ClientRequest {
  readonly method: string
  readonly url: string
  readonly httpVersion = '2.0'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly socket: Socket
  /** A response ends the exchange with the proxy, so nothing has to be read off. */
  readonly complete = true
  /** Parts of the body that came before somebody reads it. Null once somebody does. */
  private waiting: Buffer[] | null = []
  /** The body is complete. */
  ended = false
  /** The request has a `host` that is not its `:authority`: the agent could read either. */
  readonly hasOtherHost: boolean
  /**
   * Address of the client of the proxy; undefined where the proxy does not report it. Envoy passes on most forwarding headers as they came,
   * so they are those of this client, and not of the proxy.
   */
  hop: string | undefined
  /** Somebody reads the body. */
  wanted = false
  /** Called when somebody begins to read the body. */
  whenWanted: (() => void) | null = null

  constructor ({ method, path, host, headers, length, socket }: DescribedHead) {
    super()
    this.method = method
    this.url = path
    this.rawHeaders = headers
    this.socket = socket
    const read = headOf(method, headers).headers as IncomingHttpHeaders
    this.hasOtherHost = read.host !== undefined && host !== '' && read.host !== host
    read.host ??= host
    // HTTP/2 announces a body without either header.
    if (read['content-length'] === undefined && length !== 0) {
      if (length === null) read['transfer-encoding'] ??= 'chunked'
      else read['content-length'] = String(length)
    }
    this.headers = read
  }

  /** Forgets what a client that is no trusted proxy says about its origin. */
  cameThrough (trusted: TrustedProxies): void {
    const { headers } = this
    const chain = headers['x-forwarded-for']
    const isKnown = typeof chain === 'string' && trusted.trusts(this.socket.remoteAddress)
    this.hop = isKnown ? chain.slice(chain.lastIndexOf(',') + 1).trim() : undefined
    if (headers['x-forwarded-host'] !== undefined && !trusted.trusts(this.hop)) delete headers['x-forwarded-host']
  }

  override on (event: string, listener: (...args: never[]) => void): this {
    // eslint-disable-next-line no-restricted-syntax -- the caller guards the listener
    super.on(event, listener as () => void)
    // The reader adds its other listeners in the same turn.
    if (event !== 'data' || this.waiting === null) return this
    // The listeners of the reader are guarded.
    // eslint-disable-next-line no-restricted-syntax -- nothing else can throw
    queueMicrotask(() => { this.flow() })
    this.wanted = true
    this.whenWanted?.()
    return this
  }

  pause (): void {}

  resume (): void {}

  /** Adds a part of the body. */
  push (bytes: Buffer): void {
    if (this.waiting === null) this.emit('data', bytes)
    else this.waiting.push(bytes)
  }

  /** The body is complete. */
  finish (): void {
    if (this.ended) return
    this.ended = true
    if (this.waiting === null) this.emit('end')
  }

  /** The rest of the body will not arrive. Without `close`, a reader keeps the call in memory until its timeout. */
  cut (): void {
    if (this.ended) return
    this.ended = true
    this.emit('close')
  }

  /** Takes the parts of a body that nobody reads. */
  takeWaiting (): readonly Buffer[] {
    const { waiting } = this
    this.waiting = []
    return waiting ?? []
  }

  private flow (): void {
    const { waiting } = this
    if (waiting === null) return
    this.waiting = null
    for (const bytes of waiting) this.emit('data', bytes)
    if (this.ended) this.emit('end')
  }
}

/**
 * Stands for the connection of a proxy: it has the address and no certificate, because a certificate of the proxy is not one of the caller.
 * @param encrypted whether the client of the proxy uses TLS
 */
export function proxySocket ({ remoteAddress, remotePort, localAddress, localPort }: Socket, encrypted: boolean): Socket {
  const socket = {
    remoteAddress,
    remotePort,
    localAddress,
    localPort,
    encrypted,
    destroyed: false,
    writableLength: 0
  }
  return socket as unknown as Socket
}
