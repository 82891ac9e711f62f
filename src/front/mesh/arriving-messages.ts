/** The messages of a proxy, from their first byte: within the memory budget, and within `limits.requestTimeout`. */
import type { Config } from '#config/model/model.js'
import type { MemoryBudget } from '#call/memory-budget.js'
import type { Guarded } from '#guard.js'
import { guarded } from '#guard.js'
import type { GrpcFault, GrpcMessage } from '#wire/grpc/deframer.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import type { Timed } from '#call/late-timers.js'
import { startTimerLater } from '#call/late-timers.js'

/** Bytes that Envoy adds to a body in its messages. */
const AROUND = 262_144
/** First bytes of a message that is given up: they have the address of the request. */
const START = 65_536

/** A call of a proxy. */
export interface MessageOwner extends Guarded {
  /** A message is not complete within `limits.requestTimeout`. */
  late (): void
}

export class ArrivingMessages implements Timed {
  private readonly owner: MessageOwner
  private readonly budget: MemoryBudget
  private readonly timeout: number
  private readonly deframer: GrpcDeframer
  /** Bytes of the incomplete message in the budget. */
  private held = 0
  /** Bytes of complete messages in the budget, until somebody takes them over. */
  private complete = 0
  /** A message has begun, or the first one is to come. */
  private waits = true
  private timer: NodeJS.Timeout | null = null
  private over = false
  /** True once the budget had no room for a message. */
  isRefused = false

  /** @param longest bytes of the largest body in a message */
  constructor (owner: MessageOwner, { requestTimeout }: Config['limits'], budget: MemoryBudget, longest: number) {
    this.owner = owner
    this.budget = budget
    this.timeout = requestTimeout
    this.deframer = new GrpcDeframer(longest + AROUND)
    startTimerLater(this)
  }

  get fault (): GrpcFault | null {
    return this.deframer.fault
  }

  /**
   * Only the bytes of an incomplete message take room here. A complete message goes to a reader at once, which has its own reservation.
   * @param refuses false where the bytes count, but are never refused
   * @returns the messages that are complete now; none once a message is refused
   */
  feed (chunk: Buffer, refuses: boolean): readonly GrpcMessage[] {
    if (this.over) return NONE
    const messages = this.deframer.feed(chunk)
    if (messages.length > 0) {
      this.complete += this.held
      this.held = 0
      this.stopTimer()
    }
    const { waiting } = this.deframer
    if (waiting === 0) return messages
    if (!this.waits) {
      this.waits = true
      startTimerLater(this)
    }
    const more = waiting - this.held
    if (refuses && !this.budget.reserve(more, this.held)) {
      this.isRefused = true
      return NONE
    }
    if (!refuses) this.budget.add(more)
    this.held = waiting
    return messages
  }

  /** Gives the reservation of the complete messages to the caller. @returns its bytes */
  handOver (): number {
    const { complete } = this
    this.complete = 0
    return complete
  }

  /** Gives the incomplete message up, with its memory. @returns a copy of its first bytes, without the prefix */
  giveUp (): Buffer {
    const start = Buffer.from(this.deframer.giveUp().subarray(PREFIX, START))
    this.end()
    return start
  }

  /** Takes no more messages. */
  end (): void {
    if (this.over) return
    this.over = true
    this.stopTimer()
    this.budget.release(this.held + this.handOver())
    this.held = 0
  }

  startTimer (): void {
    const { owner } = this
    if (this.waits && !this.over && this.timer === null) this.timer = setTimeout(guarded(owner, () => { owner.late() }), this.timeout)
  }

  private stopTimer (): void {
    this.waits = false
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }
}

const NONE: readonly GrpcMessage[] = []
/** Flag and length of a message. */
const PREFIX = 5
