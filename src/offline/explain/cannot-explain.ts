import type { Diagnostic } from '#config/diagnostics.js'

/** Error when there is nothing to explain. Its message is one sentence for the user: what is missing and how to give it. */
export class CannotExplain extends Error {
  override readonly name = 'CannotExplain'
  /** The problems of a file with their positions, if the problem is a file. */
  readonly problems: readonly Diagnostic[]

  constructor (message: string, problems: readonly Diagnostic[] = []) {
    super(message)
    this.problems = problems
  }
}
