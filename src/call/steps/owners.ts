/** Looks up to whom the tasks and contexts of a request belong (`access.tasks`). */
import { namedIds } from '#pipeline/access/ownership.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import { MAX_IDS, taskCallerOf } from '#policy/access/ownership.js'
import type { Work } from '../work.js'
import type { Exchange } from '../exchange.js'

/** @returns undefined without `access.tasks`; a promise, which never rejects, when the store needs time */
export function ownersOf (
  exchange: Exchange,
  { agent, state, route, query, parsed }: Work
): OwnerFindings | undefined | Promise<OwnerFindings> {
  const { ownership } = state.policy[route.version]
  if (ownership === null) return undefined
  const caller = taskCallerOf(ownership, exchange.principal)
  const ids = namedIds(ownership, route, parsed, query)
  // Nothing is looked up for callers who may use everything, and for requests that are rejected in any case.
  if (caller.shared || ids.length > MAX_IDS) return { caller, ids, owners: ids.map(() => null) }
  // Without a name, this shows whether the store is available at all.
  const owners = exchange.services.tasks.owners(agent.name, ids, null)
  return owners instanceof Promise ? owners.then(owners => ({ caller, ids, owners })) : { caller, ids, owners }
}
