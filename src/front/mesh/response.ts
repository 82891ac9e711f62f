/** The response of the gateway to a call that a proxy asks about. The shared steps write it as they do a response of `node:http`. */
import { callAll, ownerOf } from '#guard.js'
import type { ClientResponse } from '#call/client-streams.js'

/** Listeners guard themselves. */
const CLOSED = ownerOf('mesh')

/** Receiver of a response. */
export interface ResponseSink {
  /** The response is complete: the gateway's own, or the agent's as the client gets it. */
  completed (): void
  /** The response cannot be completed: the client must notice. */
  broken (): void
}

export class MeshResponse implements ClientResponse {
  /** Status of the response; 0 while the gateway knows none, and for a call whose response it never sees. */
  statusCode = 0
  headersSent = false
  readonly writableNeedDrain = false
  writableFinished = false
  /** Flat list. */
  head: readonly string[] = []
  complete = false
  /** Trailers of a gRPC call. */
  trailers: readonly string[] | null = null
  readonly endWith?: (trailers: readonly string[]) => void
  /** True where the head goes out before any of the body. */
  headFirst = false
  readonly immediate = true
  private readonly sink: ResponseSink
  private readonly closers: (() => void)[] = []
  private out: Buffer[] = []
  private closed = false

  /** @param grpc whether the client speaks gRPC */
  constructor (sink: ResponseSink, grpc: boolean) {
    this.sink = sink
    if (grpc) {
      this.endWith = trailers => {
        if (this.destroyed) return
        this.trailers = trailers
        this.end()
      }
    }
  }

  /** True also when the response is complete: work that still waits for a store must not forward the call. */
  get destroyed (): boolean {
    return this.complete || this.closed
  }

  on (event: 'close' | 'drain', listener: () => void): void {
    if (event === 'close') this.closers.push(listener)
  }

  /** Proxies choose the reason phrase. */
  writeHead (status: number, phrase: string | string[], headers?: string[]): void {
    this.headersSent = true
    this.statusCode = status
    this.head = headers ?? (phrase as string[])
  }

  flushHeaders (): void {}

  write (chunk: Buffer): boolean {
    if (!this.destroyed) this.out.push(chunk)
    return true
  }

  end (chunk?: Buffer | string): void {
    if (this.destroyed) return
    if (chunk !== undefined && chunk.length > 0) this.out.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    this.complete = true
    this.sink.completed()
  }

  destroy (): void {
    if (!this.destroyed) this.sink.broken()
  }

  reset (): void {
    this.destroy()
  }

  /** @returns the bytes that were written since the last call */
  take (): readonly Buffer[] {
    const { out } = this
    this.out = []
    return out
  }

  /** Ends the exchange. @param finished whether the proxy has all that the gateway has to tell */
  close (finished: boolean): void {
    if (this.closed) return
    this.closed = true
    this.writableFinished = finished
    callAll(CLOSED, this.closers)
  }
}
