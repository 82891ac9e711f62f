/** Writes the validators of our own schemas as code, for src/config/precompiled.ts. They are part of a build, not of the repository. */
import { writeFileSync } from 'node:fs'
import standalone from 'ajv/dist/standalone/index.js'
import { PART, WHOLE, compile } from '../src/config/compile.js'
import { digestOf, fileOf } from '../src/config/precompiled.js'
import type { Schema } from '../src/config/schema-kit.js'
import { configSchema } from '../src/config/schema.js'
import { POLICY } from '../src/config/validate.js'
import { testFileSchema } from '../src/offline/test-schema.js'

/** @returns a CommonJS module, of the shape `Precompiled` */
export function validatorsModule (schema: Schema, part: string | null): string {
  const { ajv } = compile(schema, part, { code: { source: true } })
  const code = standalone.default(ajv, part === null ? { whole: WHOLE } : { whole: WHOLE, part: PART })
  return [
    code,
    part === null ? 'exports.part = null' : '',
    `exports.digest = ${JSON.stringify(digestOf(schema))}`,
    'let keywords',
    'exports.use = given => { keywords = given }',
    ''
  ].join('\n')
}

export function writeValidators (): void {
  writeFileSync(fileOf('configuration'), validatorsModule(configSchema, POLICY))
  writeFileSync(fileOf('tests'), validatorsModule(testFileSchema, null))
}
