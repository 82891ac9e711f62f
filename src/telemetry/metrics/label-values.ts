/** Values of metric labels: closed sets. A value outside a set does not compile. */
import type { Operation } from '#a2a/operations.js'
import { clipLabel } from './labelled-values.js'

/** Ways for calls to arrive: on a listener of the gateway, or as questions of a proxy. */
export const FRONTS = ['http', 'grpc', 'ext_authz', 'ext_proc'] as const
/** Ends of a request. */
export const OUTCOMES = ['forwarded', 'agent_error', 'rejected', 'client_aborted', 'upstream_error', 'gateway_error'] as const
/** Reason why a connection of a client brought no request, or was closed. */
export const CLIENT_ERRORS = [
  'header_overflow', 'malformed', 'timeout', 'other', 'dropped', 'write_timeout', 'tls_handshake', 'memory'
] as const
export const AUTHENTICATION_OUTCOMES = [
  'ok', 'missing', 'malformed', 'opaque', 'expired', 'audience', 'issuer', 'signature', 'unknown_key', 'source', 'incomplete', 'unavailable'
] as const
export const TOKEN_CACHE = ['hit', 'miss', 'none'] as const
export const RATE_STORE_OUTCOMES = ['ok', 'unavailable'] as const
export const CREDENTIAL_KINDS = ['clientCredentials', 'exchange', 'identity'] as const
export const CREDENTIAL_OUTCOMES = ['cached', 'new', 'rejected', 'unavailable', 'dropped'] as const
export const DELEGATION_OUTCOMES = [
  'direct', 'delegated', 'malformed', 'signature', 'unknown_key', 'expired', 'unavailable', 'presenter', 'missing', 'depth', 'loop', 'target', 'initiator', 'length', 'time'
] as const
export const EXTERNAL_OUTCOMES = ['allow', 'deny', 'obligation', 'error', 'forwarded'] as const
export const KEY_OUTCOMES = ['changed', 'unchanged', 'failed'] as const
export const PHASES = ['request', 'response', 'card'] as const
/** Halves of a call. */
export const CALL_PHASES = ['request', 'response'] as const
export const VIOLATION_MODES = ['enforce', 'observe'] as const
export const SOURCES = ['client', 'gateway'] as const
export const ECHOES = ['confirmed', 'absent', 'unexpected'] as const
export const CARD_OUTCOMES = ['changed', 'unchanged', 'not_modified', 'held', 'invalid', 'unreachable'] as const
export const RELOAD_OUTCOMES = ['ok', 'invalid'] as const
export const LOOKUP_OUTCOMES = ['known', 'unknown', 'unavailable'] as const
/** Outcomes of `Claimed`. */
export const OWNER_OUTCOMES = ['match', 'mismatch', 'unknown', 'unavailable', 'shared'] as const
export const PAUSE_OUTCOMES = ['paused', 'resumed', 'declined', 'canceled'] as const
export const CLAIM_OUTCOMES = ['new', 'seen', 'unavailable'] as const
export const ACCESS_DECISIONS = ['allow', 'deny'] as const
export const PUSH_DECISIONS = ['allow', 'observe', 'reject'] as const
export const ENTRY_STATES = ['admitted', 'waiting', 'rejected'] as const
export const WRITE_OUTCOMES = ['kept', 'lost'] as const
export const UNREAD_REASONS = ['too_large', 'no_memory', 'encoding', 'content_type', 'malformed'] as const
export const FAILURE_KINDS = [
  'refused', 'dns', 'connect_timeout', 'tls', 'reset', 'headers_timeout', 'body_timeout', 'queue_timeout', 'total_timeout', 'protocol',
  'too_large', 'redirect', 'resources', 'other'
] as const

/**
 * Operations of A2A, and other purposes of a request. An operation without an entry does not compile. `Extension` has none: each route of
 * an extension has the name that a policy gives it.
 */
export const OPERATIONS: Readonly<Record<Exclude<Operation, 'Extension'> | 'AgentCard' | 'Catalog' | 'Directory' | 'Passthrough' | 'Preflight', true>> = {
  SendMessage: true,
  SendStreamingMessage: true,
  GetTask: true,
  ListTasks: true,
  CancelTask: true,
  SubscribeToTask: true,
  CreateTaskPushNotificationConfig: true,
  GetTaskPushNotificationConfig: true,
  ListTaskPushNotificationConfigs: true,
  DeleteTaskPushNotificationConfig: true,
  GetExtendedAgentCard: true,
  AgentCard: true,
  Catalog: true,
  Directory: true,
  Passthrough: true,
  Preflight: true,
  Other: true
}

/**
 * Distinct label values of one agent in one process; the rest is `other`. The quota is per agent, because the agent's card names the
 * extensions, so that no agent turns the labels of another agent into `other`. The gateway's own rules are few, and are always exposed.
 */
const QUOTAS = {
  extensions: { size: 256, exempt: null },
  rules: { size: 1_024, exempt: 'gateway/' }
} as const
export type QuotaName = keyof typeof QUOTAS

/** Label values so far of each agent. */
export class LabelQuota {
  readonly #size: number
  /** Start of values that need no place. */
  readonly #exempt: string | null
  /** Values by agent. The configuration bounds the number of agents. */
  readonly #values = new Map<string, Set<string>>()

  constructor (name: QuotaName) {
    this.#size = QUOTAS[name].size
    this.#exempt = QUOTAS[name].exempt
  }

  /** Returns the value to expose: the first values of each agent unchanged, then `other`. */
  label (agent: string, text: string): string {
    if (this.#exempt !== null && text.startsWith(this.#exempt)) return text
    const value = clipLabel(text)
    let values = this.#values.get(agent)
    if (values === undefined) {
      values = new Set()
      this.#values.set(agent, values)
    }
    if (values.has(value)) return value
    if (values.size >= this.#size) return 'other'
    values.add(value)
    return value
  }
}
