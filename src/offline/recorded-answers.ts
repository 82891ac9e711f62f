/** Recorded answers of policy servers, by the name of the server: in policy tests, and for `explain`. */
import { mapping } from '#config/schema/schema-builder.js'
import type { Schema } from '#config/schema/schema-builder.js'
import type { Answer } from '#pipeline/external/answer.js'
import { readAnswer } from '#pipeline/external/answer.js'
import type { Asking } from '#pipeline/external/settle.js'
import type { DryRunMemory } from '#pipeline/dry-run-operation.js'

/** `error`: the server gives no valid answer, and the call is rejected, as with `onError: reject`. */
export type RecordedAnswers = Readonly<Record<string, Readonly<Record<string, unknown>> | 'error'>>

export const recordedAnswers: Schema = {
  type: 'object',
  description: 'Answers of policy servers (`decisionPoints`), by name: as the server would send them, or `error`. A question without an ' +
    'answer has no effect.',
  additionalProperties: {
    ...mapping('The answer.', [], {
      decision: { type: 'boolean', description: 'Whether the call is allowed.' },
      context: { type: 'object', description: '`reason_user`, `obligations` and other members of the answer.' }
    }),
    type: ['object', 'string']
  }
}

/** Returns the answer to each question. @param answers undefined: none */
export function answersOf (answers: RecordedAnswers | undefined): DryRunMemory['answers'] {
  return answers === undefined
    ? undefined
    : ({ use }: Asking): Answer | null => {
        const recorded = Object.hasOwn(answers, use) ? answers[use] : undefined
        if (recorded === undefined) return null
        const read = recorded === 'error' ? 'gives no answer' : readAnswer(recorded)
        return typeof read === 'string'
          ? { kind: 'failed', failure: 'malformed', problem: read, forward: false }
          : { ...read, cached: false }
      }
}
