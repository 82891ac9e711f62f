/**
 * The core: decides about one request. No clock, no I/O, no framework. The proxy and every offline tool call the same function. Order:
 * reference a2a-protocol.md §10.1. The client gets the first rejection. Every violation is recorded.
 */
import type { Rejection } from '#a2a/errors.js'
import type { Call } from '#a2a/message/call.js'
import type { RequestView } from '#a2a/message/message.js'
import { carriesMessage, inRequirementScope } from '#a2a/operations.js'
import { taskStateOf } from '#a2a/task-state.js'
import { activityOf, INACTIVE, isEvaluated, stripInactive } from './activation.js'
import { NOTHING_ASKED } from '../asked-rule.js'
import { checkCallers, denied } from './callers.js'
import type { AgentPolicy, CompiledAddition, CompiledPolicy, PolicyActivity, RequiredExtension } from '../compile/compiled.js'
import { restrictionsOf } from '../access/guard.js'
import { correlate } from '../task/correlate.js'
import type { Claim, Decision, DecisionRequest } from './decision.js'
import type { Demand } from './dependencies.js'
import { recordDependencies } from './dependencies.js'
import { Edits, UNCHANGED } from './edits.js'
import { withBudget, unevaluated } from '#jsonschema/evaluation.js'
import { inject } from './inject.js'
import { checkAddition, demandExtension } from './methods.js'
import { checkOwnership } from '../access/ownership.js'
import { checkPush } from '../push/check.js'
import type { RequestFindings } from '../rules.js'
import { runRules } from '../rules.js'
import { RequestSubject } from '../selectors/subject.js'
import { checkTaskState } from '../task/state.js'
import { FIELDS, TaskMemory } from '../task/memory.js'
import type { Tracer } from '../trace.js'
import { checkRequested, countNames, notAsked, outboundOf } from './requested.js'
import { checkUnknown, checkUntagged } from './untagged.js'
import { findEvidence, pauseOf } from './pause.js'
import { lookedPaths, unexaminedData } from './unexamined.js'
import { outboundAsSent, verbatimOf } from './verbatim.js'
import type { Violation } from '../violation.js'
import { addViolation, callViolation, GATEWAY, rejectionOf, violation } from '../violation.js'
import { comparableUris, isOtherSpelling } from '#wire/uri-spelling.js'
import type { Forbidden } from '../access/forbidden.js'

/**
 * Decides about one request.
 * @param tracer is notified of each rule's decision; null in the proxy
 */
export function decide (request: DecisionRequest, policy: AgentPolicy, tracer: Tracer | null = null): Decision {
  const { ownership } = policy
  if (ownership === null) return decideByRules(request, policy, tracer)
  const { requested, call, owners } = request
  const forwarded = policy.unknownMethods === 'forward' || additions(request, policy).length > 0
  const { outcome, violations, rejection } = checkOwnership(ownership, call, owners, forwarded)
  if (rejection !== null) return { ...nothing(policy, request.caller), rejection, violations, outbound: requested, owner: outcome }
  return { ...decideByRules(request, policy, tracer), owner: outcome }
}

function decideByRules (request: DecisionRequest, policy: AgentPolicy, tracer: Tracer | null): Decision {
  const { requested, call, caller } = request
  if (policy.mode === 'off') return { ...nothing(policy, caller), rejection: null, violations: NONE, outbound: requested }
  const violations: Violation[] = []
  try {
    return withBudget(call.inexact, () => evaluateRequest(request, policy, tracer, violations), request.now)
  } catch (error) {
    const problem = unevaluated(error)
    if (problem === null) throw error
    // Fail closed: rules that were not reached are neither met nor broken.
    violations.push(violation({
      mode: policy.readMode,
      reason: 'EXTENSION_DATA_INVALID',
      extension: GATEWAY,
      rule: 'steps',
      path: call.view?.message?.path ?? call.request?.path ?? '',
      message: problem
    }))
    return { ...nothing(policy, caller), rejection: rejectionOf(violations), violations, outbound: requested }
  }
}

/** The decision on a request that is rejected before its rules. */
export function rejected (
  policy: AgentPolicy,
  { requested, caller }: Pick<DecisionRequest, 'requested' | 'caller'>,
  rejection: Rejection,
  violations: readonly Violation[]
): Decision {
  return { ...nothing(policy, caller), rejection, violations, outbound: requested }
}

function evaluateRequest (sent: DecisionRequest, policy: AgentPolicy, tracer: Tracer | null, violations: Violation[]): Decision {
  const { call, caller } = sent
  const added = additions(sent, policy)
  if (isUnread(call, policy, added, violations)) {
    return { ...nothing(policy, caller), rejection: rejectionOf(violations), violations, outbound: sent.requested }
  }
  if (call.backslashName !== null && call.problem !== call.backslashName) violations.push(callViolation('observe', call.backslashName))
  checkRequested(sent, policy, violations)
  if (call.view !== null) ambiguities(call.view, sent.pathTenant, policy, violations)
  countNames(sent, policy)
  const restrictions = policy.guards.length === 0 ? null : restrictionsOf(policy.guards, caller)
  const forbidden = restrictions?.forbidden ?? null
  // Below, the request is as if it had not named the extensions that the caller may not use.
  const request = forbidden === null ? sent : { ...sent, requested: forbidden.without(sent.requested) }
  const { requested } = request
  const memory = policy.remembers ? memoryOf(request, policy) : null
  const state = memory === null ? null : taskStateOf(memory.get(FIELDS.state))
  const subject = new RequestSubject(call, request.headers, state, { caller, forbidden })
  const toInject = notAsked(policy, requested, forbidden)
  const verbatim = policy.keepsVerbatim ? verbatimOf(request, subject, toInject, policy, violations) : null
  const activity = activityOf(subject, requested, verbatim === null ? toInject : NO_URIS, policy, verbatim === null)
  const { listed, evidenced, active, injected } = activity
  subject.active = active
  const edits = policy.edits ? new Edits(verbatim) : null
  if (restrictions !== null) checkCallers(sent, subject, restrictions, { violations, edits })
  const required = missingRequired(request, injected, policy, violations, { forbidden, sent: sent.requested })
  const missing = required.length === 0 ? NO_URIS : required.map(requiredExtension => requiredExtension.uri)
  const outbound =
    verbatim === null ? outboundOf(request, injected, policy, violations) : outboundAsSent(request, verbatim, policy, violations)
  const demands = demandsOf(required, policy, forbidden)
  const allowed = forbidden === null ? added : added.filter(({ uri }) => !forbidden.has(uri))
  for (const addition of allowed) if (demandExtension(addition, request, activity.policies, missing, violations)) demands?.push(addition)
  if (demands !== null) recordDependencies(request, activity, demands, { policy, mayAdd: verbatim === null, forbidden }, violations)
  for (const addition of allowed) checkAddition(addition, request, violations)
  const looked = policy.idle === null ? lookedPaths(activity.policies) : null
  const findings = newFindings(policy, violations, { edits, memory, looked, approved: request.approved ?? null })
  for (const policy of activity.policies) evaluatePolicy(policy, request, subject, findings, tracer)
  const evidence = policy.pauses === null ? 'none' : findEvidence(subject, policy, request.record, violations)
  checkBeyondPolicies(subject, policy, violations)
  const settled = edits === null ? UNCHANGED : edits.settle(subject.message, request.headers, violations)

  const { edits: changes, headers, edited } = settled
  const rejection = violations.length === 0 ? null : rejectionOf(violations)
  return {
    rejection,
    violations,
    owner: null,
    pause: rejection === null ? null : pauseOf(subject, policy, violations),
    evidence,
    claims: rejection === null && findings.claims !== null ? [...findings.claims.values()] : NO_CLAIMS,
    asked: rejection === null && findings.asked !== null ? findings.asked : NOTHING_ASKED,
    declared: policy.declared,
    listed,
    evidenced,
    active,
    outbound,
    injected,
    missing,
    verbatim: verbatim !== null,
    activity: activity.policies,
    matched: findings.matched ?? NOTHING_MATCHED,
    caller,
    forbidden,
    unexamined: looked === null ? NOTHING_UNEXAMINED : unexaminedData(activity.policies, subject, looked),
    memory,
    edits: changes,
    headers,
    edited
  }
}

/**
 * Records the problem of a call that cannot be read.
 * @returns true when the problem rejects the call, which cannot be evaluated further
 */
function isUnread ({ problem }: Call, policy: AgentPolicy, added: readonly CompiledAddition[], violations: Violation[]): boolean {
  if (problem === null || (problem.rule === 'unknown-method' && (policy.unknownMethods === 'forward' || added.length > 0))) return false
  const mode = UNREAD.has(problem.rule) ? policy.readMode : policy.mode
  violations.push(callViolation(mode, problem))
  return mode === 'enforce'
}

function newFindings (
  policy: AgentPolicy,
  violations: Violation[],
  { edits, memory, looked, approved }: Pick<PolicyFindings, 'edits' | 'memory' | 'looked' | 'approved'>
): PolicyFindings {
  return {
    violations,
    approved,
    edits,
    matched: policy.noted.size === 0 ? null : new Set<string>(),
    claims: policy.claims ? new Map<string, Claim>() : null,
    asked: policy.asks ? [] : null,
    looked,
    memory
  }
}

/** Checks what no policy of an extension covers: members that A2A does not know, data without an extension, and push notification URLs. */
function checkBeyondPolicies (subject: RequestSubject, policy: AgentPolicy, violations: Violation[]): void {
  const { call } = subject
  if (call.unknown.length > 0) checkUnknown(call.unknown, policy.untagged === null ? 'observe' : policy.mode, violations)
  if (policy.untagged !== null) checkUntagged(policy.untagged, policy.mode, subject, violations)
  if (policy.push !== null) checkPush(policy.push, call, violations)
}

interface PolicyFindings extends RequestFindings {
  /** Null when no policy needs the state of the task. */
  readonly memory: TaskMemory | null
}

/** Evaluates one policy: its data without activation, its rules, the state of the task, and injections. */
function evaluatePolicy (
  policyActivity: PolicyActivity,
  request: DecisionRequest,
  subject: RequestSubject,
  findings: PolicyFindings,
  tracer: Tracer | null
): void {
  const { policy, active, evidence } = policyActivity
  const { violations, edits, memory } = findings
  // `checkCallers` has handled the data of extensions that the caller may not use.
  const mayUse = subject.forbidden === null || !subject.forbidden.has(policy.uri)
  if (mayUse && !active && evidence !== null && policy.activation.inactive !== 'forward') {
    if (policy.activation.inactive === 'reject') addViolation(violations, inactive(request, policy, evidence))
    else if (edits !== null) stripInactive(policy, subject, evidence, edits, violations)
  }
  const evaluated = isEvaluated(policyActivity)
  tracer?.policy(policyActivity, evaluated)
  if (evaluated) runRules(policyActivity, subject, findings, tracer)
  if (evaluated && memory !== null) {
    if (policy.state !== null) checkTaskState(policy, subject, 'request', memory, violations)
    if (policy.correlations.length > 0) correlate(policy, subject, 'request', memory, violations)
  }
  if (active && edits !== null && policy.inject.length > 0) inject(policy, subject, edits, violations)
}

/** Problems of a call that leave its body unread. */
const UNREAD: ReadonlySet<string> = new Set(['json', 'protobuf', 'envelope', 'content-type', 'content-encoding', 'ambiguous-fields'])

const NONE: readonly Violation[] = []
const NO_CLAIMS: readonly Claim[] = []
const NO_URIS: readonly string[] = []
const NO_ACTIVITY: readonly PolicyActivity[] = []
const NOTHING_MATCHED: ReadonlySet<string> = new Set()
const NOTHING_UNEXAMINED: Decision['unexamined'] = []
const NOTHING_ADDED: readonly CompiledAddition[] = []

/** Creates the memory of the request's task. A message that names no task begins a new one, so everything about that task is known. */
function memoryOf ({ call, record }: DecisionRequest, policy: AgentPolicy): TaskMemory {
  const begins = record === null && carriesMessage(call.operation) && call.view?.message?.taskId === 'absent'
  return new TaskMemory(record, begins ? policy.policies.filter(policy => policy.state !== null).map(policy => policy.name) : [])
}

/** Additions of extensions for the method or route, when it belongs to an extension. */
function additions ({ call, extensionRoute }: DecisionRequest, policy: AgentPolicy): readonly CompiledAddition[] {
  if (extensionRoute !== null) return policy.routes.get(extensionRoute) ?? NOTHING_ADDED
  if (call.problem?.rule !== 'unknown-method' || call.method === null) return NOTHING_ADDED
  return policy.methods.get(call.method) ?? NOTHING_ADDED
}

function nothing ({ declared }: AgentPolicy, caller: DecisionRequest['caller']): Omit<Decision, 'rejection' | 'violations' | 'outbound'> {
  return {
    declared,
    listed: NO_URIS,
    evidenced: NO_URIS,
    active: NO_URIS,
    injected: NO_URIS,
    missing: NO_URIS,
    verbatim: false,
    activity: NO_ACTIVITY,
    owner: null,
    pause: null,
    evidence: 'none',
    claims: NO_CLAIMS,
    asked: NOTHING_ASKED,
    matched: NOTHING_MATCHED,
    caller,
    forbidden: null,
    unexamined: NOTHING_UNEXAMINED,
    memory: null,
    ...UNCHANGED
  }
}

function ambiguities (view: RequestView, pathTenant: string | null, policy: AgentPolicy, violations: Violation[]): void {
  for (const problem of view.problems) {
    addViolation(violations, violation({
      mode: policy.readMode,
      reason: 'INVALID_PARAMS',
      extension: GATEWAY,
      rule: 'ambiguous-fields',
      path: problem.path,
      message: problem.message
    }))
  }
  if (pathTenant !== null && view.tenant !== null && view.tenant !== pathTenant) {
    addViolation(violations, violation({
      mode: policy.mode,
      reason: 'INVALID_PARAMS',
      extension: GATEWAY,
      rule: 'tenant',
      path: 'tenant',
      message: 'differs from the tenant of the request path; send the same tenant in both, or leave it out of the body'
    }))
  }
}

/** Violation for data of an inactive extension. Without the extension, no code that knows this data would check it. */
function inactive (request: DecisionRequest, policy: CompiledPolicy, path: string): Violation {
  const { signals } = policy.activation
  const remedy =
    signals === null || signals.has('header')
      ? `send the header "${request.headerName}: ${policy.uri}"`
      : `list ${policy.uri} in the message's extensions`
  return violation({
    mode: policy.mode,
    reason: 'EXTENSION_SUPPORT_REQUIRED',
    extension: policy.name,
    uri: policy.uri,
    rule: INACTIVE,
    path,
    message: `belongs to the extension ${policy.uri}, which the request does not activate; ${remedy}, or leave it out`
  })
}

/* The extensions that a call must name, because the card or a policy requires them. */

const NONE_REQUIRED: readonly RequiredExtension[] = []

/** Records a violation for each required extension that the request does not name. @returns those extensions */
function missingRequired (
  request: DecisionRequest,
  injected: readonly string[],
  policy: AgentPolicy,
  violations: Violation[],
  { forbidden, sent }: { readonly forbidden: Forbidden | null; readonly sent: readonly string[] }
): readonly RequiredExtension[] {
  if (policy.required.length === 0) return NONE_REQUIRED
  const missing: RequiredExtension[] = []
  for (const extension of policy.required) {
    if (!inRequirementScope(extension.scope ?? policy.enforceOn, request.call.operation)) continue
    if (policy.names.includes(request.requested, extension.uri) || injected.includes(extension.uri)) continue
    missing.push(extension)
    const guard = forbidden?.guardOf(extension.uri) ?? null
    if (guard !== null) {
      // A request that names the extension is already rejected, unless the name is removed.
      if (!guard.strips && policy.names.includes(sent, extension.uri)) continue
      violations.push({ ...denied(guard, `header ${request.headerName}`, needed(extension.uri)), mode: extension.mode })
      continue
    }
    violations.push(
      violation({
        mode: extension.mode,
        reason: 'EXTENSION_SUPPORT_REQUIRED',
        extension: extension.label,
        uri: extension.uri,
        rule: 'required',
        path: `header ${request.headerName}`,
        message: `must name the required extension ${extension.uri}${spellingHint(extension.uri, sent, request)}`,
        missing: extension.uri
      })
    )
  }
  return missing
}

/** Names the exact URI to a client that sends another spelling of it. */
function spellingHint (uri: string, sent: readonly string[], { call }: DecisionRequest): string {
  const listed = call.view?.message?.listed ?? []
  if (sent.length === 0 && listed.length === 0) return ''
  const forms = new Set(comparableUris(uri))
  return [...sent, ...listed].some(other => other !== uri && isOtherSpelling(other, forms))
    ? `; the request names it in another spelling, and URIs of extensions are compared exactly: send "${uri}"`
    : ''
}

function needed (uri: string): string {
  return `must name the required extension ${uri}, which this caller may not use; call with credentials of a caller who may`
}

/** The extensions that the call requires, for the check of their dependencies. Null: plain policies require no other extension. */
function demandsOf (required: readonly RequiredExtension[], policy: AgentPolicy, forbidden: Forbidden | null): Demand[] | null {
  return policy.idle === null ? required.filter(({ uri }) => forbidden?.has(uri) !== true) : null
}
