/**
 * Decides whether a caller may send a request (`access`), twice: `admit` from the head, before the body is read, and `authorize` from the
 * whole call, before any rule. A rejection hides every other problem: a caller without access learns nothing about schemas.
 */
import type { Rejection } from '#a2a/errors.js'
import type { Call, CallProblem } from '#a2a/message/call.js'
import type { FieldProblem } from '#a2a/fields.js'
import { Fields, FieldSet } from '#a2a/fields.js'
import { ANY } from '#a2a/json-types.js'
import type { AgentConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { formatsOf } from '#jsonschema/format-assertion.js'
import { compileShared } from '#jsonschema/shared-schemas.js'
import type { Access, AccessDecision, AccessRequest } from '#policy/access/access.js'
import { compileAccess } from '#policy/access/access.js'
import { accessDenied } from '#policy/access/rejection.js'
import type { Target } from '#policy/access/target.js'
import { UNREAD } from '#policy/access/target.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { RequestSubject } from '#policy/selectors/subject.js'
import type { Violation } from '#policy/violation.js'
import { callViolation, rejectionOf } from '#policy/violation.js'
import { ambiguous } from '../rejections.js'
import type { RequestHead } from '../request-head.js'
import type { OperationRoute } from '#a2a/route.js'

/** The decision of the access lists on one request. */
export interface AccessOutcome {
  /** Id of the entry that decided, or `none`. */
  readonly rule: string
  readonly decision: 'allow' | 'deny'
  readonly mode: 'enforce' | 'observe'
  /** Null: the request may go on. */
  readonly rejection: Rejection | null
  /** Empty for `allow`. */
  readonly violations: readonly Violation[]
}

const cache = new WeakMap<AgentConfig, { readonly access: Access | null }>()

/** Returns the access lists of an agent, compiled once for each configuration. Null: everybody may do everything. */
export function accessOf (config: AgentConfig): Access | null {
  let entry = cache.get(config)
  if (entry === undefined) {
    const { formats } = config.jsonSchema
    const access = compileAccess(config.access, schema => {
      const result = compileShared(schema, formatsOf(schema, formats, true))
      // `check` has compiled the schema before.
      return result.ok ? value => result.schema.matches(value) : () => null
    })
    cache.set(config, entry = { access })
  }
  return entry.access
}

/** The head of a request for an operation, and its caller. */
export interface Admission {
  readonly caller: Principal | null
  readonly target: Target
  /** Percent-encoded tenant of the path, or null. */
  readonly tenant: string | null
}

/** @param route of an operation of the card, or of an extension */
export function admissionOf (route: OperationRoute, caller: Principal | null): Admission {
  const { operation, extensionRoute, tenant } = route
  const target: Target =
    extensionRoute !== null
      ? { kind: 'extension', method: null, route: extensionRoute }
      : operation === null ? UNREAD : { kind: 'operation', operation }
  return { caller, target, tenant }
}

/**
 * Decides from the head alone. The body can still change the decision, so only a caller whom nothing in the body can help is rejected.
 * @returns null when `authorize` decides
 */
export function admit (access: Access | null, { caller, target, tenant }: Admission): AccessOutcome | null {
  if (access === null || access.mode === 'observe') return null
  const named = tenant === null ? [] : [decodeURIComponent(tenant)]
  const accessDecision = access.decide({ caller, target, tenants: { named, complete: false }, subject: null })
  return accessDecision.decision === 'deny' ? outcomeOf(access, accessDecision, caller) : null
}

/** Decides about a request that the gateway forwards without reading it. What its body would decide is undecided for ever. */
export function admitUnread (access: Access | null, caller: Principal | null, target: Target): AccessOutcome | null {
  return access === null ? null : outcomeOf(access, access.decide({ caller, target, tenants: NO_TENANTS, subject: null }), caller)
}

const NO_TENANTS: AccessRequest['tenants'] = { named: [], complete: false }

/** The parts of a call that the lists look at. */
export interface Authorization {
  readonly route: OperationRoute
  readonly call: Call
  readonly head: RequestHead
  readonly caller: Principal | null
}

/** @returns null without lists, and for a call that cannot be judged and is not rejected for it (`mode: observe`) */
export function authorize (
  access: Access | null,
  policy: AgentPolicy,
  { route, call, head, caller }: Authorization
): AccessOutcome | null {
  if (access === null) return null
  const problem = problemOf(call)
  const accessDecision = access.decide({
    caller,
    target: targetOf(route, call, policy),
    tenants: tenantsOf(route, call, problem),
    subject: problem === null ? new RequestSubject(call, head.rawHeaders) : null
  })
  if (accessDecision.decision !== 'open' || problem === null) return outcomeOf(access, accessDecision, caller)
  if (access.mode === 'observe') return null
  // Nobody knows what the caller wants, so nobody can allow it. The caller learns what to fix.
  const violations = [callViolation('enforce', problem)]
  return { rule: accessDecision.rule, decision: 'deny', mode: 'enforce', rejection: rejectionOf(violations), violations }
}

function outcomeOf ({ mode }: Access, { decision, rule, scopes }: AccessDecision, caller: Principal | null): AccessOutcome {
  if (decision === 'allow') return { rule, decision, mode, rejection: null, violations: NONE }
  const { rejection, violation } = accessDenied(mode, scopes, caller)
  return { rule, decision: 'deny', mode, rejection: mode === 'enforce' ? rejection : null, violations: [violation] }
}

const NONE: readonly Violation[] = []

/** The reason why gateway and agent could read the body differently. A method that nobody knows is no such reason. */
function problemOf ({ problem, view }: Call): CallProblem | null {
  if (problem !== null && problem.rule !== 'unknown-method') return problem
  const [first] = view?.problems ?? []
  return first === undefined ? null : ambiguous(first)
}

function targetOf (route: OperationRoute, { operation, method, problem }: Call, policy: AgentPolicy): Target {
  const { extensionRoute, operation: ofPath } = route
  if (extensionRoute !== null) return { kind: 'extension', method: null, route: extensionRoute }
  // The agent would decode a body that the gateway cannot decode.
  if (ofPath === null && problem?.rule === 'content-encoding') return UNREAD
  if (operation !== 'Other') return { kind: 'operation', operation }
  if (method === null || problem?.rule !== 'unknown-method') return UNREAD
  return policy.methods.has(method) ? { kind: 'extension', method, route: null } : { kind: 'method', method }
}

/** `members.ts` defines the types; this set only serves lookups. */
const REQUEST = new FieldSet({ tenant: ANY })

/** Only A2A 1.0 has tenants. */
function tenantsOf ({ tenant }: OperationRoute, call: Call, problem: CallProblem | null): AccessRequest['tenants'] {
  if (call.version !== '1.0') return { named: [], complete: true }
  const named = tenant === null ? [] : [decodeURIComponent(tenant)]
  if (problem !== null) return { named, complete: false }
  const problems: FieldProblem[] = []
  const inBody = call.request === null ? undefined : Fields.read(call.request.object, REQUEST, '', problems).get('tenant')
  const isAbsent = inBody === undefined || inBody === null || inBody === ''
  if (typeof inBody === 'string' && !isAbsent) named.push(inBody)
  return { named, complete: problems.length === 0 && (isAbsent || typeof inBody === 'string') }
}
