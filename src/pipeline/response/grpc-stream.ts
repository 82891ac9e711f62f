/** Streamed gRPC responses that rules read, and responses that nothing reads. */
import type { ResponseDecision } from '#policy/response/evaluator.js'
import type { GrpcFault, GrpcMessage } from '#wire/grpc/deframer.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import type { UnreadableReason } from '../response-problems.js'
import type { GrpcBody, GrpcResponseDriver } from './grpc-driver.js'
import type { GrpcEnforcement } from './grpc-enforcement.js'
import { unreadableBy } from './grpc-enforcement.js'
import type { GrpcEnvelope } from './grpc-envelope.js'
import { HeldQueue } from './held-queue.js'

/** Forwards messages as they arrive. */
export class RelayedMessages implements GrpcBody {
  protected readonly driver: GrpcResponseDriver
  protected readonly envelope: GrpcEnvelope

  constructor (driver: GrpcResponseDriver, envelope: GrpcEnvelope) {
    this.driver = driver
    this.envelope = envelope
    envelope.begin()
  }

  chunk (bytes: Buffer): boolean {
    return this.driver.write(bytes)
  }

  end (): void {
    this.envelope.finish([])
  }

  failed (report: () => void): void {
    report()
  }
}

/** Forwards a stream as it arrives, and evaluates a copy, message by message. */
export class ObservedMessages extends RelayedMessages {
  private readonly enforcement: GrpcEnforcement
  private readonly deframer: GrpcDeframer
  private events = 0

  constructor (driver: GrpcResponseDriver, enforcement: GrpcEnforcement) {
    super(driver, enforcement.envelope)
    this.enforcement = enforcement
    this.deframer = new GrpcDeframer(enforcement.limits.event)
  }

  override chunk (bytes: Buffer): boolean {
    if (this.deframer.fault === null) this.driver.schedule('evaluate', () => { this.look(bytes) })
    return super.chunk(bytes)
  }

  override end (): void {
    super.end()
    this.driver.schedule('evaluate', () => {
      const { enforcement, deframer, envelope } = this
      if (envelope.code !== 0) return
      if (deframer.fault === null && deframer.end() !== null) enforcement.unreadable('malformed', this.events + 1)
      enforcement.remember(enforcement.evaluateEnd())
    })
  }

  private look (bytes: Buffer): void {
    const { enforcement, deframer } = this
    if (deframer.fault !== null) return
    for (const message of deframer.feed(bytes)) {
      this.events++
      if (message.compressed) enforcement.unreadable('encoding', this.events)
      else enforcement.remember(enforcement.evaluate(message.bytes, this.events))
    }
    const fault: GrpcFault | null = deframer.fault
    if (fault !== null) enforcement.unreadable(unreadableBy(fault), this.events + 1)
  }
}

/** Bytes that are no message that the gateway can read. `fault` is set on the first of them. */
interface Unreadable { readonly fault: GrpcFault | null, readonly rest: Buffer }

/** Holds each message of a stream until its evaluation is done, one at a time and in order. */
export class HeldMessages extends HeldQueue<GrpcMessage | Unreadable, GrpcEnforcement> implements GrpcBody {
  private readonly deframer: GrpcDeframer
  private readonly envelope: GrpcEnvelope

  constructor (enforcement: GrpcEnforcement) {
    super(enforcement)
    this.envelope = enforcement.envelope
    this.deframer = new GrpcDeframer(enforcement.limits.event)
    if (!enforcement.evaluator.buffersHead || this.driver.headFirst) this.envelope.begin()
  }

  chunk (bytes: Buffer): boolean {
    const { deframer } = this
    if (deframer.fault !== null) {
      this.add([{ fault: null, rest: bytes }])
      return this.run()
    }
    this.add(deframer.feed(bytes))
    if (deframer.fault !== null) this.add([{ fault: deframer.fault, rest: deframer.rest }])
    return this.run()
  }

  end (): void {
    const { deframer, envelope } = this
    // The bytes of an incomplete message have no use for a client that gets an error.
    if (envelope.code === 0 && deframer.fault === null && deframer.end() !== null) {
      this.add([{ fault: deframer.fault, rest: deframer.rest }])
    }
    this.after(() => {
      if (envelope.code === 0) this.settle(this.enforcement.evaluateEnd(), null, null)
      else this.finish()
    })
  }

  protected override take (piece: GrpcMessage | Unreadable): void {
    if ('rest' in piece) {
      if (piece.fault !== null && this.isRejected(unreadableBy(piece.fault))) return
      this.forward(piece.rest)
      return
    }
    if (piece.compressed) {
      if (!this.isRejected('encoding')) this.forward(piece.frame)
      return
    }
    this.events++
    this.settle(this.enforcement.evaluate(piece.bytes, this.events), piece, piece.bytes)
  }

  protected override send (decision: ResponseDecision, piece: GrpcMessage | Unreadable | null): void {
    this.envelope.notice(decision)
    if (piece === null || 'rest' in piece) return this.finish()
    const frame = this.enforcement.edited(piece, decision)
    if (frame === null) this.over = true
    else this.forward(frame)
  }

  private isRejected (why: UnreadableReason): boolean {
    this.events++
    const rejected = this.enforcement.unreadable(why, this.events)
    if (rejected) this.over = true
    return rejected
  }

  private forward (bytes: Buffer): void {
    this.envelope.begin()
    this.driver.write(bytes)
  }

  private finish (): void {
    this.over = true
    this.envelope.finish([])
  }
}
