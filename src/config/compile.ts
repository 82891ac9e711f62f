/** Ajv for schemas of our kit. Loads it when something has to be compiled: mostly the build has (precompiled.ts). */
import { createRequire } from 'node:module'
import type * as Ajv from 'ajv/dist/2020.js'
import type { Ajv2020, Options, ValidateFunction } from 'ajv/dist/2020.js'
import { KEYWORDS } from './keywords.js'
import type { Schema } from './schema/schema-kit.js'
import { shareRepeats } from './schema/share-schema.js'

const require = createRequire(import.meta.url)

/** The schemas are ours: the tests check them against the meta-schema, start-up does not (60 ms of 110). */
export const OPTIONS: Options = {
  validateSchema: false, allErrors: true, verbose: true, useDefaults: true, ownProperties: true, strict: true, strictRequired: false, allowUnionTypes: true
}

/** The schema itself, and the definition of it that is validated with too. */
export interface Validators { readonly whole: ValidateFunction, readonly part: ValidateFunction | null }

/**
 * @param part name of a definition in `$defs` that gets a validator of its own
 * @param options those of the instance
 */
export function compile (schema: Schema, part: string | null, options: Options = AT_RUN_TIME): Validators & { readonly ajv: Ajv2020 } {
  const ajv = newAjv(options)
  const { $defs = {}, ...root } = shareRepeats(schema)
  if (part === null) ajv.addSchema({ ...root, $defs }, WHOLE)
  else {
    // A document of its own: of a definition Ajv would compile one validator for the references to it, and the same again for us.
    const { [part]: separate, ...others } = $defs
    const reference = JSON.stringify(`#/$defs/${part}`)
    const elsewhere = (value: object): object => JSON.parse(JSON.stringify(value).replaceAll(`"$ref":${reference}`, `"$ref":"${PART}"`)) as object
    ajv.addSchema({ ...elsewhere({ ...separate, $defs: others }) }, PART)
    ajv.addSchema(elsewhere({ ...root, $defs: others }), WHOLE)
  }
  return { ajv, whole: ajv.getSchema(WHOLE) as ValidateFunction, part: part === null ? null : ajv.getSchema(PART) as ValidateFunction }
}

export const WHOLE = 'whole'
export const PART = 'part'

/** Ajv's optimizer makes code a little shorter that runs once, in half of the time that compiling takes. */
const AT_RUN_TIME: Options = { code: { optimize: false } }

/** Its code calls our keywords by the name `keywords`, wherever it runs. */
export function newAjv (options: Options): Ajv2020 {
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
        const fault = gen.const('fault', _`${gen.scopeValue('func', { ref: check, code: _`((schema, text) => keywords[${keyword}](schema, text))` })}(${schemaValue}, ${data})`)
        cxt.setParams({ fault })
        cxt.fail(_`${fault} !== null`)
      }
    })
  }
  return ajv
}
