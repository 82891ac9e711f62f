import type { MetaSchemas } from '../meta-schema.js'

/** Validators of the meta-schemas that the build has made: it puts a module with them in this one's place (scripts/meta-schemas.ts). */
export function metaSchemas (): MetaSchemas | null {
  return null
}
