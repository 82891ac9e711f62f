import type { Diagnostic } from '#config/diagnostics.js'
import type { ErrorCode } from '#operator-errors.js'
import { OperatorError } from '#operator-errors.js'

/** Error when there is nothing to explain. Its message is one sentence for the user: what is missing and how to give it. */
export class CannotExplain extends OperatorError {
  override readonly name = 'CannotExplain'
  /** The problems of a file with their positions, if the problem is a file. */
  readonly problems: readonly Diagnostic[]

  constructor (message: string, problems: readonly Diagnostic[] = [], code: ErrorCode = 'A2AGW_ERR_NOT_EXPLAINED') {
    super(code, message)
    this.problems = problems
  }
}
