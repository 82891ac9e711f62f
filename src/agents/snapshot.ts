import type { Config } from '#config/model/model.js'
import type { PublicJwk } from '#identity/signing-key.js'
import type { Agents } from '#pipeline/agents.js'
import type { AgentLimits } from '#policy/limits/charge.js'
import type { TrustedProxies } from '#wire/forwarded.js'
import type { Agent } from './agent.js'
import type { Delegations } from './delegations.js'
import type { DecisionPoints } from './decision-points.js'
import type { Identity } from './identity/identity.js'

/** The state that a request begins with and keeps. A configuration change replaces it as a whole. */
export interface Snapshot {
  readonly limits: Config['limits']
  readonly trusted: TrustedProxies
  /** Host names that the gateway serves, in lower case and without port. Null: all. */
  readonly hosts: ReadonlySet<string> | null
  readonly agents: Agents<Agent>
  /** Null: nobody needs to authenticate. */
  readonly identity: Identity | null
  /** Null: the gateway neither writes nor reads signed chains of callers. */
  readonly delegations: Delegations | null
  /** Null: no policy server decides about calls. */
  readonly decisionPoints: DecisionPoints | null
  /** `rates` and `budgets` by name of the agent; null without any. */
  readonly rates: ReadonlyMap<string, AgentLimits> | null
  /** The public keys of the gateway, in the order of the agents. Null: the gateway signs nothing, and has no key set. */
  readonly keys: readonly PublicJwk[] | null
  /** `server.catalog`. Null: the gateway publishes no AI Catalog. */
  readonly catalog: Config['server']['catalog']
}
