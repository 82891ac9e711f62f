/** What extensions add beside the operations of A2A, JSON-RPC methods and HTTP routes: who may call it, and with what. */
import type { Call } from '../../a2a/message/call.js'
import type { MethodConfig } from '../../config/model/model.js'
import type { CompiledAddition, PolicyActivity } from '../compile/compiled.js'
import type { Violation } from '../violation.js'
import { isFull, addViolation, violation } from '../violation.js'

/** @param declared whether the card lists the extension: without it only what needs nothing is the agent's */
export function isOffered (need: MethodConfig['need'], declared: boolean): boolean {
  return declared || need === 'none'
}

export function checkAddition (added: CompiledAddition, call: Call, activity: readonly PolicyActivity[], missing: readonly string[], headerName: string, violations: Violation[]): void {
  const { kind, policy, uri, mode } = added
  const active = activity.some(one => one.policy.uri === uri && one.active)
  if (added.needsActive && !active && !missing.includes(uri)) {
    addViolation(violations, violation(mode, 'EXTENSION_SUPPORT_REQUIRED', policy, kind, `header ${headerName}`, `must name the extension ${uri}, which the ${kind} belongs to`, uri))
  }
  const found = added.schema?.find(NO_CAPTURES) ?? null
  if (found === null) return
  const { rule, place, value } = kind === 'method' ? { rule: 'method-params', place: 'params', value: call.request?.object } : { rule: 'route-body', place: 'body', value: call.extensionBody }
  if (!found.entry.usable) {
    addViolation(violations, violation(mode, 'CONTENT_TYPE_NOT_SUPPORTED', policy, rule, place, `cannot be accepted: the schema of the ${kind} is unusable`, uri, 'SCHEMA_UNUSABLE'))
    return
  }
  // Most keywords let pass what is not there; a method without params is one whose params have no members.
  if (kind === 'route' && value === undefined) return addViolation(violations, violation(mode, 'EXTENSION_DATA_INVALID', policy, rule, place, 'is required; send JSON', uri))
  for (const problem of found.entry.schema.validate(value) ?? (value === undefined ? found.entry.schema.validate(NO_PARAMS) : null) ?? []) {
    if (isFull(violations, mode)) return
    addViolation(violations, violation(mode, 'EXTENSION_DATA_INVALID', policy, rule, pathOf(kind, problem.path), `${problem.message} (the schema of the ${kind})`, uri))
  }
}

/** From the root of the request: of a route that is the body itself, so `command` rather than `body.command`. */
function pathOf (kind: CompiledAddition['kind'], path: string): string {
  if (kind === 'method') return `params${path}`
  return path === '' ? 'body' : path.replace(/^\./, '')
}

const NO_PARAMS = {}
const NO_CAPTURES: ReadonlyMap<string, string> = new Map()
