/** Steps of `access.tasks` around a call: which names need an owner, and the work on the response. */
import type { Call } from '#a2a/message/call.js'
import { carriesMessage } from '#a2a/operations.js'
import { idsOf } from '#a2a/request-ids.js'
import type { NamedId } from '#a2a/request-ids.js'
import type { CompiledOwnership, OwnerFindings } from '#policy/access/ownership.js'
import { checkedIds, MAX_IDS } from '#policy/access/ownership.js'
import { keyOf } from '../response/ownership.js'
import type { OwnershipPlan } from '../response/driver.js'
import type { OperationRoute } from '#a2a/route.js'

/** The tasks and contexts of a request that need an owner. @param query with its leading `?`, or '' */
export function namedIds (ownership: CompiledOwnership, route: OperationRoute, call: Call, query: string): readonly NamedId[] {
  const address = route.binding === 'HTTP+JSON' ? { path: route.upstreamPath, query } : null
  return checkedIds(ownership, idsOf(call, address, MAX_IDS))
}

/** The work on the response to a forwarded request. Null when no task or context in it needs an owner. */
export function ownershipPlanOf (
  ownership: CompiledOwnership | null,
  call: Call,
  findings: OwnerFindings | undefined
): OwnershipPlan | null {
  if (ownership === null || findings === undefined) return null
  const sends = carriesMessage(call.operation)
  const { caller, ids, owners } = findings
  // Responses about one task have the task that the request names, and the agent made its id.
  if (!sends && (call.operation !== 'ListTasks' || caller.shared)) return null
  const proven = ids.filter((_, i) => caller.shared || (owners !== 'unavailable' && owners[i] === caller.owner))
  return {
    ownership,
    caller,
    operation: sends ? 'send' : 'list',
    proven: new Set(proven.map(keyOf)),
    // A caller who may use all tasks must not become the owner of a task that another caller has created.
    claims: sends && !(caller.shared && ids.length > 0)
  }
}
