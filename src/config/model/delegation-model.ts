/** `delegation` and `access.delegation`: calls that agents send on behalf of others. */
import type { CallerConfig } from './identity-model.js'
import type { SigningKeyConfig } from './signing-key-model.js'

/** The gateways that pass a signed chain of callers on to each other. `key` signs the chains of this gateway. */
export interface DelegationConfig extends SigningKeyConfig {
  /** Name of this gateway in chains. */
  readonly gateway: string
  /** Issuer of the chains of all gateways of the domain. */
  readonly trustDomain: string
  /** Keys of the other gateways. */
  readonly keys: readonly ChainKeysConfig[]
  /** Time for which a chain is valid, ms. */
  readonly ttl: number
  /** Callers that are agents, and must send a chain. Null: nobody must. */
  readonly agents: CallerConfig | null
}

/** Exactly one of `url` and `file` is not null. `file` is absolute. */
export interface ChainKeysConfig {
  readonly url: string | null
  readonly file: string | null
  /** ms */
  readonly maxStale: number
}

/** `access.delegation` of an agent. */
export interface AgentDelegationConfig {
  /** Agents that may stand between the initiator and this agent. */
  readonly maxDepth: number
  /** `authorize`: the access lists must allow the initiator too. */
  readonly initiator: 'authorize' | 'ignore'
  /** Time for the call and all calls that agents send for it, ms. Null: no limit. */
  readonly maxTime: number | null
  /** Agents that calls of this agent may reach, as `agent` or `gateway/agent`, with `*`. Null: all. */
  readonly mayReach: readonly string[] | null
  /** The agent as a caller of others. Null: the agent gets no chain. */
  readonly as: PresenterConfig | null
}

/** A caller by its exact properties. At least one of `subject`, `client` and `spiffe` is given. */
export interface PresenterConfig {
  readonly source?: string
  readonly subject?: string
  readonly client?: string
  readonly spiffe?: string
}
