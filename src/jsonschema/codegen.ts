import { createRequire } from 'node:module'
import type * as AjvModule from 'ajv'
import type { Ajv } from 'ajv'

const require = createRequire(import.meta.url)

/** Ajv of any draft. */
export type AnyAjv = Pick<Ajv, 'RULES' | 'addKeyword' | 'removeKeyword'>

type Codegen = Pick<typeof AjvModule, '_' | 'Name' | 'nil' | 'str'>

let loaded: Codegen | null = null

/**
 * Loads the code generator of Ajv on demand, as in ajv.ts. The module keeps it, because `require` looks up the file on each call: that was
 * a third of the cost of an instance.
 */
export function codegen (): Codegen {
  loaded ??= require('ajv') as typeof AjvModule
  return loaded
}
