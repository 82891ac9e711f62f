/** Names the counts of limits that a request adds to. The front asks a store for them; `explain` lists the limits. Pure. */
import type { Call } from '#a2a/message/call.js'
import type { Operation } from '#a2a/operations.js'
import { tenantOf } from '#a2a/task-id.js'
import type { Charge, CompiledLimit } from '#policy/limits/charge.js'
import type { LimitedHead } from '#policy/limits/keys.js'
import { chargesOf } from '#policy/limits/keys.js'
import { additionName } from '#policy/request/methods.js'
import type { OperationRoute } from '#a2a/route.js'
import type { RequestEvaluation } from '../request-evaluation.js'

/** The limits that need only the head of a request. */
export function earlyCharges (limits: readonly CompiledLimit[], head: LimitedHead): Charge[] {
  return chargesOf(limits, head, null)
}

/**
 * Operations that a spent budget rejects: those that let an agent begin work. A client can still fetch or cancel a task that it has paid
 * for.
 */
const SPENDING: ReadonlySet<Operation> = new Set<Operation>(['SendMessage', 'SendStreamingMessage', 'Extension', 'Other'])

export interface LateCharges {
  /** The limits and budgets that decide about the call. */
  readonly decisive: readonly Charge[]
  /** The budgets that the response is charged to, whatever the operation. */
  readonly budgets: readonly Charge[]
}

/** The limits that need the call, once the rules accept it. */
export function lateCharges (
  limits: readonly CompiledLimit[],
  head: LimitedHead,
  { call, route, evaluation }: { readonly call: Call, readonly route: OperationRoute, readonly evaluation: RequestEvaluation }
): LateCharges {
  const method = call.operation === 'Other' ? call.method : null
  const added = additionName(evaluation.policy, method, route.extensionRoute) !== null
  const operation = added ? 'Extension' : call.operation
  const charges = chargesOf(limits, head, {
    operation,
    tenant: tenantOf(call, route.tenant),
    extensions: limits.some(needsExtensions) ? extensionsOf(evaluation, method, route.extensionRoute) : []
  })
  const budgets = charges.filter(({ limit }) => limit.spends !== null)
  const spends = SPENDING.has(operation)
  return { decisive: budgets.length === 0 || spends ? charges : charges.filter(({ limit }) => limit.spends === null), budgets }
}

function needsExtensions ({ by, extension }: CompiledLimit): boolean {
  return extension !== null || by.includes('extension')
}

/** Labels of the extensions that are active in the call, or that its method or route belongs to. */
function extensionsOf ({ decision, policy }: RequestEvaluation, method: string | null, route: string | null): string[] {
  const added = route !== null ? policy.routes.get(route) : method !== null ? policy.methods.get(method) : undefined
  return [...new Set([...decision.active.map(uri => policy.labels.get(uri) ?? 'other'), ...(added ?? []).map(addition => addition.policy)])]
}
