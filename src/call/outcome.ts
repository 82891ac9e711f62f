/** Notes how a call ends, and what rules found in it, for its record. The first outcome wins: later events are consequences of it. */
import type { TaskNames } from '#a2a/task-id.js'
import { withFindings } from '#console/decisions.js'
import type { OwnerOutcome } from '#policy/access/ownership.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import type { Exchange } from './exchange.js'
import type { PhaseFindings } from '#console/entry.js'

export function settle (exchange: Exchange, outcome: Outcome): void {
  exchange.outcome ??= outcome
}

/** The agent responded with an error. The error is forwarded, unless something rejects it. */
export function noteAgentError (exchange: Exchange): void {
  exchange.agentFailed = true
}

/** Sets the outcome of a call whose response was forwarded to its end. */
export function settleForwarded (exchange: Exchange): void {
  settle(exchange, exchange.agentFailed ? 'agent_error' : 'forwarded')
}

/** The client has disconnected. It may do so as soon as it has read an error. */
export function settleAborted (exchange: Exchange): void {
  settle(exchange, exchange.agentFailed ? 'agent_error' : 'client_aborted')
}

/** Keeps the violations that rules found in the request or in its response. */
export function noteViolations (
  exchange: Exchange, phase: PhaseFindings['phase'], violations: PhaseFindings['violations'], edited: PhaseFindings['edited']
): void {
  if (exchange.services.decisions !== null) exchange.found = withFindings(exchange.found, { phase, violations, edited })
}

/** Keeps task and context of the agent's response. The first result wins: it is the request's own. */
export function noteTask (exchange: Exchange, { taskId, contextId }: TaskNames): void {
  exchange.result ??= { taskId, contextId }
}

/** Counts the check of the owner of a task or context. */
export function noteOwner (exchange: Exchange, outcome: OwnerOutcome): void {
  exchange.owner = outcome
  exchange.services.metrics.add('task_owner_checks_total', exchange.agentName, outcome)
}
