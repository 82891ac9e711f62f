/**
 * Validators that the build has compiled (scripts/validators.ts): compiling the configuration's schema took longer than all the rest of a start
 * (measured: 440 of 880 ms of processor time). Whoever runs from the sources, or has changed a schema and not built, has none.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { OPTIONS } from './compile.js'
import type { Validators } from './compile.js'
import { KEYWORDS } from './keywords.js'
import type { Keywords } from './keywords.js'
import type { Schema } from './schema/schema-kit.js'

/** What the module of one schema holds. */
export interface Precompiled extends Validators {
  /** Of what it was made from, see {@link digestOf}. */
  readonly digest: string
  /** Gives it our keywords; before anything is validated. */
  use (keywords: Keywords): void
}

/** Which schemas the build compiles. */
export type Name = 'configuration' | 'tests'

const require = createRequire(import.meta.url)

/**
 * @param made what the build has made of a schema of that name, if anything
 * @returns null when it was not made from just this schema by just this release of Ajv
 */
export function precompiled (schema: Schema, made: Precompiled | null): Validators | null {
  if (made === null || made.digest !== digestOf(schema)) return null
  made.use(KEYWORDS)
  return made
}

/** Of all that decides what is compiled; it changes with the order of keys too. */
export function digestOf (schema: Schema): string {
  return createHash('sha256').update(JSON.stringify([ajvVersion(), OPTIONS, schema])).digest('hex')
}

function ajvVersion (): string {
  return (require('ajv/package.json') as { version: string }).version
}
