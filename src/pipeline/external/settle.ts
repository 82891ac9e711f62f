/** The consequences of answers: violations, and the effects of obligations. Pure: equal answers have equal consequences everywhere. */
import type { Violation } from '#policy/violation.js'
import { GATEWAY, violation } from '#policy/violation.js'
import type { Answer } from './answer.js'
import type { Effects, Target } from './obligations.js'
import { fulfil, noEffects } from './obligations.js'
import { MAX_QUESTION } from './question.js'

/** One question, as text. */
export interface Asking {
  /** Metric label: the id of the entry, or `policy/rule`. */
  readonly rule: string
  /** The policy and its rule; null for an entry of `external`. */
  readonly policy: { readonly name: string, readonly uri: string, readonly rule: string, readonly path: string } | null
  /** Name of the policy server. */
  readonly use: string
  readonly phase: 'request' | 'response'
  readonly mode: 'enforce' | 'observe'
  /** The access evaluation request: JSON. */
  readonly body: string
  /** Why it cannot be asked; null when it can. */
  readonly unaskable: 'inexact' | 'too_large' | null
}

export interface Answered { readonly asking: Asking, readonly answer: Answer }

/** How an answer ended, for metrics. */
export const EXTERNAL_OUTCOMES = ['allow', 'deny', 'obligation', 'error', 'forwarded'] as const
export type ExternalOutcome = typeof EXTERNAL_OUTCOMES[number]

/** One answer with its consequences, for telemetry. */
export interface Settled extends Answered {
  readonly outcome: ExternalOutcome
  /** The obligation that the gateway cannot fulfil; null for none. */
  readonly refused: string | null
}

export interface Settlement {
  readonly settled: readonly Settled[]
  /** Enforced ones first. */
  readonly violations: readonly Violation[]
  readonly effects: Effects
}

export const UNASKABLE = {
  inexact: 'a number of the call has more digits than a double keeps, so the policy server could read another number than the agent',
  too_large: `the question is larger than ${MAX_QUESTION} bytes`
} as const

/** @param target the body that obligations may change */
export function settle (answered: readonly Answered[], target: Target): Settlement {
  const settled: Settled[] = []
  const violations: Violation[] = []
  const effects = noEffects()
  for (const entry of answered) {
    const { asking, answer } = entry
    // An answer that only is observed has no effect, but for the messages that it asks to record.
    const own = asking.mode === 'enforce' ? effects : noEffects()
    const refused = answer.kind === 'decided' ? fulfil(answer.obligations, target, own) : null
    if (own !== effects) effects.notices.push(...own.notices)
    const outcome = outcomeOf(answer, refused)
    settled.push({ ...entry, outcome, refused })
    if (outcome === 'allow') continue
    violations.push(violationOf(asking, answer, outcome))
  }
  violations.sort((a, b) => Number(b.mode === 'enforce') - Number(a.mode === 'enforce'))
  return { settled, violations, effects }
}

function outcomeOf (answer: Answer, refused: string | null): ExternalOutcome {
  if (answer.kind === 'failed') return answer.forward ? 'forwarded' : 'error'
  if (!answer.decision) return 'deny'
  return refused === null ? 'allow' : 'obligation'
}

/** Rule of the gateway for entries of `external`. */
export const EXTERNAL_RULE = 'external'

const DENIED = 'The policy server of this gateway does not allow the call.'
const deniedBecause = (reason: string): string => `The policy server of this gateway does not allow the call: ${reason}`
const UNANSWERED = 'The gateway could not get a decision of its policy server about the call; call again later.'

/** The reason of the server for users is text of the operator. Nothing else of the answer leaves the gateway. */
function violationOf ({ policy, mode, rule }: Asking, answer: Answer, outcome: ExternalOutcome): Violation {
  const denied = answer.kind === 'decided'
  const reason = denied ? answer.reasonUser : null
  const message = denied ? (reason === null ? DENIED : deniedBecause(reason)) : UNANSWERED
  return {
    ...violation({
      mode: outcome === 'forwarded' ? 'observe' : mode,
      reason: denied ? 'EXTERNAL_DECISION_DENIED' : 'EXTERNAL_DECISION_UNAVAILABLE',
      extension: policy?.name ?? GATEWAY,
      uri: policy?.uri ?? null,
      rule: policy?.rule ?? EXTERNAL_RULE,
      path: policy?.path ?? '',
      message,
      isStandalone: true
    }),
    ...(policy === null ? { metadata: { decision: rule } } : {})
  }
}
