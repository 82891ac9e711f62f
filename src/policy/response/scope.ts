/** Which policies have work with an answer, told before a byte of it is there. */
import type { Operation } from '../../a2a/operations.js'
import type { ResponseContext } from './evaluator.js'
import type { CompiledResponses, PolicyActivity } from '../compile/compiled.js'
import type { Decision } from '../request/decision.js'
import { isFor } from './rules.js'

/** Operations that answer with messages and tasks, methods that no table knows included: those are read where they look like it. */
const RESPONDED: ReadonlySet<Operation> = new Set<Operation>(['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'Other'])

export function hasResults (operation: Operation): boolean {
  return RESPONDED.has(operation)
}

/** Whether what is remembered of a task matters to an answer: a list shows tasks as they were, in no order. */
export function remembersOf (operation: Operation): boolean {
  return operation !== 'ListTasks' && hasResults(operation)
}

export interface Work {
  readonly state: PolicyActivity
  readonly responses: CompiledResponses
  /** Whether owned data is removed: the client did not activate the extension. */
  readonly strips: boolean
  /** Whether something is to be done about it: the answer refused or changed, or told to the caller. */
  readonly enforces: boolean
  readonly annotates: boolean
  readonly evaluatesLast: boolean
  /** Nothing but the extension's data is looked for, as proof that it is active. */
  readonly idle: boolean
}

/**
 * Of one answer: the policies that say something of it, in order.
 * @param proves whether those count too whose data proves their extension active
 */
export function workOf ({ policy, decision, operation }: ResponseContext, proves: boolean): Work[] {
  const works: Work[] = []
  for (const state of decision.activity) {
    const { responses } = state.policy
    if (responses === null || (responses.silent && !proves)) continue
    const work = oneWork(state, responses, operation, decision, policy.hidden)
    if (!work.idle || (proves && responses.owned.length > 0)) works.push(work)
  }
  return works
}

function oneWork (state: PolicyActivity, responses: CompiledResponses, operation: Operation, decision: Decision, hidden: ReadonlySet<string>): Work {
  const { policy } = state
  const { acts } = responses
  const strips = responses.strips && responses.owned.length > 0 && !isActivatedByClient(state, decision, hidden)
  const canEvaluate = state.active || (!responses.strips && (policy.activation.signals === null || responses.owned.length > 0))
  const rules = canEvaluate ? responses.rules.filter(rule => isFor(rule, operation)) : []
  const remembers = canEvaluate && remembersOf(operation) && (policy.state !== null || policy.correlations.length > 0)
  const observes = canEvaluate && (responses.metrics.length > 0 || responses.attributes.length > 0)
  const redacts = responses.redact.length > 0
  const rejectsByMemory = remembers && (policy.state?.mode.response === 'enforce' || policy.correlations.some(one => one.check.on === 'response' && one.mode === 'enforce'))
  return {
    state,
    responses,
    strips,
    enforces: rejectsByMemory || (acts && (strips || redacts || rules.some(rule => rule.verdict === 'reject' || rule.verdict === 'strip'))),
    annotates: acts && rules.some(rule => rule.verdict === 'annotate'),
    evaluatesLast: rules.some(rule => rule.event === 'last'),
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
export function isResponseEvaluated ({ state: { policy, active }, responses }: Work, evidence: string | null): boolean {
  // What is not active is removed, so there is nothing to judge.
  if (responses.strips) return active
  return policy.activation.signals === null || active || evidence !== null
}
