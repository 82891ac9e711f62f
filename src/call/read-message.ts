/** Reads the request of a call that has one message: bounded in bytes, time and memory. */
import type { GrpcMessage } from '#wire/grpc/deframer.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import type { ClientRequest, ClientResponse } from './client-streams.js'
import { guarded, listen, listenOnce } from '#guard.js'
import type { Timed } from './late-timers.js'
import { startTimerLater } from './late-timers.js'
import type { Guarded } from '#guard.js'

export interface BodyLimits {
  /** Bytes. */
  readonly size: number
  /** Milliseconds for the whole body. */
  readonly timeout: number
  /** What an error of a listener ends. */
  readonly owner: Guarded
  /** Reserves memory before a chunk of the body is kept. @returns false when no memory is left */
  readonly reserveMemory: (bytes: number) => boolean
}

/** `aborted`: the client is gone. `none` and `several`: the request has not exactly one message. */
export type UnreadReason = 'too_large' | 'timeout' | 'no_memory' | 'aborted' | 'flag' | 'incomplete' | 'none' | 'several'

export type ReadResult = { readonly ok: true, readonly message: GrpcMessage } | { readonly ok: false, readonly why: UnreadReason }

/** Calls `done` exactly once. Reads nothing more after a problem: the response resets the rest of the request. */
export function readMessage ({ request, response }: Client, limits: BodyLimits, done: (result: ReadResult) => void): void {
  new MessageReader(request, limits, done).start(response)
}

interface Client { readonly request: ClientRequest, readonly response: ClientResponse }

class MessageReader implements Timed {
  private readonly request: ClientRequest
  private readonly limits: BodyLimits
  private readonly done: (result: ReadResult) => void
  private readonly deframer: GrpcDeframer
  private message: GrpcMessage | null = null
  private timer: NodeJS.Timeout | null = null
  private finished = false

  constructor (request: ClientRequest, limits: BodyLimits, done: (result: ReadResult) => void) {
    this.request = request
    this.limits = limits
    this.done = done
    this.deframer = new GrpcDeframer(limits.size)
  }

  start (response: ClientResponse): void {
    const { owner } = this.limits
    listen(owner, this.request, 'data', (chunk: Buffer) => { this.onData(chunk) })
    listenOnce(owner, this.request, 'end', () => { this.onEnd() })
    listen(owner, response, 'close', () => { this.fail('aborted') })
    startTimerLater(this)
  }

  startTimer (): void {
    const { owner, timeout } = this.limits
    if (!this.finished) this.timer = setTimeout(guarded(owner, () => { this.fail('timeout') }), timeout)
  }

  private onData (chunk: Buffer): void {
    if (this.finished) return
    if (!this.limits.reserveMemory(chunk.length)) return this.fail('no_memory')
    const messages = this.deframer.feed(chunk)
    if (messages.length + (this.message === null ? 0 : 1) > 1) return this.fail('several')
    if (messages.length === 1) this.message = messages[0] as GrpcMessage
    if (this.deframer.fault !== null) this.fail(this.deframer.fault)
  }

  private onEnd (): void {
    const fault = this.deframer.end()
    if (fault !== null) this.fail(fault)
    else if (this.message === null) this.fail('none')
    else this.finish({ ok: true, message: owned(this.message) })
  }

  private fail (why: UnreadReason): void {
    this.finish({ ok: false, why })
  }

  private finish (result: ReadResult): void {
    if (this.finished) return
    this.finished = true
    if (this.timer !== null) clearTimeout(this.timer)
    if (!result.ok) this.request.pause()
    this.message = null
    this.done(result)
  }
}

/** Bytes of a message that keep a larger piece of memory from being freed are copied: a chunk is a part of what the socket read at once. */
function owned (message: GrpcMessage): GrpcMessage {
  const { frame } = message
  if (frame.length * 2 > frame.buffer.byteLength) return message
  const copy = Buffer.from(frame)
  return { compressed: message.compressed, frame: copy, bytes: copy.subarray(copy.length - message.bytes.length) }
}
