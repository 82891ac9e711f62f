/** Instances of Ajv that are fit for schemas of strangers. */
import { createRequire } from 'node:module'
import type { Ajv, Options } from 'ajv'
import type * as Ajv07Module from 'ajv'
import type * as Ajv2019Module from 'ajv/dist/2019.js'
import type * as Ajv2020Module from 'ajv/dist/2020.js'
import type * as Formats from 'ajv-formats'
import { visible } from '../a2a/fields.js'
import { step } from './evaluation.js'
import { replaceKeywords } from './keywords.js'
import type { Matcher, Patterns } from './regexp.js'

// Ajv and its formats are loaded with the first schema: a start without any does without them (measured: 56 ms of processor time, 70 imported).
const require = createRequire(import.meta.url)

export type Draft = '2020-12' | '2019-09' | 'draft-07'

/** Microseconds for a character and an instruction of the compiled pattern, at the worst (measured: 22 for a character of 1,000 instructions). */
const PATTERN_STEP = 1 / 45

/** Linear in the text, but a pattern that counts to 500 may take a hundred times as long as another. */
export function countedPattern (pattern: string, patterns: Patterns): Matcher {
  const matcher = patterns.compile(pattern)
  const each = Math.max(8, matcher.size) * PATTERN_STEP
  return {
    test: text => {
      step(1 + text.length * each)
      return matcher.test(text)
    },
    toString: () => pattern
  }
}

const OPTIONS: Options = {
  // `{required: ["constructor"]}` must not be met by Object.prototype.
  ownProperties: true,
  // Unknown keywords and formats are annotations (2020-12 §6.5): published schemas are full of them.
  strictSchema: false,
  strictTypes: false,
  strictRequired: false,
  strictTuples: false,
  strictNumbers: true,
  allowUnionTypes: true,
  // The schema is checked against its meta-schema once, by a shared instance.
  validateSchema: false,
  // Without it Ajv cannot resolve "#" in a schema that has no $id. The instance holds this one schema only.
  addUsedSchema: true,
  // Larger ones would be compiled again at every reference.
  inlineRefs: 10,
  logger: false
}

/** @param source whether its validators keep their code, to be written out (schema-code.ts, scripts/meta-schemas.ts) */
export function create (draft: Draft, allErrors: boolean, patterns: Patterns, source = false): Ajv {
  const regExp = Object.assign((pattern: string): Matcher => countedPattern(pattern, patterns), { code: 'keywords.pattern' })
  const options: Options = { ...OPTIONS, allErrors, code: { regExp, source } }
  const ajv = newAjv(draft, options)
  const { default: addFormats } = require('ajv-formats') as typeof Formats
  addFormats.default(ajv as unknown as Parameters<typeof addFormats.default>[0])
  // Not JSON Schema's; its expression is quadratic (measured: 19 s for 50,000 characters, where `uri` takes 5 ms).
  ajv.addFormat('url', ajv.formats.uri ?? true)
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

/** Words of the schema's author, who is a stranger too. */
export function clip (text: string): string {
  return visible(text, 200)
}
