/** The decision about the chain of callers (`access.delegation`) in a dry run. The chain is given, and no signature is verified. */
import type { AgentConfig, DelegationConfig } from '#config/model/model.js'
import type { Chain } from '#identity/chain.js'
import type { Principal } from '#identity/principal.js'
import { compileCaller } from '#policy/access/caller.js'
import type { AccessOutcome } from './access/access.js'
import type { Delegation } from './access/delegation.js'
import { BUDGET_HEADER, readBudgets } from './access/chain-budgets.js'
import { delegate, rejectedInitiator } from './access/delegation.js'
import type { RequestHead } from './request-head.js'

export interface DryDelegation {
  readonly config: AgentConfig
  /** `delegation` of the configuration; null or absent for none. */
  readonly delegation?: DelegationConfig | null
}

/** Who calls, for whom, and when (milliseconds since the epoch). */
interface DryCaller { readonly caller?: Principal | null, readonly chain?: Chain | null, readonly now?: number }

/**
 * Decides as the running gateway does.
 * @param access what the access lists say about the initiator, from the head
 * @returns null for an agent without `access.delegation`
 */
export function dryRunDelegation (
  { config: { name, access: { delegation: config, mode } }, delegation = null }: DryDelegation,
  { caller = null, chain = null, now = 0 }: DryCaller,
  head: RequestHead,
  access: (initiator: Principal | null) => AccessOutcome | null
): Delegation | null {
  if (config === null) return null
  const decided = delegate({
    config,
    mode,
    gateway: delegation?.gateway ?? null,
    agent: name,
    caller,
    chain,
    newId: () => '',
    asked: readBudgets(head.headers[BUDGET_HEADER] as string | undefined) ?? new Map(),
    now,
    via: head.headers.via as string | undefined,
    isAgent: delegation !== null && delegation.agents !== null && compileCaller(delegation.agents, () => () => false)(caller),
    // Credentials are not part of a dry run: whether the agent needs any is not known.
    anonymous: true
  })
  const { authorize, problem } = decided
  return problem === null && authorize !== undefined ? { ...decided, ...rejectedInitiator(access(authorize)) } : decided
}
