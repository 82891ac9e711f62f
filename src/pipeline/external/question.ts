/**
 * Questions for policy servers: what the gateway knows about a call, as an access evaluation of the OpenID AuthZEN Authorization API 1.0
 * (§5, §6). docs/reference/authzen-a2a.md is the specification of the mapping. Pure.
 */
import type { Call } from '#a2a/message/call.js'
import type { Operation } from '#a2a/operations.js'
import { namesOf, tenantOf } from '#a2a/task-id.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { Principal } from '#identity/principal.js'
import type { ResultSummary } from '#policy/response/evaluator.js'
import { pushConfigsOf } from '#policy/push/configs.js'
import { additionName } from '#policy/request/methods.js'
import type { JsonObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { OperationRoute } from '#a2a/route.js'
import type { RequestEvaluation } from '../request-evaluation.js'

/** What the gateway knows about a call after its own rules. */
export interface CallFacts {
  /** Name of the agent in the configuration. */
  readonly agent: string
  readonly caller: Principal | null
  readonly operation: Operation
  /** The operation by its 1.0 name, or the method or route of an extension as its policy declares it. */
  readonly action: string
  readonly version: Version
  readonly binding: Binding
  readonly tenant: string | null
  readonly taskId: string | null
  readonly contextId: string | null
  /** URLs of push notification configurations in the request. */
  readonly pushUrls: readonly string[]
  readonly requested: readonly string[]
  readonly active: readonly string[]
  readonly missing: readonly string[]
}

/** A value that a rule selected. */
export interface SentValue {
  /** JSON Pointer into the request object or the result, or `header NAME`. */
  readonly path: string
  readonly value: unknown
}

/** The part of a question that differs between the questions about one call. */
export interface QuestionSubject {
  readonly phase: 'request' | 'response'
  /** The values that a rule selected, with the name of the rule; null for an entry of `external`. */
  readonly selected: { readonly rule: string, readonly values: readonly SentValue[] } | null
  /** The request object or the result; undefined sends neither. */
  readonly message: unknown
  /** The results of a response or of an event; none for a request. */
  readonly results: readonly ResultSummary[]
}

/** Obligations of the profile that the gateway can fulfil; `custom` with {@link VENDOR} and one of the actions. */
export const OBLIGATIONS: readonly string[] = ['notification', 'custom']
/** `properties.vendor` of custom obligations. */
export const VENDOR = 'a2a'
/** `properties.action` of custom obligations, by phase. */
export const ACTIONS = { request: ['strip', 'set', 'header', 'redact'], response: ['strip', 'set'] } as const

/** Characters of a JSON-RPC method that no table and no policy has: text of a client. */
const MAX_METHOD = 200
const MAX_URLS = 8
const MAX_URL = 2048

/** Collects what questions about a call say. */
export function factsOf ({ agent, route, call, caller, evaluation }: {
  readonly agent: string
  readonly route: OperationRoute
  readonly call: Call
  readonly caller: Principal | null
  readonly evaluation: RequestEvaluation
}): CallFacts {
  const { decision, requested, policy } = evaluation
  const { operation, method } = call
  const { taskId, contextId } = namesOf(call, route.binding === 'HTTP+JSON' ? route.upstreamPath : null)
  const own = operation === 'Other' || operation === 'Extension' ? additionName(policy, method, route.extensionRoute) : null
  return {
    agent,
    caller,
    operation,
    action: own ?? (operation === 'Other' && method !== null ? method.slice(0, MAX_METHOD) : operation),
    version: route.version,
    binding: route.binding,
    tenant: tenantOf(call, route.tenant),
    taskId,
    contextId,
    pushUrls: urlsOf(call),
    requested,
    active: decision.active,
    missing: decision.missing
  }
}

function urlsOf (call: Call): readonly string[] {
  const urls = (pushConfigsOf(call) ?? []).map(config => config.get('url')).filter(url => typeof url === 'string')
  return urls.slice(0, MAX_URLS).map(url => url.slice(0, MAX_URL))
}

/** Returns the access evaluation request (AuthZEN 1.0 §6.1). Equal facts give equal text: answers are remembered by it. */
export function questionOf (facts: CallFacts, { phase, selected, message, results }: QuestionSubject): JsonObject {
  const [first] = results
  const taskId = facts.taskId ?? first?.taskId ?? null
  const contextId = facts.contextId ?? first?.contextId ?? null
  const client = facts.caller?.client ?? null
  return {
    subject: subjectOf(facts.caller),
    action: { name: facts.action },
    resource: resourceOf(facts, taskId),
    context: {
      ...(client === null ? {} : { agent: client }),
      phase,
      ...(taskId === null ? {} : { taskId }),
      ...(contextId === null ? {} : { contextId }),
      ...(first === undefined ? {} : { results: results.slice(0, MAX_RESULTS).map(summary) }),
      extensions: { requested: facts.requested, active: facts.active, missing: facts.missing },
      ...(selected === null ? {} : { rule: selected.rule, selected: selected.values }),
      ...(message === undefined ? {} : { [phase === 'request' ? 'request' : 'result']: message }),
      supported_obligations: OBLIGATIONS,
      supported_actions: ACTIONS[phase]
    }
  }
}

/** Returns a question with a copy of `context` in `resource.properties.context`, for servers whose policies cannot read `context`. */
export function withContextInResource (body: string): string {
  const { subject, action, resource: { properties, ...resource }, context } = parseJson(body) as QuestionText
  return JSON.stringify({ subject, action, resource: { ...resource, properties: { ...properties, context } }, context })
}

interface QuestionText {
  readonly subject: JsonObject
  readonly action: JsonObject
  readonly resource: { readonly type: string, readonly id: string, readonly properties: JsonObject }
  readonly context: JsonObject
}

/** Bytes of one question. Messages may be 20 MiB long, and a policy server must not get them all. */
export const MAX_QUESTION = 1_048_576

/** Tasks of a list that a question names; the list itself is in `result` with `send: message`. */
const MAX_RESULTS = 100

function summary ({ kind, taskId, contextId, state }: ResultSummary): JsonObject {
  return {
    kind,
    ...(taskId === null ? {} : { taskId }),
    ...(contextId === null ? {} : { contextId }),
    ...(state === null ? {} : { state })
  }
}

/** `anonymous` where the gateway has authenticated nobody: AuthZEN requires an id. */
function subjectOf (caller: Principal | null): JsonObject {
  if (caller === null) return { type: 'anonymous', id: 'anonymous' }
  const { source, subject, client, scopes, groups, tenant, spiffe } = caller
  return {
    type: 'identity',
    id: subject,
    properties: {
      source,
      ...(client === null ? {} : { client }),
      scopes,
      groups,
      ...(tenant === null ? {} : { tenant }),
      ...(spiffe === null ? {} : { spiffe })
    }
  }
}

const TASKS: ReadonlySet<Operation> = new Set<Operation>(['GetTask', 'CancelTask', 'SubscribeToTask'])

function resourceOf ({ agent, operation, version, binding, tenant, pushUrls }: CallFacts, taskId: string | null): JsonObject {
  const properties = { agent, version, binding, ...(tenant === null ? {} : { tenant }), ...(pushUrls.length === 0 ? {} : { pushUrls }) }
  if (operation.endsWith('PushNotificationConfig') || operation.endsWith('PushNotificationConfigs')) {
    return { type: 'push_config', id: taskId ?? agent, properties }
  }
  return TASKS.has(operation) && taskId !== null ? { type: 'task', id: taskId, properties } : { type: 'a2a_agent', id: agent, properties }
}
