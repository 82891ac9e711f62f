/**
 * Writes the validators of the gateway's own schemas as code, for src/config/precompiled.ts. The code is part of a build, not of the
 * repository.
 */
import standalone from 'ajv/dist/standalone/index.js'
import { PART, WHOLE, compile } from '#config/compile.js'
import { schemaDigest } from '#config/precompiled.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'
import { POLICY } from '#config/validate.js'
import { testFileSchema } from '#offline/policy-test/test-schema.js'
import { overwrite } from './overwrite.js'

/** @returns the text of a CommonJS module with the shape `Precompiled` */
export function validatorsModule (schema: Schema, part: string | null): string {
  const { ajv } = compile(schema, part, { code: { source: true } })
  const code = standalone.default(ajv, part === null ? { whole: WHOLE } : { whole: WHOLE, part: PART })
  return [
    code,
    part === null ? 'exports.part = null' : '',
    `exports.digest = ${JSON.stringify(schemaDigest(schema))}`,
    'let keywords',
    'exports.use = given => { keywords = given }',
    ''
  ].join('\n')
}

export function writeValidators (): void {
  overwrite(
    'src/config/built/validators.js',
    "export const validatorsOf = name => name === 'tests' ? require('./tests.cjs') : require('./configuration.cjs')",
    {
      configuration: validatorsModule(configSchema, POLICY),
      tests: validatorsModule(testFileSchema, null)
    }
  )
}
