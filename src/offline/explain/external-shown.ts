/** Questions to policy servers, as `explain` shows them. */
import type { DryAsk } from '#pipeline/dry-run-operation.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { ExternalShown } from './explanation.js'

function answerShown (settled: DryAsk['settled']): ExternalShown['answer'] {
  if (settled === null) return null
  const { answer } = settled
  return answer.kind === 'failed'
    ? { problem: answer.problem }
    : {
        decision: answer.decision,
        ...(answer.id === null ? {} : { id: answer.id }),
        ...(answer.reasonUser === null ? {} : { reasonUser: answer.reasonUser }),
        ...(answer.reasonAdmin === null ? {} : { reasonAdmin: answer.reasonAdmin }),
        obligations: answer.obligations
      }
}

/** @returns nothing for a request about which nobody is asked */
export function externalShown (asks: readonly DryAsk[]): { readonly external?: readonly ExternalShown[] } {
  return asks.length === 0
    ? {}
    : {
        external: asks.map(({ asking: { rule, use, mode, body, unaskable }, settled }) => ({
          rule,
          use,
          mode,
          question: parseJson(body) as ExternalShown['question'],
          outcome: unaskable ?? settled?.outcome ?? null,
          refused: settled?.refused ?? null,
          answer: answerShown(settled)
        }))
      }
}

function jsonLines (what: string, value: unknown): string[] {
  return `${what} ${JSON.stringify(value, null, 2)}`.split('\n').map(line => `    ${line}`)
}

/** Formats the questions of a request or of a response. */
export function externalText (asks: readonly ExternalShown[] = []): string[] {
  if (asks.length === 0) return []
  return ['', 'policy servers', ...asks.flatMap(({ rule, use, mode, question, outcome, refused, answer }) => [
    `  ${rule}: asks ${use}${mode === 'observe' ? ' (observed only)' : ''}: ` +
      `${outcome ?? 'no answer is recorded, so the question has no effect here'}`,
    ...(refused === null ? [] : [`    ${refused}`]),
    ...jsonLines('question', question),
    ...(answer === null ? [] : jsonLines('answer', answer))
  ])]
}
