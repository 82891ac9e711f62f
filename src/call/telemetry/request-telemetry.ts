/**
 * Reports the decision about a request to span, metrics and audit, and the end of a call to the log. Reports URIs and paths only, never
 * data.
 */
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Call } from '#a2a/message/call.js'
import type { Decision } from '#policy/request/decision.js'
import type { ResultSummary } from '#policy/response/evaluator.js'
import type { Violation } from '#policy/violation.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import type { SpanAttribute } from '#telemetry/traces/span-attributes.js'
import { grpcCodeName } from '#wire/grpc/code-names.js'
import type { Exchange } from '../exchange.js'
import type { Agent } from '#agents/agent.js'
import { noteOwner, noteViolations } from '../outcome.js'
import type { GrpcTarget } from '#a2a/card/map.js'
import type { AuditEntry } from '#telemetry/audit-fields.js'

/** @param paused true when the request waits for a person, instead of being rejected */
export function recordDecision (exchange: Exchange, call: Call, requested: readonly string[], decision: Decision, paused = false): void {
  exchange.requested = requested
  if (decision.owner !== null) noteOwner(exchange, decision.owner)
  if (exchange.span.recording) describeRequest(exchange, call, requested, decision)
  for (const { extension } of decision.unexamined) exchange.services.metrics.add('unexamined_data_total', exchange.agentName, extension)
  // A decision without violations, for example one that only injects, is the normal case. The span records it; an audit line per call would
  // hide the other lines.
  if (decision.violations.length === 0) return
  countViolations(exchange, 'request', decision.violations)
  const edited = decision.rejection === null ? decision.edited : []
  noteViolations(exchange, 'request', decision.violations, edited)
  exchange.services.audit.record(
    auditEntry(
      exchange,
      'request',
      paused ? 'paused' : decision.rejection !== null ? 'rejected' : edited.length > 0 ? 'edited' : 'observed',
      edited,
      decision.violations
    )
  )
}

/** Sets the attributes of the request on its span. */
function describeRequest (exchange: Exchange, call: Call, requested: readonly string[], decision: Decision): void {
  const { span } = exchange
  span.name(exchange.operation)
  span.set('a2a.method.name', exchange.operation)
  span.set('a2a_gateway.agent', exchange.agentName)
  const { taskId, contextId } = exchange.task
  if (taskId !== null) span.set('a2a.task.id', taskId)
  if (contextId !== null) span.set('a2a.context.id', contextId)
  if (exchange.binding !== 'HTTP+JSON') {
    for (const [name, value] of Object.entries(rpcAttributes(exchange, call))) span.set(name as SpanAttribute, value)
    if (call.idValue !== null) span.set('jsonrpc.request.id', String(call.idValue))
  }
  if (requested.length > 0) span.set('a2a.extension.requested', requested as string[])
  if (requested.length > 0 || decision.active.length > 0) span.set('a2a.extension.active', decision.active as string[])
  if (decision.injected.length > 0) span.set('a2a.extension.injected', decision.injected as string[])
  if (decision.missing.length > 0) span.set('a2a.extension.missing', decision.missing as string[])
  if (decision.rejection === null) span.set('a2a_gateway.decision', decision.violations.length === 0 ? 'forward' : 'observe')
  if (decision.rejection === null && decision.edited.length > 0) span.set('a2a_gateway.edited', decision.edited as string[])
}

/**
 * Opens the span of the call to the agent.
 * @param path at the agent, with or without query
 * @param call null when the gateway did not read the request
 */
export function startUpstreamSpan (exchange: Exchange, { upstream }: Pick<Agent, 'upstream'>, path: string, call: Call | null): void {
  const { request, span } = exchange
  if (!span.recording) return
  const scheme = upstream.protocol.slice(0, -1)
  const query = path.indexOf('?')
  span.upstreamStarted({
    'http.request.method': request.method ?? 'GET',
    'server.address': upstream.hostname,
    'server.port': upstream.port === '' ? (scheme === 'https' ? 443 : 80) : Number(upstream.port),
    'url.scheme': scheme,
    'url.path': query < 0 ? path : path.slice(0, query),
    ...(call === null || exchange.binding !== 'JSONRPC' ? {} : rpcAttributes(exchange, call))
  })
}

/**
 * Opens the span of a call to the agent's gRPC server.
 * @param path `/service/method`
 * @param call null when the gateway did not read the request
 */
export function startGrpcSpan (exchange: Exchange, { host, port, tls }: GrpcTarget, path: string, call: Call | null): void {
  const { span } = exchange
  if (!span.recording) return
  span.upstreamStarted({
    'http.request.method': 'POST',
    'server.address': host,
    'server.port': port,
    'url.scheme': tls ? 'https' : 'http',
    'url.path': path,
    ...(call === null ? {} : rpcAttributes(exchange, call))
  })
}

/** Attributes of a call over JSON-RPC or gRPC on both of its spans. */
function rpcAttributes ({ addition, binding }: Exchange, call: Call): Readonly<Partial<Record<SpanAttribute, string>>> {
  if (binding === 'GRPC') {
    const method = grpcMethodFor(call.operation, call.version)
    return { 'rpc.system.name': 'grpc', ...(method === null ? {} : { 'rpc.method': method.path.slice(1) }) }
  }
  return {
    'rpc.system.name': 'jsonrpc',
    'jsonrpc.protocol.version': '2.0',
    // A method that nothing declares is text that a client made up.
    ...(call.method === null ? {} : { 'rpc.method': call.operation === 'Other' && addition === null ? '_OTHER' : call.method })
  }
}

export function countViolations (exchange: Exchange, phase: 'request' | 'response', violations: readonly Violation[]): void {
  for (const item of violations) {
    const mode = item.mode === 'enforce' ? 'enforce' : 'observe'
    exchange.services.metrics.add('violations_total', exchange.agentName, item.extension, item.rule, phase, mode)
  }
}

/** @param violations at least one; the first enforced violation decides */
export function auditEntry (
  exchange: Exchange,
  phase: 'request' | 'response',
  decision: AuditEntry['decision'],
  edited: readonly string[],
  violations: readonly Violation[]
): AuditEntry {
  const deciding = violations.find(violation => violation.mode === 'enforce') ?? (violations[0] as Violation)
  return {
    ...plainEntry(exchange, phase, decision),
    reason: deciding.customReason ?? deciding.reason,
    extension: deciding.extension,
    rule: deciding.rule,
    edited,
    violations: violations.map(violation => ({
      reason: violation.customReason ?? violation.reason,
      extension: violation.extension,
      rule: violation.rule,
      path: violation.path,
      message: violation.message
    })),
    ...namesIn(exchange)
  }
}

/** The audit line of a call that went to the agent. */
export function callEntry (exchange: Exchange, outcome: Outcome, extensions: readonly string[]): AuditEntry {
  return {
    ...plainEntry(exchange, 'call', 'forwarded'),
    outcome,
    ...statusOf(exchange),
    ...(exchange.grpcStatus === null ? {} : { grpc_status: exchange.grpcStatus }),
    ...(extensions.length === 0 ? {} : { extensions }),
    ...namesIn(exchange)
  }
}

/** The audit line of a task that changed its state. */
export function taskEntry (exchange: Exchange, { taskId, contextId, state }: ResultSummary, before: string | null): AuditEntry {
  return {
    ...plainEntry(exchange, 'task', 'changed'),
    task_state: state ?? '',
    previous_state: before,
    task_id: taskId,
    context_id: contextId
  }
}

/** The audit line of messages that policy servers ask to send. */
export function noticeEntry (exchange: Exchange, phase: 'request' | 'response', notices: readonly object[]): AuditEntry {
  return { ...plainEntry(exchange, phase, 'notified'), notices, ...namesIn(exchange) }
}

/** The audit line of a message on the task of a request that waits. */
export function pauseEntry (exchange: Exchange, decision: 'resumed' | 'declined' | 'canceled', rules: readonly string[]): AuditEntry {
  return { ...plainEntry(exchange, 'request', decision), paused_rules: rules, ...namesIn(exchange) }
}

function plainEntry (
  exchange: Exchange,
  phase: AuditEntry['phase'],
  decision: AuditEntry['decision']
): Omit<AuditEntry, 'task_id' | 'context_id'> {
  return {
    phase,
    agent: exchange.agentName,
    operation: exchange.operation,
    binding: exchange.binding,
    version: exchange.version,
    decision,
    reason: null,
    extension: null,
    rule: null,
    edited: [],
    violations: [],
    trace_id: exchange.span.traceId,
    ...(exchange.span.spanId === null ? {} : { span_id: exchange.span.spanId }),
    client: exchange.request.socket.remoteAddress ?? null,
    ...frontOf(exchange),
    ...callerOf(exchange),
    ...(exchange.owner === null ? {} : { owner: exchange.owner }),
    ...(exchange.accessRule === null ? {} : { access_rule: exchange.accessRule }),
    ...delegationOf(exchange),
    ...(exchange.external === null ? {} : { external: exchange.external }),
    request_id: exchange.id
  }
}

/** The front of a call that did not arrive on a listener for clients. */
function frontOf ({ transport: { front } }: Exchange): Pick<AuditEntry, 'front'> {
  return front === 'http' || front === 'grpc' ? NO_FIELDS : { front }
}

/** The chain of callers behind the request. A chain that was not verified has depth only. */
function delegationOf ({ delegation, identity }: Exchange): Pick<AuditEntry, 'delegation'> {
  if (delegation === null || delegation.depth === 0) return NO_FIELDS
  const { depth, hops, initiator, budgets } = delegation
  const left = Object.fromEntries(Object.entries(budgets).map(([name, [, amount]]) => [name, amount]))
  const more = Object.keys(left).length === 0 ? {} : { budgets: left }
  if (hops.length === 0) return { delegation: { depth, hops, ...more } }
  return { delegation: { depth, hops, ...more, initiator: initiator === null ? null : identity?.describe(initiator) ?? null } }
}

/** The proxy of a mesh may not show the response. */
function statusOf ({ response: { statusCode } }: Exchange): { readonly status?: number } {
  return statusCode === 0 ? NO_FIELDS : { status: statusCode }
}

const NO_FIELDS = {}

function callerOf ({ identity, principal, outbound }: Exchange): Pick<AuditEntry, 'caller' | 'credential' | 'exchange'> {
  if (identity === null || principal === null) return {}
  const exchange = outbound?.exchange ?? null
  return { caller: identity.describe(principal), credential: principal.kind, ...(exchange === null ? {} : { exchange }) }
}

function namesIn (exchange: Exchange): Pick<AuditEntry, 'task_id' | 'context_id'> {
  const { taskId, contextId } = exchange.task
  return { task_id: taskId, context_id: contextId }
}

/**
 * Reports the status of a gRPC response to span and metrics, once for each call, and keeps it for audit and log.
 * @param by `agent`: the agent sent the status, and the client gets it
 */
export function recordGrpcStatus (exchange: Exchange, code: number, by: 'agent' | 'gateway'): void {
  const status = grpcCodeName(code)
  exchange.grpcStatus = status
  exchange.services.metrics.add('grpc_responses_total', exchange.agentName, exchange.operation, status)
  exchange.span.grpcStatus(status, by)
}

/**
 * Writes the log line of a call that is over.
 * @param omitted number of calls that the line stands for besides its own
 */
export function logCall (exchange: Exchange, outcome: Outcome, seconds: number, omitted: number): void {
  const { services: { log }, response } = exchange
  const level = outcome === 'forwarded' ? 'debug' : outcome === 'gateway_error' && response.statusCode === 500 ? 'error' : 'info'
  if (!log.isLevelEnabled(level)) return
  const { taskId, contextId } = exchange.task
  const { traceId, spanId } = exchange.span
  log[level]({
    agent: exchange.agentName,
    operation: exchange.operation,
    binding: exchange.binding,
    version: exchange.version,
    ...frontOf(exchange),
    ...statusOf(exchange),
    ...(exchange.grpcStatus === null ? {} : { grpc_status: exchange.grpcStatus }),
    outcome,
    duration_ms: Math.round(seconds * 1e6) / 1e3,
    request_id: exchange.id,
    ...(taskId === null ? {} : { task_id: shortened(taskId) }),
    ...(contextId === null ? {} : { context_id: shortened(contextId) }),
    ...(traceId === null ? {} : { trace_id: traceId }),
    ...(spanId === null ? {} : { span_id: spanId }),
    ...(exchange.principal === null ? {} : { caller: exchange.identity?.describe(exchange.principal) }),
    ...(exchange.accessRule === null ? {} : { access_rule: exchange.accessRule }),
    ...(omitted === 0 ? {} : { omitted })
  }, 'request')
}

/** Longest id in a log line, in UTF-16 code units. */
const ID_LENGTH = 256

function shortened (id: string): string {
  return id.length <= ID_LENGTH ? id : id.slice(0, ID_LENGTH)
}
