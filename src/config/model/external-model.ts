/** `decisionPoints` and `agents[].external`: decisions that a policy server makes (AuthZEN Authorization API 1.0). */
import type { AccessCondition } from './access-model.js'
import type { CallerConfig } from './identity-model.js'
import type { ClientTlsConfig } from './listener-model.js'
import type { SecretHeaders } from './credentials-model.js'

/** One policy server. */
export interface DecisionPointConfig {
  /** Address of the evaluation endpoint. An address without a path is an origin, whose metadata names the endpoints. */
  readonly url: string
  /** Address of the evaluations endpoint, for several questions about one call. Null: one request for each question. */
  readonly batchUrl: string | null
  /** Time for one question, with the wait for a free connection, ms. */
  readonly timeout: number
  /** Treatment of a call whose question has no valid answer. */
  readonly onError: 'reject' | 'forward'
  /** Sent with every question. */
  readonly headers: SecretHeaders
  /** Where the server's policies read the context: in `context`, or in a copy within the properties of the resource. */
  readonly contextIn: 'context' | 'resource'
  readonly tls: ClientTlsConfig
  /** Largest number of questions under way, in each process. */
  readonly concurrency: number
  /** `ttl` in ms; 0: the gateway remembers no answer. */
  readonly cache: { readonly ttl: number, readonly entries: number }
}

/** One entry of `external`. */
export interface ExternalConfig {
  /** Unique among the entries of the agent; a metric label. */
  readonly id: string
  /** Name in `decisionPoints`. */
  readonly use: string
  /** Operations by their 1.0 names, `messages`, `Extension` and `all`. */
  readonly operations: readonly string[]
  readonly phase: 'request' | 'response' | 'both'
  /** `facts`: what the gateway knows about the call. `message`: also the request object, or the result. */
  readonly send: 'facts' | 'message'
  /** JSON Pointers into the request object or the result, with `*` for any step: these values never leave. */
  readonly redact: readonly string[]
  readonly mode: 'enforce' | 'observe'
  readonly when?: ExternalCondition
}

/** A condition on the request. All given keys must hold. */
export interface ExternalCondition extends AccessCondition {
  readonly caller?: CallerConfig
  /** URI of an extension that is active in the request. */
  readonly active?: string
}
