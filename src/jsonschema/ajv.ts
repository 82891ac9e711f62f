/** Creates Ajv instances that are safe for untrusted schemas. */
import { createRequire } from 'node:module'
import type * as Ajv07Module from 'ajv'
import type { Ajv, Options } from 'ajv'
import type * as Ajv2019Module from 'ajv/dist/2019.js'
import type * as Ajv2020Module from 'ajv/dist/2020.js'
import type * as AjvFormats from 'ajv-formats'
import { visible } from '#a2a/fields.js'
import { spendBudget } from './evaluation.js'
import { replaceKeywords } from './keywords.js'
import { isRegex } from './regexp.js'
import type { Matcher, Patterns } from './regexp.js'

export type Formats = 'assert' | 'annotate'

// Ajv and its formats are loaded with the first schema. A start without schemas does not load them (measured: 56 ms of processor time with
// require, 70 ms with import).
const require = createRequire(import.meta.url)

export type Draft = '2020-12' | '2019-09' | 'draft-07'

/**
 * Microseconds for one character and one instruction of the compiled pattern, in the worst case (measured: 22 for a character of 1,000
 * instructions).
 */
const PATTERN_STEP = 1 / 45

/**
 * Compiles a pattern whose matches are charged in steps. A match is linear in the text, but a pattern that counts to 500 may take a hundred
 * times as long as another.
 */
export function countedPattern (pattern: string, patterns: Patterns): Matcher {
  const matcher = patterns.compile(pattern)
  const each = Math.max(8, matcher.size) * PATTERN_STEP
  return {
    test: text => {
      spendBudget(1 + text.length * each)
      return matcher.test(text)
    },
    toString: () => pattern
  }
}

const OPTIONS: Options = {
  // Unknown keywords and formats are annotations (2020-12 §6.5). Published schemas contain many of them.
  strictSchema: false,
  strictTypes: false,
  strictRequired: false,
  strictTuples: false,
  strictNumbers: true,
  allowUnionTypes: true,
  // A shared instance checks the schema against its meta-schema once.
  validateSchema: false,
  // Without this option Ajv cannot resolve "#" in a schema that has no $id. The instance holds only this one schema.
  addUsedSchema: true,
  // Ajv would compile larger schemas again at every reference.
  inlineRefs: 10,
  logger: false
}

/** Names that every object inherits, as they stand in a schema. */
const INHERITED = new RegExp(`"(?:${Object.getOwnPropertyNames(Object.prototype).join('|')})"`)

/**
 * True when a schema contains a name that every object inherits: Object.prototype must not satisfy `{required: ["constructor"]}`.
 * Validators of other schemas do not ask whether an object has a property itself (measured with 860 objects of three members: 12 instead
 * of 45 us).
 */
export function mayReadInherited (schemas: Iterable<unknown>): boolean {
  for (const schema of schemas) if (INHERITED.test(JSON.stringify(schema) ?? '')) return true
  return false
}

export interface CreateOptions {
  /** `mayReadInherited` of the schemas that the instance compiles. Default: true. */
  readonly ownProperties?: boolean
  /** `annotate`: validators ignore `format`. Default: assert. */
  readonly formats?: Formats
  /** True if the validators keep their code, so that it can be written out (code.ts, scripts/meta-schemas.ts). Default: false. */
  readonly source?: boolean
}

/** Creates an instance for one draft. */
export function create (
  draft: Draft,
  allErrors: boolean,
  patterns: Patterns,
  { formats = 'assert', source = false, ownProperties = true }: CreateOptions = {}
): Ajv {
  const regExp = Object.assign((pattern: string): Matcher => countedPattern(pattern, patterns), { code: 'keywords.pattern' })
  const options: Options = { ...OPTIONS, ownProperties, allErrors, validateFormats: formats === 'assert', code: { regExp, source } }
  const ajv = newAjv(draft, options)
  const { default: addFormats } = require('ajv-formats') as typeof AjvFormats
  addFormats.default(ajv as unknown as Parameters<typeof addFormats.default>[0])
  // JSON Schema does not define `url`. The expression of ajv-formats is quadratic (measured: 19 s for 50,000 characters, `uri` takes 5 ms).
  ajv.addFormat('url', ajv.formats.uri ?? true)
  ajv.addFormat('regex', isRegex)
  replaceKeywords(ajv as unknown as Ajv)
  return ajv as unknown as Ajv
}

function newAjv (draft: Draft, options: Options) {
  switch (draft) {
    case '2020-12': return new (require('ajv/dist/2020.js') as typeof Ajv2020Module).Ajv2020(options)
    case '2019-09': return new (require('ajv/dist/2019.js') as typeof Ajv2019Module).Ajv2019(options)
    case 'draft-07': return new (require('ajv') as typeof Ajv07Module).Ajv(options)
  }
}

/** Shortens text that the author of the schema wrote. The author is untrusted too. */
export function clip (text: string): string {
  return visible(text, 200)
}

/** @returns null for a `$schema` that is none of the drafts */
export function draftOf (schema: object): Draft | null {
  const declared = (schema as { $schema?: unknown }).$schema
  if (declared === undefined) return '2020-12'
  return typeof declared === 'string' ? DRAFTS.get(declared.replace(/#$/, '')) ?? null : null
}

export const DRAFTS: ReadonlyMap<string, Draft> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07']
])
