/**
 * Ajv for schemas of the schema kit. Loads Ajv only when a schema must be compiled at run time; usually the build has compiled it
 * (precompiled.ts).
 */
import { createRequire } from 'node:module'
import type * as Ajv from 'ajv/dist/2020.js'
import type { Ajv2020, Options, ValidateFunction } from 'ajv/dist/2020.js'
import { parseJson } from '#wire/json/parse-json.js'
import { KEYWORDS } from './keywords.js'
import type { Schema } from './schema/schema-builder.js'
import { shareRepeats } from './schema/share-schema.js'

const require = createRequire(import.meta.url)

/** The tests check these schemas against the meta-schema. The start-up skips this check, which takes 60 ms of 110 ms. */
export const OPTIONS: Options = {
  validateSchema: false,
  allErrors: true,
  verbose: true,
  useDefaults: true,
  ownProperties: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true
}

/** The validators of the whole schema, and of one definition that is also validated alone. */
export interface Validators { readonly whole: ValidateFunction, readonly part: ValidateFunction | null }

/**
 * Compiles a schema.
 * @param part name of a definition in `$defs` that gets its own validator
 * @param options options of the Ajv instance
 */
export function compile (schema: Schema, part: string | null, options: Options = AT_RUN_TIME): Validators & { readonly ajv: Ajv2020 } {
  const ajv = newAjv(options)
  const { $defs = {}, ...root } = shareRepeats(schema)
  if (part === null) ajv.addSchema({ ...root, $defs }, WHOLE)
  else {
    // The part becomes its own document. As a definition, Ajv would compile one validator for the references and the same validator again
    // for this module.
    const { [part]: separate, ...others } = $defs
    const reference = JSON.stringify(`#/$defs/${part}`)
    const elsewhere = (value: object): object =>
      parseJson(JSON.stringify(value).replaceAll(`"$ref":${reference}`, `"$ref":"${PART}"`)) as object
    ajv.addSchema({ ...elsewhere({ ...separate, $defs: others }) }, PART)
    ajv.addSchema(elsewhere({ ...root, $defs: others }), WHOLE)
  }
  return { ajv, whole: ajv.getSchema(WHOLE) as ValidateFunction, part: part === null ? null : ajv.getSchema(PART) as ValidateFunction }
}

export const WHOLE = 'whole'
export const PART = 'part'

/** Ajv's optimizer takes half of the compile time and shortens code that runs only once, so it is off. */
const AT_RUN_TIME: Options = { code: { optimize: false } }

/** Creates an Ajv instance with the gateway's keywords. The generated code calls them by the name `keywords`, wherever the code runs. */
function newAjv (options: Options): Ajv2020 {
  const { Ajv2020, _ } = require('ajv/dist/2020.js') as typeof Ajv
  const ajv = new Ajv2020({ ...OPTIONS, ...options })
  for (const [keyword, check] of Object.entries(KEYWORDS)) {
    ajv.addKeyword({
      keyword,
      type: 'string',
      error: {
        message: ({ params }) => _`${params.fault}.message`,
        params: ({ params }) => _`{hint: ${params.fault}.hint}`
      },
      code: cxt => {
        const { gen, data, schemaValue } = cxt
        const fault = gen.const(
          'fault',
          _`${gen.scopeValue('func', { ref: check, code: _`((schema, text) => keywords[${keyword}](schema, text))` })}(${schemaValue}, ${data})`
        )
        cxt.setParams({ fault })
        cxt.fail(_`${fault} !== null`)
      }
    })
  }
  return ajv
}
