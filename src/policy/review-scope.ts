/** Which policies have work with an answer, told before a byte of it is there. */
import type { Operation } from '../a2a/operations.js'
import type { AnswerContext } from './answer.js'
import type { CompiledAnswers, PolicyActivity } from './compiled.js'
import type { Decision } from './decision.js'
import { isFor } from './review-rules.js'

/** Operations that answer with messages and tasks, methods that no table knows included: those are read where they look like it. */
const ANSWERED: ReadonlySet<Operation> = new Set<Operation>(['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'Other'])

export function hasResults (operation: Operation): boolean {
  return ANSWERED.has(operation)
}

/** Whether what is remembered of a task matters to an answer: a list shows tasks as they were, in no order. */
export function remembersOf (operation: Operation): boolean {
  return operation !== 'ListTasks' && hasResults(operation)
}

export interface Work {
  readonly state: PolicyActivity
  readonly answers: CompiledAnswers
  /** Whether owned data is removed: the client did not activate the extension. */
  readonly strips: boolean
  /** Whether something is to be done about it: the answer refused or changed, or told to the caller. */
  readonly enforces: boolean
  readonly annotates: boolean
  readonly judgesLast: boolean
  /** Nothing but the extension's data is looked for, as proof that it is active. */
  readonly idle: boolean
}

/**
 * Of one answer: the policies that say something of it, in order.
 * @param proves whether those count too whose data proves their extension active
 */
export function workOf ({ policy, decision, operation }: AnswerContext, proves: boolean): Work[] {
  const works: Work[] = []
  for (const state of decision.activity) {
    const { answers } = state.policy
    if (answers === null || (answers.silent && !proves)) continue
    const work = oneWork(state, answers, operation, decision, policy.hidden)
    if (!work.idle || (proves && answers.owned.length > 0)) works.push(work)
  }
  return works
}

function oneWork (state: PolicyActivity, answers: CompiledAnswers, operation: Operation, decision: Decision, hidden: ReadonlySet<string>): Work {
  const { policy } = state
  const { acts } = answers
  const strips = answers.strips && answers.owned.length > 0 && !isActivatedByClient(state, decision, hidden)
  const canJudge = state.active || (!answers.strips && (policy.activation.signals === null || answers.owned.length > 0))
  const rules = canJudge ? answers.rules.filter(rule => isFor(rule, operation)) : []
  const remembers = canJudge && remembersOf(operation) && (policy.state !== null || policy.correlations.length > 0)
  const observes = canJudge && (answers.metrics.length > 0 || answers.attributes.length > 0)
  const redacts = answers.redact.length > 0
  const refusesByMemory = remembers && (policy.state?.mode.answer === 'enforce' || policy.correlations.some(one => one.check.on === 'response' && one.mode === 'enforce'))
  return {
    state,
    answers,
    strips,
    enforces: refusesByMemory || (acts && (strips || redacts || rules.some(rule => rule.verdict === 'reject' || rule.verdict === 'strip'))),
    annotates: acts && rules.some(rule => rule.verdict === 'annotate'),
    judgesLast: rules.some(rule => rule.event === 'last'),
    idle: !strips && !redacts && rules.length === 0 && !remembers && !observes
  }
}

/** What only the gateway asks for, without showing it, the client did not activate. */
function isActivatedByClient ({ policy, active, evidence }: PolicyActivity, { injected, listed }: Decision, hidden: ReadonlySet<string>): boolean {
  if (!active || !injected.includes(policy.uri) || !hidden.has(policy.uri)) return active
  const { signals } = policy.activation
  return signals !== null && (signals.has('always') || (signals.has('listed') && listed.includes(policy.uri)) || (signals.has('evidence') && evidence !== null))
}

/** Whether rules look at a result: an extension that is not active is judged all the same where its data is. */
export function isAnswerJudged ({ state: { policy, active }, answers }: Work, evidence: string | null): boolean {
  // What is not active is removed, so there is nothing to judge.
  if (answers.strips) return active
  return policy.activation.signals === null || active || evidence !== null
}
