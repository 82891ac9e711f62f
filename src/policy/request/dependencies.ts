/** Finds the extensions that a request must also activate because other extensions require them, transitively. */
import { inRequirementScope } from '#a2a/operations.js'
import type { AgentPolicy, CompiledPolicy, Dependency, RequiredExtension } from '../compile/compiled.js'
import type { Activity } from './activation.js'
import { isActivatedByHeader, isRequested } from './activation.js'
import type { DecisionRequest } from './decision.js'
import { denied } from './callers.js'
import type { Violation } from '../violation.js'
import { violation } from '../violation.js'
import type { CompiledGuard, Forbidden } from '../access/forbidden.js'

/** An extension that the request must activate, but does not: the card requires it, or the called method belongs to it. */
export type Demand = Pick<RequiredExtension, 'uri' | 'mode'>

/**
 * Records every missing dependency of the extensions that are active, or that the gateway activates for the request. A client that adds the
 * extensions of one rejection therefore gets no second rejection for a dependency.
 * @param mayAdd true if the gateway itself requests the dependencies of policies with `onMissing: add`
 */
export function recordDependencies (
  request: DecisionRequest,
  activity: Activity,
  demands: readonly Demand[],
  { policy: agent, mayAdd, forbidden }: { readonly policy: AgentPolicy; readonly mayAdd: boolean; readonly forbidden: Forbidden | null },
  violations: Violation[]
): void {
  const { requested, call, headerName } = request
  const asked = [...requested, ...activity.injected]
  const done = new Set<CompiledPolicy>()
  const wanted = new Set<string>()
  const added = new Set<string>()
  const needs: { readonly policy: CompiledPolicy, readonly needed: Dependency, readonly enforced: boolean }[] = []
  // A dependency that follows from an observed rule is only observed, so that everything that follows from enforced rules is found first.
  for (const enforced of [true, false]) {
    for (const demand of demands) if (!enforced || demand.mode === 'enforce') wanted.add(demand.uri)
    for (let before = -1; before < done.size;) {
      before = done.size
      for (const { policy, active } of activity.policies) {
        const { requires, addsMissing, scope } = policy.activation
        if (requires.length === 0 || done.has(policy) || (enforced && policy.mode !== 'enforce')) continue
        if (!active && !(isActivatedByHeader(policy) && policy.activators.some(uri => wanted.has(uri)))) continue
        if (!inRequirementScope(scope ?? agent.enforceOn, call.operation)) continue
        done.add(policy)
        for (const needed of requires) {
          if (isRequested(needed, asked) || activity.policies.some(other => other.policy.uri === needed.uri && other.active)) continue
          wanted.add(needed.uri)
          if (addsMissing && mayAdd && forbidden?.has(needed.uri) !== true) added.add(needed.uri)
          else needs.push({ policy, needed, enforced })
        }
      }
    }
  }
  for (const { policy, needed, enforced } of needs) {
    if (added.has(needed.uri)) continue
    const guard = forbidden?.guardOf(needed.uri) ?? null
    violations.push(
      guard === null ? missingDependency(policy, needed, enforced, headerName) : forbiddenDependency(guard, policy, enforced, headerName)
    )
  }
}

/** The caller can use the extension of the policy only together with one that the caller may not use. */
function forbiddenDependency (guard: CompiledGuard, { uri }: CompiledPolicy, enforced: boolean, headerName: string): Violation {
  const message = `names the extension ${uri}, which requires ${guard.label}, which this caller may not use; call with credentials of a ` +
    'caller who may'
  return { ...denied(guard, `header ${headerName}`, message), mode: enforced ? 'enforce' : 'observe' }
}

function missingDependency (policy: CompiledPolicy, needed: Dependency, enforced: boolean, headerName: string): Violation {
  return violation({
    mode: enforced ? 'enforce' : 'observe',
    reason: 'EXTENSION_DEPENDENCY_MISSING',
    extension: policy.name,
    uri: policy.uri,
    rule: 'requires',
    path: `header ${headerName}`,
    message: `must also name ${needed.uri}, which the extension ${policy.uri} requires`,
    missing: needed.uri
  })
}
