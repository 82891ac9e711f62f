/** Determines which policies have work with a response, before the first byte of the response arrives. */
import type { Operation } from '#a2a/operations.js'
import { hasResults } from '#a2a/operations.js'
import type { ResponseContext } from './evaluator.js'
import type { CompiledResponseRule, CompiledResponses, PolicyActivity } from '../compile/compiled.js'
import type { Decision } from '../request/decision.js'
import type { ResultSubject } from './result-subject.js'

/** True when the memory of a task matters to a response. A list shows tasks in earlier states, and in no order. */
export function remembersOf (operation: Operation): boolean {
  return operation !== 'ListTasks' && hasResults(operation)
}

export interface Work {
  readonly state: PolicyActivity
  readonly responses: CompiledResponses
  /** JSON-RPC method of the request if it is no operation of A2A; otherwise null. */
  readonly method: string | null
  /** True when owned data is removed: the client did not activate the extension. */
  readonly strips: boolean
  /** `enforces`: the response may be rejected or changed. `annotates`: a broken rule may be reported to the caller. */
  readonly enforces: boolean
  readonly annotates: boolean
  readonly evaluatesLast: boolean
  /** True when the only work is to look for the extension's data, as proof that the extension is active. */
  readonly idle: boolean
}

/**
 * Returns the policies that apply to one response, in order.
 * @param proves true if policies also count when they only prove by data that their extension is active
 */
export function workOf (context: ResponseContext, proves: boolean): Work[] {
  const { decision } = context
  const works: Work[] = []
  for (const state of decision.activity) {
    const { responses } = state.policy
    if (responses === null || (responses.silent && !proves)) continue
    const work = oneWork(state, responses, context)
    if (!work.idle || (proves && responses.owned.length > 0)) works.push(work)
  }
  return works
}

function oneWork (
  state: PolicyActivity,
  responses: CompiledResponses,
  { policy: { hidden }, decision, operation, method }: ResponseContext
): Work {
  const { policy } = state
  const { acts } = responses
  const strips = responses.strips && responses.owned.length > 0 && !isActivatedByClient(state, decision, hidden)
  const canEvaluate = state.active || (!responses.strips && (policy.activation.signals === null || responses.owned.length > 0))
  // A call of the policy's own method uses the extension, whether or not the client activates the extension.
  const rules = responses.rules.filter(rule => (canEvaluate || rule.ofMethod) && isFor(rule, operation, method))
  const remembers = canEvaluate && remembersOf(operation) && (policy.state !== null || policy.correlations.length > 0)
  const observes = canEvaluate && (responses.metrics.length > 0 || responses.attributes.length > 0)
  const redacts = responses.redact.length > 0
  const rejectsByMemory =
    remembers &&
    (policy.state?.mode.response === 'enforce' || policy.correlations.some(correlation => correlation.check.on === 'response' && correlation.mode === 'enforce'))
  return {
    state,
    responses,
    method,
    strips,
    enforces: rejectsByMemory || (acts && (strips || redacts || rules.some(rule => rule.verdict === 'reject' || rule.verdict === 'strip'))),
    annotates: acts && rules.some(rule => rule.verdict === 'annotate'),
    evaluatesLast: rules.some(rule => rule.event === 'last'),
    idle: !strips && !redacts && rules.length === 0 && !remembers && !observes
  }
}

/**
 * True when the client activated the extension. An extension that only the gateway requests, without exposing it, is not activated by the
 * client.
 */
function isActivatedByClient (
  { policy, active, evidence }: PolicyActivity,
  { injected, listed }: Decision,
  hidden: ReadonlySet<string>
): boolean {
  if (!active || !injected.includes(policy.uri) || !hidden.has(policy.uri)) return active
  const { signals } = policy.activation
  return (
    signals !== null &&
    (signals.has('always') ||
      (signals.has('listed') && policy.activators.some(uri => listed.includes(uri))) ||
      (signals.has('evidence') && evidence !== null))
  )
}

/** True when the rules of a policy evaluate a result. The rules of an inactive extension also run when its data is present. */
export function isResponseEvaluated ({ state: { policy, active }, responses }: Work, evidence: string | null): boolean {
  // The data of an inactive extension is removed, so there is nothing to evaluate.
  if (responses.strips) return active
  return policy.activation.signals === null || active || evidence !== null
}

/** True when a rule applies to responses of this operation at all. */
export function isFor ({ on }: CompiledResponseRule, operation: ResultSubject['operation'], method: string | null): boolean {
  return on === null || on.has(operation) || (method !== null && on.has(method))
}
