/** Unary gRPC responses that are read: exactly one message and status 0, or an error. */
import type { ResponseDecision } from '#policy/response/evaluator.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import type { GrpcMessage } from '#wire/grpc/deframer.js'
import { GrpcDeframer, grpcFrame } from '#wire/grpc/deframer.js'
import { whenSettled } from '#wire/when-ready.js'
import type { ExtendedCardPlan } from '../card/extended-card.js'
import { rewriteCardMessage } from '../card/extended-card.js'
import { internal, noMemory } from '../rejections.js'
import type { UnreadableReason } from '../response-problems.js'
import type { GrpcBody, GrpcResponseDriver } from './grpc-driver.js'
import type { GrpcEnforcement } from './grpc-enforcement.js'
import { unreadableBy } from './grpc-enforcement.js'
import type { GrpcEnvelope } from './grpc-envelope.js'
import { RelayedMessages } from './grpc-stream.js'

type Why = UnreadableReason | 'no_memory'

/** The message of a unary response. More than one message, none, and half a message have several readings: clients differ. */
class OneMessage {
  private readonly driver: GrpcResponseDriver
  private readonly deframer: GrpcDeframer
  private message: GrpcMessage | null = null

  /** @param limit bytes */
  constructor (driver: GrpcResponseDriver, limit: number) {
    this.driver = driver
    this.deframer = new GrpcDeframer(limit)
  }

  /** @returns why the response cannot be read; null as long as it can */
  add (bytes: Buffer): Why | null {
    if (!this.driver.reserveMemory(bytes.length)) return 'no_memory'
    for (const message of this.deframer.feed(bytes)) {
      if (this.message !== null) return 'malformed'
      this.message = message
    }
    const { fault } = this.deframer
    return fault === null ? null : unreadableBy(fault)
  }

  end (): GrpcMessage | Why {
    if (this.message === null || this.deframer.end() !== null) return 'malformed'
    return this.message.compressed ? 'encoding' : this.message
  }
}

/** Evaluates the message, stores its task record, and then forwards, edits or rejects the response. */
export class HeldUnary implements GrpcBody {
  private readonly driver: GrpcResponseDriver
  private readonly enforcement: GrpcEnforcement
  private readonly envelope: GrpcEnvelope
  private readonly one: OneMessage
  private chunks: Buffer[] = []
  /** Set when the response cannot be read and is not rejected. */
  private relaying = false

  constructor (driver: GrpcResponseDriver, enforcement: GrpcEnforcement) {
    this.driver = driver
    this.enforcement = enforcement
    this.envelope = enforcement.envelope
    this.one = new OneMessage(driver, enforcement.limits.response)
  }

  chunk (bytes: Buffer): boolean {
    if (this.relaying) return this.driver.write(bytes)
    // A message that comes in several chunks exists twice: in the chunks, and put together.
    const [first] = this.chunks
    const copied = first === undefined ? 0 : this.chunks.length === 1 ? first.length + bytes.length : bytes.length
    this.chunks.push(bytes)
    const why = copied > 0 && !this.driver.reserveMemory(copied) ? 'no_memory' : this.one.add(bytes)
    return why === null || this.unread(why)
  }

  end (): void {
    // Clients drop the message of an error.
    if (this.relaying || this.envelope.code !== 0) return this.envelope.finish([])
    this.driver.schedule('evaluate', () => { this.evaluate() })
  }

  failed (report: () => void): void {
    report()
  }

  private unread (why: Why): boolean {
    const { chunks } = this
    this.chunks = []
    if (this.enforcement.unreadable(why, null)) return true
    this.relaying = true
    this.envelope.begin()
    let more = true
    for (const chunk of chunks) more = this.driver.write(chunk)
    return more
  }

  private evaluate (): void {
    const { enforcement } = this
    const message = this.one.end()
    if (typeof message === 'string') {
      this.unread(message)
      if (this.relaying) this.envelope.finish([])
      return
    }
    const decision = enforcement.settled(enforcement.evaluate(message.bytes, null), message.bytes, null)
    whenSettled(decision, decision => { this.store(decision, message) }, error => { this.driver.abort(error) })
  }

  private store (decision: ResponseDecision, message: GrpcMessage): void {
    const act = (): void => { this.driver.schedule('respond', () => { this.act(decision, message) }) }
    const stored = this.enforcement.remember(decision)
    if (stored === null) return act()
    stored.then(act).catch((error: unknown) => { this.driver.abort(error) })
  }

  private act (decision: ResponseDecision, message: GrpcMessage): void {
    this.chunks = []
    if (this.driver.gone) return
    if (decision.rejection !== null) return this.enforcement.reject(decision.rejection)
    const frame = this.enforcement.edited(message, decision)
    if (frame === null) return
    this.envelope.notice(decision)
    this.envelope.finish([frame])
  }
}

/** Forwards a unary response as it arrives, and evaluates a copy at the end. */
export class ObservedUnary extends RelayedMessages {
  private readonly enforcement: GrpcEnforcement
  /** Null when the response cannot be read. */
  private one: OneMessage | null

  constructor (driver: GrpcResponseDriver, enforcement: GrpcEnforcement) {
    super(driver, enforcement.envelope)
    this.enforcement = enforcement
    this.one = new OneMessage(driver, enforcement.limits.response)
  }

  override chunk (bytes: Buffer): boolean {
    const why = this.one?.add(bytes) ?? null
    if (why !== null) {
      this.one = null
      this.enforcement.unreadable(why, null)
    }
    return super.chunk(bytes)
  }

  override end (): void {
    super.end()
    const { one: oneMessage, enforcement } = this
    this.one = null
    if (oneMessage === null || this.envelope.code !== 0) return
    this.driver.schedule('evaluate', () => {
      const message = oneMessage.end()
      if (typeof message === 'string') enforcement.unreadable(message, null)
      else enforcement.remember(enforcement.evaluate(message.bytes, null))
    })
  }
}

/** Rewrites the interface addresses of an extended card. */
export class CardMessage implements GrpcBody {
  private readonly driver: GrpcResponseDriver
  private readonly envelope: GrpcEnvelope
  private readonly plan: ExtendedCardPlan
  private readonly table: MessageTable
  private readonly stop: () => void
  private readonly one: OneMessage

  constructor (driver: GrpcResponseDriver, envelope: GrpcEnvelope, plan: ExtendedCardPlan, table: MessageTable, stop: () => void) {
    this.driver = driver
    this.envelope = envelope
    this.plan = plan
    this.table = table
    this.stop = stop
    this.one = new OneMessage(driver, plan.size)
  }

  chunk (bytes: Buffer): boolean {
    const why = this.one.add(bytes)
    if (why !== null) this.unread(why)
    return true
  }

  end (): void {
    const { driver, envelope } = this
    if (envelope.code !== 0) return envelope.finish([])
    const message = this.one.end()
    if (typeof message === 'string') return this.unread(message)
    let card: Buffer | null
    try {
      card = rewriteCardMessage(message.bytes, this.table, this.plan)
    } catch (error) {
      driver.fault(error)
      this.stop()
      return driver.reject(internal)
    }
    if (card === null) this.unread('malformed')
    else envelope.finish([grpcFrame(card)])
  }

  failed (report: () => void): void {
    report()
  }

  private unread (why: Why): void {
    const { driver } = this
    this.stop()
    if (why === 'no_memory') driver.reject(noMemory(driver.retryAfter))
    else driver.unusable(why === 'too_large' ? why : 'protocol', 200, this.envelope.headers)
  }
}
