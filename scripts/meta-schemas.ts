/** Writes the validators of the meta-schemas of JSON Schema as code, for src/policy/meta-schema.ts. They are part of a build, not of the repository. */
import standalone from 'ajv/dist/standalone/index.js'
import { create } from '../src/policy/ajv.js'
import type { Draft } from '../src/policy/ajv.js'
import { META } from '../src/policy/meta-schema.js'
import { Patterns } from '../src/policy/regexp.js'
import { overwrite } from './overwrite.js'

/** @returns a CommonJS module, of the shape `MetaSchemas` */
export function metaSchemasModule (): string {
  const makers = (Object.keys(META) as Draft[]).map(draft => {
    const code = standalone.default(create(draft, false, new Patterns(), true), { made: META[draft] })
    return `exports[${JSON.stringify(draft)}] = keywords => {\nconst exports = {}\n${code.replace('"use strict";', '')}\nreturn exports.made\n}`
  })
  return ['"use strict"', ...makers, ''].join('\n')
}

export function writeMetaSchemas (): void {
  overwrite('src/policy/built/meta-schemas.js', "export const metaSchemas = () => require('./drafts.cjs')", { drafts: metaSchemasModule() })
}
