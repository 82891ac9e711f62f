/**
 * Validates a schema against the meta-schema of its draft. The build compiles the meta-schemas (scripts/meta-schemas.ts). A process that
 * runs from the sources compiles each with the first schema of its draft (measured: 110 ms of processor time for 2020-12).
 */
import type { ValidateFunction } from 'ajv'
import { errorText } from './error-text.js'
import { clip, create } from './ajv.js'
import type { Draft } from './ajv.js'
import { isInexact, spendBudget } from './evaluation.js'
import * as functions from './keyword-functions.js'
import { metaSchemas } from './built/meta-schemas.js'
import { Patterns } from './regexp.js'
import type { SchemaProblem } from './lint.js'

export const META: Readonly<Record<Draft, string>> = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema'
}

/** Functions that the code written by the build calls. */
export interface Keywords extends Pick<
  typeof functions,
  'areEqual' | 'areUnique' | 'chargeKey' | 'chargeProps' | 'isMultiple' | 'keysOf' | 'notExact'
> {
  readonly step: typeof spendBudget
  readonly isInexact: typeof isInexact
  readonly values: (values: readonly unknown[]) => { has(value: unknown): boolean }
  readonly pattern: (pattern: string) => { test(text: string): boolean }
}

/** Creates the validator of each draft. */
export type MetaSchemas = Readonly<Record<Draft, (keywords: Keywords) => ValidateFunction>>

export const KEYWORDS: Keywords = {
  ...functions,
  step: spendBudget,
  isInexact,
  values: values => new functions.Values(values),
  // The meta-schemas have few patterns, and all are linear (test/policy/meta-schema.test.ts lists them). RE2 would be loaded only for them.
  pattern: pattern => new RegExp(pattern, 'u')
}

const validators = new Map<Draft, ValidateFunction>()

/** @returns where the schema breaks the rules of its draft, or null */
export function metaProblem (schema: unknown, draft: Draft): SchemaProblem | null {
  try {
    const validateFunction = validators.get(draft)
    const validate = validateFunction ?? metaSchemas()?.[draft](KEYWORDS) ?? compileMeta(draft)
    if (validateFunction === undefined) validators.set(draft, validate)
    return problemBy(validate, schema)
  } catch (error) {
    return { pointer: '', message: clip((error as Error).message) }
  }
}

export function problemBy (validate: ValidateFunction, schema: unknown): SchemaProblem | null {
  if (validate(schema)) return null
  const error = validate.errors?.[0]
  return {
    pointer: error?.instancePath ?? '',
    message: `not valid against its meta-schema: ${clip(error === undefined ? 'unknown error' : errorText(error))}`
  }
}

export function compileMeta (draft: Draft): ValidateFunction {
  return create(draft, false, new Patterns()).getSchema(META[draft]) as ValidateFunction
}
