import type { MetaSchemas } from '../meta-schema.js'

/** Validators of the meta-schemas. The build replaces this module with one that contains them (scripts/meta-schemas.ts). */
export function metaSchemas (): MetaSchemas | null {
  return null
}
