/**
 * Forwards one request and relays its response: the same bytes both ways, flushed as they come, with back-pressure and abort in both
 * directions. Uses undici's dispatch interface, so that a response that is only relayed needs no streams.
 */
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Guarded, Place } from '#guard.js'
import { endOwner, guarded, run } from '#guard.js'
import type { ChunkedBuffer } from '#wire/chunked-buffer.js'
import { GivenUp } from './failure.js'
import type { ConnectionQueue, Waiter } from './connection-queue.js'
import { splitBody, PIECE, streamOf } from './body-stream.js'
import { VIA } from './via.js'

export interface ForwardRequest {
  readonly dispatcher: Dispatcher
  /** Queue where calls wait while the dispatcher has no room. Without it, calls wait in the dispatcher. */
  readonly queue?: ConnectionQueue
  /** Timeout of the whole exchange with the agent, including the wait for a connection, ms. 0 or undefined: no timeout. */
  readonly total?: number
  readonly method: string
  /** Path and query to dial. */
  readonly path: string
  /** Flat list of names and values. */
  readonly headers: string[]
  readonly body: Buffer | ChunkedBuffer | Readable | null
}

/** Handles a response. The receiver writes to the client; the forwarder only delivers. */
export interface Receiver {
  /** Called with status and raw header pairs of the final response. */
  head (status: number, rawHeaders: readonly Buffer[]): void
  /** True for an event stream: chunks that arrive together are delivered as one. Absent: false. */
  readonly streams?: boolean
  /** @returns false to pause the agent until `resume` is called */
  data (chunk: Buffer): boolean
  end (): void
  /** Called at most once, and not after `end`. */
  failed (error: Error): void
  /** What an error of the methods above ends. */
  readonly owner: Guarded
}

export interface Forwarding {
  /** Called when the client is gone, or when the gateway needs no more of the response. */
  abort (): void
  resume (): void
}

/** Maximum number of interim responses to one call. An agent that keeps sending 103 would hold the call for ever. */
const MAX_INTERIM = 64
/** Bytes of an event stream that are delivered at once. */
const MAX_BATCH_BYTES = 16_384

class Handler implements Dispatcher.DispatchHandler, Forwarding, Waiter, Guarded {
  private readonly receiver: Receiver
  private readonly queue: ConnectionQueue | undefined
  /** Null once the call has begun, because a long stream must not keep its request's body. */
  private request: ForwardRequest | null
  private controller: Dispatcher.DispatchController | null = null
  private total: NodeJS.Timeout | null = null
  private aborted = false
  private interim = 0
  private done = false
  /** Chunks of an event stream that arrived in one read of the connection: agents send each event as a chunk of HTTP/1.1 of its own. */
  private arrived: Buffer[] = []
  private arrivedBytes = 0

  constructor (request: ForwardRequest, receiver: Receiver) {
    this.request = request
    this.queue = request.queue
    this.receiver = receiver
  }

  start (): void {
    const { queue } = this
    const total = this.request?.total ?? 0
    if (total > 0) this.total = setTimeout(guarded(this, () => { this.giveUp(new GivenUp('total_timeout')) }), total)
    if (queue === undefined) this.begin()
    else queue.beginOrWait(this)
  }

  begin (): boolean {
    const { request } = this
    if (request === null) return true
    this.request = null
    const { headers, body } = request
    try {
      return request.dispatcher.dispatch({
        method: request.method as Dispatcher.HttpMethod,
        path: request.path,
        headers,
        body: bodyFor(body, headers)
      }, this)
    } catch (error) {
      this.onResponseError(null as unknown as Dispatcher.DispatchController, error as Error)
      return true
    }
  }

  expired (): void {
    run(this, () => { this.giveUp(new GivenUp('queue_timeout')) })
  }

  get place (): Place {
    return this.receiver.owner.place
  }

  get facts (): Guarded['facts'] {
    return this.receiver.owner.facts
  }

  endAfter (error: unknown): void {
    this.abort()
    this.receiver.owner.endAfter(error)
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.aborted) controller.abort(new Error('aborted'))
  }

  onResponseStart (controller: Dispatcher.DispatchController, status: number): void {
    if (this.done) return
    // 1xx responses are hop-by-hop, and the final response follows. Each one restarts the wait for the final response, so their number is
    // bounded.
    if (status < 200) {
      if (++this.interim > MAX_INTERIM) controller.abort(new Error('too many interim responses'))
      return
    }
    run(this, () => { this.receiver.head(status, controller.rawHeaders as Buffer[]) })
  }

  onResponseData (controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.done) return
    if (this.receiver.streams !== true) {
      try {
        if (!this.receiver.data(chunk)) controller.pause()
      } catch (error) {
        endOwner(this, error)
      }
      return
    }
    // eslint-disable-next-line no-restricted-syntax -- `deliver` guards itself
    if (this.arrived.length === 0) process.nextTick(deliverArrived, this)
    this.arrived.push(chunk)
    this.arrivedBytes += chunk.length
    if (this.arrivedBytes >= MAX_BATCH_BYTES) this.deliver()
  }

  /** Delivers the chunks that have arrived. */
  deliver (): void {
    const { arrived } = this
    if (arrived.length === 0) return
    this.arrived = []
    this.arrivedBytes = 0
    if (this.done) return
    try {
      if (!this.receiver.data(arrived.length === 1 ? arrived[0] as Buffer : Buffer.concat(arrived))) this.controller?.pause()
    } catch (error) {
      endOwner(this, error)
    }
  }

  onResponseEnd (): void {
    this.deliver()
    if (this.done) return
    this.finish()
    run(this, () => { this.receiver.end() })
  }

  onResponseError (_controller: Dispatcher.DispatchController, error: Error): void {
    this.deliver()
    if (this.done) return
    this.finish()
    run(this, () => { this.receiver.failed(error) })
  }

  abort (): void {
    this.stop(new Error('aborted'))
  }

  resume (): void {
    this.controller?.resume()
  }

  private giveUp (error: GivenUp): void {
    this.deliver()
    if (this.done) return
    this.stop(error)
    this.receiver.failed(error)
  }

  private stop (why: Error): void {
    this.aborted = true
    this.finish()
    this.controller?.abort(why)
    const { request } = this
    if (request === null) return
    // The call still waits in the queue, so undici does not know it.
    this.request = null
    this.queue?.leave(this)
    if (request.body instanceof Readable) request.body.destroy()
  }

  private finish (): void {
    this.done = true
    if (this.total === null) return
    clearTimeout(this.total)
    this.total = null
  }
}

function deliverArrived (handler: Handler): void {
  handler.deliver()
}

/** @param headers gets the length of the body when undici cannot know it */
function bodyFor (body: ForwardRequest['body'], headers: string[]): Buffer | Readable | null {
  if (body === null || body instanceof Readable || (Buffer.isBuffer(body) && body.length <= PIECE)) return body
  headers.push('content-length', String(body.length))
  return streamOf(Buffer.isBuffer(body) ? splitBody(body) : body.chunks)
}

export function forward (request: ForwardRequest, receiver: Receiver): Forwarding {
  request.headers.push('via', VIA)
  const handler = new Handler(request, receiver)
  handler.start()
  return handler
}
