/** One decision as the page shows it: names and paths, never data of a request. The source of an entry contains no such data. */
import type { Correction, EntryViolation } from './correction.js'
import { correctionOf } from './correction.js'
import type { KeptAnswer, PolicyAnswer } from './policy-answers.js'
import { policyAnswer } from './policy-answers.js'
import { truncate } from './text.js'
import type { Rejection } from '#a2a/errors.js'
import type { Violation } from '#policy/violation.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'

/** The violations that rules found in a request and its response, in the order of evaluation. */
export interface PhaseFindings {
  readonly phase: 'request' | 'response'
  readonly violations: readonly Violation[]
  /** `policy/rule` of each change. */
  readonly edited: readonly string[]
}

/** One completed call. It must hold no other data of the exchange, because the exchange may have megabytes. */
export interface Ended {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  /** `http`, `grpc`, `ext_authz` or `ext_proc`. */
  readonly front: string
  readonly outcome: Outcome
  readonly status: number
  /** Name of the status of gRPC; null over HTTP. */
  readonly grpcStatus: string | null
  readonly seconds: number
  readonly requestId: string
  readonly traceId: string | null
  /** Task and context of the call; null when it has none. */
  readonly taskId: string | null
  readonly contextId: string | null
  /** URIs of the extensions that the client requested. */
  readonly extensions: readonly string[]
  /** The caller, as log lines name it. */
  readonly caller: { readonly source: string, readonly id: string } | null
  /** Port of the client's end of the connection. 0 when it is no longer known. */
  readonly port: number
  readonly refusal: Rejection | null
  readonly found: readonly PhaseFindings[]
  /** Answers of policy servers. */
  readonly answers: readonly KeptAnswer[]
}

export interface DecisionEntry {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  /** Front that received the call: `http`, `grpc`, `ext_authz` or `ext_proc`. */
  readonly front: string
  /** Result of the call. A forwarded call may have been edited (edited), or may have broken rules that are only observed (observed). */
  readonly outcome: 'forwarded' | 'observed' | 'edited' | 'agent_error' | 'rejected' | 'client_aborted' | 'upstream_error' | 'gateway_error'
  /** 0 when a proxy of a mesh did not show the response. */
  readonly status: number
  /** Name of the status of gRPC; null over HTTP. */
  readonly grpcStatus: string | null
  readonly milliseconds: number
  readonly rule: string | null
  readonly reason: string | null
  readonly message: string | null
  readonly violations: readonly EntryViolation[]
  readonly edited: readonly string[]
  /** Answers of policy servers. */
  readonly answers: readonly PolicyAnswer[]
  readonly requestId: string
  readonly traceId: string | null
  readonly taskId: string | null
  readonly contextId: string | null
  /** URIs of the extensions that the client requested. */
  readonly extensions: readonly string[]
  /** Source and id of the caller, as log lines name them. */
  readonly caller: { readonly source: string, readonly id: string } | null
  readonly port: number
  /** The corrections that the caller has to make. Null when nothing was rejected. */
  readonly correction: Correction | null
}

export function decisionEntryOf (id: string, ended: Ended): DecisionEntry {
  const { refusal: rejection, found: findings } = ended
  const violations = findings.flatMap(violationsOf)
  const first = violations.find(violation => violation.mode === 'enforce') ?? violations[0]
  const edited = [...new Set(findings.flatMap(phaseFindings => phaseFindings.edited))]
  return {
    id,
    at: ended.at,
    agent: ended.agent,
    operation: ended.operation,
    binding: ended.binding,
    version: ended.version,
    front: ended.front,
    outcome:
      ended.outcome !== 'forwarded' ? ended.outcome : edited.length > 0 ? 'edited' : violations.length > 0 ? 'observed' : 'forwarded',
    status: ended.status,
    grpcStatus: ended.grpcStatus,
    milliseconds: Math.round(ended.seconds * 1e5) / 100,
    rule: rejection !== null ? truncate(rejection.rule) : first === undefined ? null : `${first.extension}/${first.rule}`,
    reason: rejection !== null ? (rejection.customReason ?? rejection.reason) : (first?.reason ?? null),
    message: rejection !== null ? truncate(rejection.message) : null,
    violations,
    edited,
    answers: ended.answers.map(policyAnswer),
    requestId: ended.requestId,
    traceId: ended.traceId,
    taskId: ended.taskId,
    contextId: ended.contextId,
    extensions: ended.extensions,
    caller: ended.caller === null ? null : { source: ended.caller.source, id: truncate(ended.caller.id) },
    port: ended.port,
    correction:
      rejection === null || ended.outcome !== 'rejected'
        ? null
        : correctionOf(
          rejection,
          violations.filter(violation => violation.mode === 'enforce'),
          ended.version
        )
  }
}

function violationsOf ({ phase, violations }: PhaseFindings): EntryViolation[] {
  return violations.map(violation => ({
    phase,
    mode: violation.mode === 'enforce' ? 'enforce' : 'observe',
    extension: truncate(violation.extension),
    rule: truncate(violation.rule),
    reason: violation.customReason ?? violation.reason,
    path: violation.path,
    message: violation.message
  }))
}
