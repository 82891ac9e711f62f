/**
 * Validators that the build has compiled (scripts/validators.ts). Compiling the configuration's schema took longer than the rest of a start
 * (measured: 440 of 880 ms of processor time). There are no compiled validators when the gateway runs from source, or when a schema has
 * changed since the build.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { OPTIONS } from './compile.js'
import type { Validators } from './compile.js'
import { KEYWORDS } from './keywords.js'
import type { Keywords } from './keywords.js'
import type { Schema } from './schema/schema-builder.js'

/** The content of one schema's module. */
export interface Precompiled extends Validators {
  /** Digest of the inputs of the build, see {@link schemaDigest}. */
  readonly digest: string
  /** Passes the gateway's keywords to the module. Must be called before any validation. */
  use (keywords: Keywords): void
}

/** Names of the schemas that the build compiles. */
export type Name = 'configuration' | 'tests'

const require = createRequire(import.meta.url)

/**
 * Returns the validators that the build compiled for this schema.
 * @param validators validators that the build compiled for a schema of this name, if any
 * @returns null when a different schema or Ajv release was used
 */
export function precompiled (schema: Schema, validators: Precompiled | null): Validators | null {
  if (validators === null || validators.digest !== schemaDigest(schema)) return null
  validators.use(KEYWORDS)
  return validators
}

/** Digest of all inputs of the compilation. It also changes with the order of keys. */
export function schemaDigest (schema: Schema): string {
  return createHash('sha256').update(JSON.stringify([ajvVersion(), OPTIONS, schema])).digest('hex')
}

function ajvVersion (): string {
  return (require('ajv/package.json') as { version: string }).version
}
