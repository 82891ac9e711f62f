/** The response of an agent as Envoy shows it to the gateway: drives the response machine, and turns its writes into replies. */
import { BODY_MODES, UNCHANGED, writeReply } from '#wire/envoy/processing.js'
import type { BodyMode, ModeOverride, ProcessingMessage } from '#wire/envoy/processing.js'
import type { Exchange } from '#call/exchange.js'
import type { HeaderChanges } from '#wire/envoy/headers.js'
import { AgentResponse } from '../http/agent-response.js'
import { pushEcho, shownEcho, takeEcho } from '#pipeline/echo.js'
import { valueOf } from '#pipeline/response-head.js'
import { changesBetween } from './changes.js'
import type { Accepted, AgentReceiver } from './dispatch.js'
import type { MeshResponse } from './response.js'
import type { ProcessingStream } from './processing-stream.js'
import { settleForwarded } from '#call/outcome.js'

const { BUFFERED, STREAMED } = BODY_MODES
const NO_BYTES = Buffer.alloc(0)
/** Trailers of a unary call whose message is held: Envoy shows the real ones when the message can no longer be changed. */
const SUCCESS: readonly string[] = ['grpc-status', '0']

/** The stream of ext_proc that carries the call, as far as its response needs it. */
export interface ProcessedCall extends Omit<ProcessingStream, 'late'> {
  /** Replies do not correspond to messages. */
  readonly duplexResponse: boolean
  override (response: BodyMode): ModeOverride | null
  respond (): void
  broken (): void
  settle (exchange: Exchange): void
}

export class ExtProcResponse {
  /** Envoy has shown the head. */
  begun = false
  private readonly processor: ProcessedCall
  private readonly accepted: Accepted
  private readonly receiver: AgentReceiver
  private readonly response: MeshResponse
  /** Header lines of the agent. */
  private lines: readonly string[] = []
  private status = 0
  /** gRPC: the extensions that the agent names in the head. */
  private headEcho: readonly string[] = []
  /** The part of the body that waits for a reply. */
  private current: Buffer = NO_BYTES
  /** The head is at the client. */
  private released = false
  /** All of the agent's response is in the machine. */
  private ended = false
  /** The gateway wants no more of the agent: what follows is its own response. */
  private aborted = false
  /** The response has ended early: the rest of the agent's body is dropped. */
  private clearing = false
  private draining = false
  /** gRPC: the machine got {@link SUCCESS} in place of the trailers. */
  private early = false

  constructor (processor: ProcessedCall, accepted: Accepted, receiver: AgentReceiver, response: MeshResponse) {
    this.processor = processor
    this.accepted = accepted
    this.receiver = receiver
    this.response = response
    // Envoy shows the body after the reply to the head, and the reply releases the head, unless the body is buffered.
    response.headFirst = !processor.duplexResponse
  }

  take (message: ProcessingMessage): void {
    switch (message.part) {
      case 'headers': return this.takeHead(message)
      case 'body': return this.clearing ? this.drop(message.last) : this.takeBody(message)
      case 'trailers': return this.takeTrailers(message)
    }
  }

  private takeHead ({ lines, last }: ProcessingMessage): void {
    const { receiver, response, processor } = this
    const status = lines.indexOf(':status')
    this.begun = true
    this.ended = last
    this.lines = lines
    this.status = Number(lines[status + 1])
    if (!(this.receiver instanceof AgentResponse)) this.headEcho = takeEcho([...lines])
    const others = lines.filter((_, i) => i !== status && i !== status + 1)
    if (receiver instanceof AgentResponse) {
      receiver.head(this.status, others)
      if (last && !this.aborted) receiver.end()
    } else receiver.head([':status', String(this.status), ...others], last)
    if (last || response.complete || this.aborted) return
    if (processor.duplexResponse) return this.flush()
    if (response.headersSent) return this.release()
    processor.reply({ ...UNCHANGED, override: processor.override(BUFFERED) })
  }

  /** Lets the head go to the client. */
  private release (): void {
    const { receiver, processor } = this
    this.released = true
    const reply = { ...UNCHANGED, changes: this.headChanges() }
    if (receiver instanceof AgentResponse && receiver.relays) {
      processor.reply(reply)
      return processor.settle(this.accepted.exchange)
    }
    processor.reply({ ...reply, override: processor.override(STREAMED) })
  }

  private headChanges (): HeaderChanges {
    return changesBetween(this.lines, this.response.head)
  }

  private takeBody ({ bytes, last }: ProcessingMessage): void {
    const { receiver, processor } = this
    this.current = bytes
    const isHttp = receiver instanceof AgentResponse
    // A held body comes whole. Of a response without trailers, a part that is not the last one shows that Envoy streams it: it has not
    // accepted the mode.
    if (!this.released && !processor.duplexResponse && isHttp && !last) this.released = true
    const whole = last || (!this.released && !processor.duplexResponse)
    const more = bytes.length === 0 || receiver.data(bytes)
    if (whole && !this.aborted) {
      this.ended = true
      if (receiver instanceof AgentResponse) receiver.end()
      else {
        this.early = !last
        receiver.end(last ? [] : SUCCESS)
      }
    }
    if (processor.duplexResponse) {
      if (!more) processor.pause()
      return this.flush()
    }
    // Else `completed` replies, or `resume`.
    if (!whole && more) this.replyBody()
  }

  private takeTrailers ({ lines }: ProcessingMessage): void {
    const { receiver, processor } = this
    this.lines = lines
    if (this.clearing || this.ended) return this.endTrailers()
    this.ended = true
    if (receiver instanceof AgentResponse) receiver.end()
    else receiver.end(lines)
    if (processor.duplexResponse) this.flush()
  }

  /** Replies to the part of the body with what the machine has written. */
  private replyBody (changes: HeaderChanges = UNCHANGED.changes): void {
    const { processor, current } = this
    if (!processor.waits) return
    const bytes = Buffer.concat(this.response.take())
    this.current = NO_BYTES
    processor.reply({ changes, body: bytes.equals(current) ? null : bytes, override: null })
    if (this.draining && !this.clearing) processor.settle(this.accepted.exchange)
  }

  /** The client has all that it gets, or all but the trailers. */
  completed (): void {
    if (this.processor.duplexResponse) return this.completedDuplex()
    if (!this.released) return this.completedHeld()
    const { processor, response, accepted: { exchange } } = this
    if (this.aborted) {
      // Rejected after the head: the last bytes are an event, or the body that replaces one.
      if (response.trailers === null && response.statusCode !== this.status) return processor.broken()
      this.clearing = true
      const last = this.ended
      this.replyBody()
      return last && response.trailers === null ? processor.finish() : response.close(true)
    }
    if (response.trailers !== null) return this.endTrailers()
    this.replyBody()
    processor.settle(exchange)
  }

  /** The head has waited for the body. */
  private completedHeld (): void {
    const { processor, response, accepted: { exchange }, current } = this
    if (this.aborted || response.statusCode !== this.status) return processor.respond()
    const bytes = Buffer.concat(response.take())
    const changed = !bytes.equals(current)
    const changes = this.headChanges()
    const resized = changed && valueOf(this.lines, 'content-length') !== null
      ? { set: [...changes.set, 'content-length', String(bytes.length)], remove: changes.remove }
      : changes
    processor.reply({ changes: resized, body: changed ? bytes : null, override: null })
    if (!this.early) return processor.settle(exchange)
    settleForwarded(exchange)
    response.close(true)
  }

  /** Replies to the trailers. */
  private endTrailers (): void {
    const { processor, response, accepted: { exchange } } = this
    // Bytes of the body have no place any more.
    if (Buffer.concat(response.take()).length > 0) return processor.broken()
    const { trailers } = response
    const changes = trailers === null ? UNCHANGED.changes : changesBetween(this.lines, this.early ? this.lateTrailers(trailers) : trailers)
    processor.reply({ ...UNCHANGED, changes })
    processor.settle(exchange)
  }

  /** The trailers of the agent with what the machine has added to {@link SUCCESS}, and the extensions as the client may see them. */
  private lateTrailers (written: readonly string[]): string[] {
    const { echo, evaluation } = this.accepted.plan
    const trailers = [...this.lines]
    // The name of the extension header is as the client wrote it.
    const added = written.map((text, i) => i % 2 === 0 ? text.toLowerCase() : text)
    if (echo !== null) {
      const late = takeEcho(trailers)
      if (late.length > 0) {
        takeEcho(added)
        const all = [...this.headEcho, ...late]
        evaluation?.evaluator.echoed(all)
        pushEcho(trailers, echo, evaluation === null ? shownEcho(echo, all) : evaluation.evaluator.shown())
      }
    }
    for (let i = 0; i < added.length; i += 2) if (added[i] !== 'grpc-status') trailers.push(added[i] as string, added[i + 1] as string)
    return trailers
  }

  /** Drops a part of a body that has ended early. */
  private drop (last: boolean): void {
    const { processor, response } = this
    if (processor.duplexResponse) return
    processor.reply({ ...UNCHANGED, body: Buffer.concat(response.take()) })
    if (last) processor.finish()
  }

  /** FULL_DUPLEX_STREAMED: sends what there is. */
  private flush (): void {
    const { processor, response } = this
    if (!response.headersSent || this.aborted) return
    if (!this.released) {
      this.released = true
      processor.write(writeReply('response', 'headers', { ...UNCHANGED, changes: this.headChanges() }))
    }
    const bytes = Buffer.concat(response.take())
    if (bytes.length > 0) processor.pieces('response', bytes, false)
  }

  private completedDuplex (): void {
    const { processor, response, accepted: { exchange } } = this
    if (this.aborted && !this.released) return processor.respond()
    if (!this.aborted) this.flush()
    if (response.trailers !== null && !processor.shownTrailers) {
      // Rejected within a gRPC call: the status goes out when Envoy shows the trailers.
      this.clearing = true
      return response.close(true)
    }
    if (response.trailers !== null) return this.endTrailers()
    processor.pieces('response', Buffer.concat(response.take()), true)
    processor.settle(exchange)
  }

  /** Nothing in the response is held. */
  get isObserved (): boolean {
    const { plan: { card, evaluation }, exchange } = this.accepted
    return card === null && evaluation?.evaluator.buffersBody !== true && exchange.push === null
  }

  abort (): void {
    this.aborted = true
  }

  /** The machine can take more. */
  resume (): void {
    const { processor } = this
    if (processor.duplexResponse) {
      this.flush()
      return processor.continue()
    }
    if (this.released && !this.ended) this.replyBody()
  }

  /** Lets a response go on without the gateway, if nothing in it is held. */
  drain (): void {
    if (!this.isObserved || !this.released || this.processor.duplexResponse) return
    this.draining = true
    if (!this.processor.waits) this.processor.settle(this.accepted.exchange)
  }
}
