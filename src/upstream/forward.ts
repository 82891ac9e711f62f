/**
 * Forwards one request and relays its answer: the same bytes both ways, flushed as they come, with back-pressure and abort in both
 * directions. Built on undici's dispatch interface: no streams are created for an answer that is only passed on.
 */
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { VIA } from './via.js'

export interface ForwardRequest {
  readonly dispatcher: Dispatcher
  readonly method: string
  /** Path and query to dial. */
  readonly path: string
  /** Flat list of names and values. */
  readonly headers: string[]
  readonly body: Buffer | Readable | null
}

/** What becomes of an answer. The receiver writes; the forwarder only carries. */
export interface Receiver {
  /** Status and raw header pairs of the final answer. */
  head (status: number, rawHeaders: readonly Buffer[]): void
  /** @returns false to stop the agent until `resume` is called */
  data (chunk: Buffer): boolean
  end (): void
  /** Called once at the most, and not after `end`. */
  failed (error: Error): void
}

export interface Forwarding {
  /** The client is gone, or the gateway is done with the answer. */
  abort (): void
  resume (): void
}

/** Interim answers to one call. An agent that keeps saying 103 would hold it for ever. */
const MAX_INTERIM = 64

class Handler implements Dispatcher.DispatchHandler, Forwarding {
  private readonly receiver: Receiver
  private controller: Dispatcher.DispatchController | null = null
  private aborted = false
  private interim = 0
  private done = false

  constructor (receiver: Receiver) {
    this.receiver = receiver
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.aborted) controller.abort(new Error('aborted'))
  }

  onResponseStart (controller: Dispatcher.DispatchController, status: number): void {
    if (this.done) return
    // 1xx are hop-by-hop news; the final answer follows. Each begins the wait for it anew, so their number is bounded.
    if (status < 200) {
      if (++this.interim > MAX_INTERIM) controller.abort(new Error('too many interim answers'))
      return
    }
    this.receiver.head(status, controller.rawHeaders as Buffer[])
  }

  onResponseData (controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.done && !this.receiver.data(chunk)) controller.pause()
  }

  onResponseEnd (): void {
    if (this.done) return
    this.done = true
    this.receiver.end()
  }

  onResponseError (_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.done) return
    this.done = true
    this.receiver.failed(error)
  }

  abort (): void {
    this.aborted = true
    this.done = true
    this.controller?.abort(new Error('aborted'))
  }

  resume (): void {
    this.controller?.resume()
  }
}

export function forward (request: ForwardRequest, receiver: Receiver): Forwarding {
  const handler = new Handler(receiver)
  request.headers.push('via', VIA)
  try {
    request.dispatcher.dispatch({
      method: request.method as Dispatcher.HttpMethod,
      path: request.path,
      headers: request.headers,
      body: request.body
    }, handler)
  } catch (error) {
    handler.onResponseError(null as unknown as Dispatcher.DispatchController, error as Error)
  }
  return handler
}
