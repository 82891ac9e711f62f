/**
 * Writes the validators of the meta-schemas of JSON Schema as code, for src/jsonschema/meta-schema.ts. The code is part of a build, not of
 * the repository.
 */
import standalone from 'ajv/dist/standalone/index.js'
import { create } from '#jsonschema/ajv.js'
import type { Draft } from '#jsonschema/ajv.js'
import { META } from '#jsonschema/meta-schema.js'
import { Patterns } from '#jsonschema/regexp.js'
import { overwrite } from './overwrite.js'

/** @returns the text of a CommonJS module with the shape `MetaSchemas` */
export function metaSchemasModule (): string {
  const makers = (Object.keys(META) as Draft[]).map(draft => {
    const code = standalone.default(create(draft, false, new Patterns(), { source: true }), { made: META[draft] })
    return `exports[${JSON.stringify(draft)}] = keywords => {\nconst exports = {}\n${code.replace('"use strict";', '')}\nreturn exports.made\n}`
  })
  return ['"use strict"', ...makers, ''].join('\n')
}

export function writeMetaSchemas (): void {
  overwrite('src/jsonschema/built/meta-schemas.js', "export const metaSchemas = () => require('./drafts.cjs')", {
    drafts: metaSchemasModule()
  })
}
