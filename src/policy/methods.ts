/** JSON-RPC methods that extensions add: who may call them, and with what. */
import type { Call } from '../a2a/call.js'
import type { MethodConfig, Mode } from '../config/model.js'
import type { PolicyActivity } from './activation.js'
import type { CompiledSource } from './schema-source.js'
import type { Violation } from './violation.js'
import { isFull, note, violation } from './violation.js'

export interface CompiledMethod {
  /** Name of the policy. */
  readonly policy: string
  readonly uri: string
  readonly mode: Mode
  readonly needsActive: boolean
  readonly params: CompiledSource | null
}

/** @param declared whether the card lists the extension: without it only methods that need nothing are the agent's */
export function isOffered ({ need = 'active' }: MethodConfig, declared: boolean): boolean {
  return declared || need === 'none'
}

export function checkMethod (method: CompiledMethod, call: Call, activity: readonly PolicyActivity[], missing: readonly string[], headerName: string, violations: Violation[]): void {
  const { policy, uri, mode } = method
  const active = activity.some(one => one.policy.uri === uri && one.active)
  if (method.needsActive && !active && !missing.includes(uri)) {
    note(violations, violation(mode, 'EXTENSION_SUPPORT_REQUIRED', policy, 'method', `header ${headerName}`, `must name the extension ${uri}, which the method belongs to`, uri))
  }
  const found = method.params?.find(NO_CAPTURES) ?? null
  if (found === null) return
  if (!found.entry.usable) {
    note(violations, violation(mode, 'CONTENT_TYPE_NOT_SUPPORTED', policy, 'method-params', 'params', 'cannot be accepted: the schema of the method is unusable', uri, 'SCHEMA_UNUSABLE'))
    return
  }
  for (const problem of found.entry.schema.validate(call.request?.object) ?? []) {
    if (isFull(violations, mode)) return
    note(violations, violation(mode, 'EXTENSION_DATA_INVALID', policy, 'method-params', `params${problem.path}`, `${problem.message} (the schema of the method)`, uri))
  }
}

const NO_CAPTURES: ReadonlyMap<string, string> = new Map()
