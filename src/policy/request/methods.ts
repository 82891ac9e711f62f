/**
 * Checks the additions of extensions to the operations of A2A, JSON-RPC methods and HTTP routes: who may call them, and with which data.
 */
import type { MethodConfig } from '#config/model/model.js'
import type { AgentPolicy, CompiledAddition, PolicyActivity } from '../compile/compiled.js'
import type { DecisionRequest } from './decision.js'
import type { Violation } from '../violation.js'
import { isFull, addViolation, violation } from '../violation.js'

/**
 * Returns the name of a method or route that a policy adds. When several policies add it, all their names are equal, but for the names of
 * parameters of a route: the first counts.
 * @param method of JSON-RPC, or null
 * @param route key of an extension's route, or null
 * @returns null for operations of A2A, and for methods that no policy declares: their names come from clients
 */
export function additionName (
  { methods, routes }: Pick<AgentPolicy, 'methods' | 'routes'>,
  method: string | null,
  route: string | null
): string | null {
  const added = route !== null ? routes.get(route) : method !== null ? methods.get(method) : undefined
  return added?.[0]?.name ?? null
}

/** @param declared true if the card lists the extension. Without it, the agent offers only additions with `need: none` */
export function isOffered (need: MethodConfig['need'], declared: boolean): boolean {
  return declared || need === 'none'
}

/**
 * Checks that the extension of an addition is active.
 * @param missing required URIs whose absence is already recorded
 * @returns true if a violation was found
 */
export function demandExtension (
  { kind, policy, uri, mode, needsActive }: CompiledAddition,
  { headerName }: DecisionRequest,
  activity: readonly PolicyActivity[],
  missing: readonly string[],
  violations: Violation[]
): boolean {
  if (!needsActive || missing.includes(uri) || activity.some(other => other.policy.uri === uri && other.active)) return false
  addViolation(
    violations,
    violation({
      mode,
      reason: 'EXTENSION_SUPPORT_REQUIRED',
      extension: policy,
      uri,
      rule: kind,
      path: `header ${headerName}`,
      message: `must name the extension ${uri}, which the ${kind} belongs to`,
      missing: uri
    })
  )
  return true
}

/** Checks the params of a method, or the body of a route, against the schema of its policy. */
export function checkAddition (added: CompiledAddition, { call }: DecisionRequest, violations: Violation[]): void {
  const { kind, policy, uri, mode } = added
  const dataViolations = added.schema?.find(NO_CAPTURES) ?? null
  if (dataViolations === null) return
  const { rule, place, value } =
    kind === 'method'
      ? { rule: 'method-params', place: 'params', value: call.request?.object }
      : { rule: 'route-body', place: 'body', value: call.extensionBody }
  if (!dataViolations.entry.usable) {
    addViolation(
      violations,
      violation({
        mode,
        reason: 'CONTENT_TYPE_NOT_SUPPORTED',
        extension: policy,
        uri,
        rule,
        path: place,
        message: `cannot be accepted: the schema of the ${kind} is unusable`,
        customReason: 'SCHEMA_UNUSABLE'
      })
    )
    return
  }
  // Most keywords accept a missing value. A method without params is validated as a method with empty params.
  if (kind === 'route' && value === undefined) {
    return addViolation(
      violations,
      violation({
        mode,
        reason: 'EXTENSION_DATA_INVALID',
        extension: policy,
        uri,
        rule,
        path: place,
        message: 'is required; send JSON'
      })
    )
  }
  for (const problem of dataViolations.entry.schema.validate(value) ?? (value === undefined
    ? dataViolations.entry.schema.validate(NO_PARAMS)
    : null) ?? []) {
    if (isFull(violations, mode)) return
    addViolation(
      violations,
      violation({
        mode,
        reason: 'EXTENSION_DATA_INVALID',
        extension: policy,
        uri,
        rule,
        path: pathOf(kind, problem.path),
        message: `${problem.message} (the schema of the ${kind})`
      })
    )
  }
}

/** Path from the root of the request. For a route, the root is the body itself, so the path is `command` and not `body.command`. */
function pathOf (kind: CompiledAddition['kind'], path: string): string {
  if (kind === 'method') return `params${path}`
  return path === '' ? 'body' : path.replace(/^\./, '')
}

const NO_PARAMS = {}
const NO_CAPTURES: ReadonlyMap<string, string> = new Map()
