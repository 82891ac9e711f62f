/** `redact`: removes secrets that clients sent earlier from a task's history. */
import { memberPath } from '#a2a/fields.js'
import { isObject } from '#wire/json/object.js'
import type { CompiledPolicy, CompiledRedaction, CompiledResponses } from '../compile/compiled.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import { matchingKeys } from '../compile/glob.js'
import type { Holder } from '../request/metadata.js'
import { FieldsHolder } from '../request/metadata.js'
import { addAdvisory } from './advisory.js'
import type { ResultSubject } from './result-subject.js'
import type { Findings } from './rules.js'
import type { Place } from '../selectors/selection.js'
import { collect, NAME_LIMIT } from '../selectors/selection.js'
import { partSteps } from '#a2a/message/message.js'

/** Name of the rule under which redaction is recorded. */
const REDACT = 'redact'

/** Removes the secrets. When the policy only observes, one violation reports that there is something to redact. */
export function redactHistory (
  policy: CompiledPolicy,
  responses: CompiledResponses,
  subject: ResultSubject,
  { violations, edits }: Findings
): void {
  for (const content of subject.result.history) {
    const holders = [
      new FieldsHolder(content.fields, () => content.steps),
      ...content.parts.map(part => new FieldsHolder(part.fields, () => partSteps(content, part)))
    ]
    for (const holder of holders) {
      for (const redaction of responses.redact) {
        for (const { at, path } of placesOf(redaction, holder)) {
          if (responses.acts && edits !== null) {
            edits.remove(at, policy, REDACT)
            continue
          }
          addAdvisory(violations, policy, REDACT, path, 'should be removed: the history repeats it')
          return
        }
      }
    }
  }
}

function placesOf ({ names, steps }: CompiledRedaction, holder: Holder): readonly Place[] {
  spendBudget(1)
  const { metadata } = holder
  if (!isObject(metadata)) return []
  const places: Place[] = []
  for (const { key, exact } of matchingKeys(metadata, names)) {
    collect(
      { path: memberPath(holder.path, key, exact ? NAME_LIMIT : undefined), value: metadata[key], at: [...holder.steps(), key] },
      steps,
      places
    )
  }
  return places
}
