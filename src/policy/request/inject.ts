/** Adds data of the platform to requests in which an extension is active. */
import { memberPath } from '#a2a/fields.js'
import type { Reason } from '#a2a/errors.js'
import type { InjectionConfig, Mode } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { isObject } from '#wire/json/object.js'
import type { JsonPath } from '#wire/json/edit.js'
import { parsePointer, resolveSteps } from '#wire/json/pointer.js'
import type { CompiledInjection, CompiledPolicy } from '../compile/compiled.js'
import { compileCondition } from '../compile/condition.js'
import type { Edits } from './edits.js'
import { conflict } from './edits.js'
import { compileName } from '../compile/glob.js'
import type { Holder } from './metadata.js'
import type { SelectContext } from '../selectors/selection.js'
import { NAME_LIMIT } from '../selectors/selection.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { Violation } from '../violation.js'
import { addViolation, violation } from '../violation.js'

/** Name of the rule under which injection is recorded. */
export const INJECT = 'inject'

/** @param secretOf JSON text of a secret */
export function compileInjection (
  config: InjectionConfig,
  context: SelectContext,
  secretOf: (config: InjectionConfig) => string
): CompiledInjection {
  const [first = config.metadata, ...others] = compileName(config.metadata, context.uris).map(name => name.literal ?? config.metadata)
  return {
    place: config.in ?? 'message',
    names: [first, ...others],
    valueOf: valueOf(config, secretOf),
    secret: config.fromSecret !== undefined,
    needs: config.required === true ? (config.fromCaller ?? null) : null,
    existing: config.existing ?? 'replace',
    condition: compileCondition(config.when, config.unless, context)
  }
}

function valueOf (config: InjectionConfig, secretOf: (config: InjectionConfig) => string): CompiledInjection['valueOf'] {
  if (config.fromCaller !== undefined) return callerValue(config.fromCaller)
  const value = Buffer.from(config.fromSecret === undefined ? JSON.stringify(config.value) : secretOf(config))
  return () => value
}

/** @param from `source`, `subject`, `client`, `tenant`, or a JSON Pointer into the claims */
function callerValue (from: string): CompiledInjection['valueOf'] {
  const steps = from.startsWith('/') ? parsePointer(from) : null
  return caller => {
    if (caller === null) return null
    const value = (steps === null ? caller[from as keyof Principal] : resolveSteps(caller.claims, steps)) ?? null
    return value === null ? null : Buffer.from(JSON.stringify(value))
  }
}

/** Replaces every secret when nothing is sent to an agent. */
export const SECRET_HIDDEN = (): string => '"(secret)"'

/** True when the injection applies to this request, provided that the extension is active. */
function isMeant ({ condition }: CompiledInjection, subject: RequestSubject): boolean {
  return subject.message !== null && (condition === null || condition(subject))
}

/** True when this request gets the data. */
export function supplies (injection: CompiledInjection, subject: RequestSubject): boolean {
  return isMeant(injection, subject) && injection.valueOf(subject.caller) !== null
}

/** Adds the data for an active extension. In mode `observe` missing data is added, and the client's own data stays. */
export function inject (policy: CompiledPolicy, subject: RequestSubject, edits: Edits, violations: Violation[]): void {
  for (const injection of policy.inject) {
    const [holder] = subject.holders([injection.place])
    if (holder === undefined || !isMeant(injection, subject)) continue
    injectOne({ policy, injection, holder, value: injection.valueOf(subject.caller) }, edits, violations)
  }
}

interface Injected {
  readonly policy: CompiledPolicy
  readonly injection: CompiledInjection
  readonly holder: Holder
  /** Null: the caller has no such value. The client's own value is then removed where it would be replaced, because it may be forged. */
  readonly value: Buffer | null
}

function injectOne ({ policy, injection, holder, value }: Injected, edits: Edits, violations: Violation[]): void {
  const { names, existing, needs } = injection
  const by = { policy, rule: INJECT }
  const { metadata } = holder
  const report = (mode: Mode, path: string, message: string, reason: Reason = 'EXTENSION_DATA_INVALID'): void => {
    addViolation(violations, violation({
      mode,
      reason,
      extension: policy.name,
      uri: policy.uri,
      rule: INJECT,
      path,
      message
    }))
  }
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) return report(policy.mode, holder.path, 'must be an object')
  const sent = isObject(metadata) ? names.filter(name => Object.hasOwn(metadata, name)) : []
  const [first] = sent
  const path = memberPath(holder.path, first ?? names[0], NAME_LIMIT)
  if (first !== undefined && existing === 'keep') return
  if (value === null && needs !== null) {
    return report(
      policy.mode, path, `is supplied by the platform from ${needs} of the caller, and the caller has none`, 'EXTENSION_NOT_ALLOWED'
    )
  }
  if (first !== undefined) {
    if (existing === 'reject') return report(policy.mode, path, 'is supplied by the platform; leave it out')
    if (policy.mode === 'observe') {
      const outcome = value === null
        ? 'would be removed: the caller has no such value'
        : 'would be replaced with the value that the platform supplies'
      return report('observe', path, outcome)
    }
    if (edits.verbatim !== null) return conflict(edits.verbatim, by, path, violations)
  } else if (value === null) return
  if (edits.verbatim !== null) {
    return report('observe', path, `is not added: the extension ${edits.verbatim.uri} requires that the request is forwarded unchanged`)
  }
  const at: JsonPath = holder.steps()
  for (const name of sent) edits.remove([...at, name], by)
  if (value !== null) edits.set([...at, names[0]], value, by)
}
