/** `redact`: removes secrets that clients sent earlier from a task's history. */
import { isObject, memberPath } from '../../a2a/fields.js'
import type { JsonPath } from '../../wire/json/edit.js'
import type { CompiledResponses, CompiledPolicy, CompiledRedaction } from '../compile/compiled.js'
import { step as charge } from '../../jsonschema/evaluation.js'
import { matchingKeys } from '../compile/glob.js'
import { keysOf } from '../../jsonschema/keywords.js'
import type { Holder } from '../request/metadata.js'
import { FieldsHolder } from '../request/metadata.js'
import type { ResultSubject } from './result-subject.js'
import type { Findings } from './rules.js'
import { descendPath, NAME_LIMIT, step } from '../selectors/kit.js'
import { partSteps } from '../selectors/part.js'
import { addViolation, violation } from '../violation.js'

/** Name of the rule under which redaction is recorded. */
const REDACT = 'redact'

/** Removes the secrets. When the policy only observes, one violation reports that there is something to redact. */
export function redactHistory (policy: CompiledPolicy, responses: CompiledResponses, subject: ResultSubject, { violations, edits }: Findings): void {
  for (const content of subject.result.history) {
    const holders = [new FieldsHolder(content.fields, () => content.steps), ...content.parts.map(part => new FieldsHolder(part.fields, () => partSteps(content, part)))]
    for (const holder of holders) {
      for (const redaction of responses.redact) {
        for (const { at, path } of placesOf(redaction, holder)) {
          if (responses.acts && edits !== null) {
            edits.remove(at, policy, REDACT)
            continue
          }
          addViolation(violations, violation('observe', 'INVALID_AGENT_RESPONSE', policy.name, REDACT, path, 'is to be removed: the history shows it again', policy.uri))
          return
        }
      }
    }
  }
}

interface Found { readonly at: JsonPath, readonly path: string }

function placesOf ({ names, steps }: CompiledRedaction, holder: Holder): Found[] {
  charge(1)
  const { metadata } = holder
  if (!isObject(metadata)) return []
  return matchingKeys(metadata, names).flatMap(({ key, exact }) => below(metadata[key], steps, { at: [...holder.steps(), key], path: memberPath(holder.path, key, exact ? NAME_LIMIT : undefined) }))
}

/** `*` represents every item or member. */
function below (value: unknown, steps: readonly string[], found: Found): Found[] {
  charge(1)
  const [name, ...rest] = steps
  if (name === undefined) return [found]
  if (typeof value !== 'object' || value === null) return []
  const keys = name === '*' ? keysOf(value) : [name]
  return keys.flatMap(key => {
    const inner = step(value, key)
    if (inner === undefined) return []
    return below(inner, rest, { at: [...found.at, Array.isArray(value) ? Number(key) : key], path: name === '*' && !Array.isArray(value) ? memberPath(found.path, key) : descendPath(found.path, [key]) })
  })
}
