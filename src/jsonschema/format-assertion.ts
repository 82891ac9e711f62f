/** Decides whether the keyword `format` of a schema is an assertion or an annotation. */
import type { JsonSchemaConfig } from '#config/model/model.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { draftOf } from './ajv.js'
import type { Formats } from './ajv.js'

/** Vocabularies that make `format` an assertion: 2020-12 §7.2.2, where the value does not matter, and 2019-09 §7.2. */
const ASSERTION_2020 = 'https://json-schema.org/draft/2020-12/vocab/format-assertion'
const FORMAT_2019 = 'https://json-schema.org/draft/2019-09/vocab/format'

/**
 * Returns the treatment of `format` in one schema. A schema of a policy that states no `$schema` asserts: its author expects every keyword
 * to act. Otherwise the agent's setting decides, then the vocabulary that the schema names, then its draft.
 * @param isOwn true for a schema of a policy, false for a schema of a card
 */
export function formatsOf (schema: unknown, setting: JsonSchemaConfig['formats'], isOwn: boolean): Formats {
  if (!isObject(schema)) return 'assert'
  if (isOwn && !Object.hasOwn(schema, '$schema')) return 'assert'
  if (setting !== 'draft') return setting
  return draftOf(schema) === 'draft-07' || asksForAssertion(schema) ? 'assert' : 'annotate'
}

function asksForAssertion (schema: JsonObject): boolean {
  const vocabulary = own(schema, '$vocabulary')
  return isObject(vocabulary) && (typeof own(vocabulary, ASSERTION_2020) === 'boolean' || own(vocabulary, FORMAT_2019) === true)
}
