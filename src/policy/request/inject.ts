/** Adds data of the platform to requests in which an extension is active. */
import { memberPath } from '../../a2a/fields.js'
import type { InjectionConfig, Mode } from '../../config/model/model.js'
import { isObject } from '../../wire/json/object.js'
import type { JsonPath } from '../../wire/json/edit.js'
import type { CompiledInjection, CompiledPolicy } from '../compile/compiled.js'
import { compileCondition } from '../compile/condition.js'
import type { Edits } from './edits.js'
import { conflict } from './edits.js'
import { compileName } from '../compile/glob.js'
import type { Holder } from './metadata.js'
import type { SelectContext } from '../selectors/kit.js'
import { NAME_LIMIT } from '../selectors/kit.js'
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
    value: Buffer.from(config.fromSecret === undefined ? JSON.stringify(config.value) : secretOf(config)),
    secret: config.fromSecret !== undefined,
    existing: config.existing ?? 'replace',
    condition: compileCondition(config.when, config.unless, context)
  }
}

/** Replaces every secret when nothing is sent to an agent. */
export const SECRET_HIDDEN = (): string => '"(secret)"'

/** True when the data is added to this request, provided that the extension is active. */
export function isMeant ({ condition }: CompiledInjection, subject: RequestSubject): boolean {
  return subject.message !== null && (condition === null || condition(subject))
}

/** Adds the data for an active extension. In mode `observe` missing data is added, and the client's own data stays. */
export function inject (policy: CompiledPolicy, subject: RequestSubject, edits: Edits, violations: Violation[]): void {
  for (const injection of policy.inject) {
    const [holder] = subject.holders([injection.place])
    if (holder === undefined || !isMeant(injection, subject)) continue
    injectOne(policy, injection, holder, edits, violations)
  }
}

function injectOne (policy: CompiledPolicy, injection: CompiledInjection, holder: Holder, edits: Edits, violations: Violation[]): void {
  const { names, existing, value } = injection
  const by = { policy, rule: INJECT }
  const { metadata } = holder
  const report = (mode: Mode, path: string, message: string): void => {
    addViolation(violations, violation({
      mode,
      reason: 'EXTENSION_DATA_INVALID',
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
  if (first !== undefined) {
    if (existing === 'keep') return
    if (existing === 'reject') return report(policy.mode, path, 'is supplied by the platform; leave it out')
    if (policy.mode === 'observe') return report('observe', path, 'would be replaced with the value that the platform supplies')
    if (edits.verbatim !== null) return conflict(edits.verbatim, by, path, violations)
  }
  if (edits.verbatim !== null) {
    return report('observe', path, `is not added: the extension ${edits.verbatim.uri} requires that the request is forwarded unchanged`)
  }
  const at: JsonPath = holder.steps()
  for (const name of sent) edits.remove([...at, name], by)
  edits.set([...at, names[0]], value, by)
}
