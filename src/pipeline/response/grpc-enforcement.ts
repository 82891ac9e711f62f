/** Evaluates one gRPC response for all kinds of bodies. */
import type { CallProblem } from '#a2a/message/call.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import type { ResponseDecision } from '#policy/response/evaluator.js'
import { editProtobuf } from '#wire/protobuf/edit.js'
import { withExplicitNulls } from '#wire/protobuf/nulls.js'
import type { GrpcFault, GrpcMessage } from '#wire/grpc/deframer.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { internal } from '../rejections.js'
import type { UnreadableReason } from '../response-problems.js'
import { ambiguousMessages, compressedMessage, messageTooLarge, notProtobuf } from '../response-problems.js'
import { Enforcement } from './enforcement.js'
import type { EvaluationPlan } from './driver.js'
import type { GrpcEnvelope } from './grpc-envelope.js'
import type { GrpcResponseDriver } from './grpc-driver.js'
import type { EchoPlan } from '../echo.js'

export class GrpcEnforcement extends Enforcement {
  readonly envelope: GrpcEnvelope
  private readonly table: MessageTable

  /** @param table of the response messages */
  constructor (
    { evaluation, echo, table }: { readonly evaluation: EvaluationPlan, readonly echo: EchoPlan, readonly table: MessageTable },
    envelope: GrpcEnvelope,
    driver: GrpcResponseDriver,
    stop: () => void
  ) {
    super(evaluation, echo, envelope.echoed, driver, stop)
    envelope.evaluator = evaluation.evaluator
    this.envelope = envelope
    this.table = table
  }

  /**
   * Makes the edits of a decision, and writes the nulls that clients read differently.
   * @returns the frame of the message; null when an edit does not fit, and the response is rejected
   */
  edited ({ frame, bytes }: GrpcMessage, { edits, nulls, changed }: ResponseDecision): Buffer | null {
    if (edits.length === 0 && nulls === undefined && changed === undefined) return frame
    try {
      const body = changed ?? bytes
      return grpcFrame(editProtobuf(nulls === undefined ? body : withExplicitNulls(body, nulls), this.table, edits))
    } catch (error) {
      this.driver.fault(error)
      this.reject(internal)
      return null
    }
  }

  protected override problemOf (reason: UnreadableReason | 'no_memory', event: boolean): CallProblem {
    switch (reason) {
      case 'too_large': return event ? messageTooLarge(this.limits.event) : super.problemOf(reason, event)
      case 'encoding': return compressedMessage
      case 'malformed': return ambiguousMessages
      case 'content_type': return notProtobuf
      default: return super.problemOf(reason, event)
    }
  }
}

/** Reason why bytes that are not a message cannot be read. */
export function unreadableBy (fault: GrpcFault): UnreadableReason {
  return fault === 'too_large' ? 'too_large' : 'malformed'
}
