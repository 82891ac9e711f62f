/** A policy of the catalogue as the build has read and checked it. */
export interface BuiltPolicy {
  /** Of the file that it was read from. */
  readonly digest: string
  /** JSON */
  readonly policy: string
}

/** By name. The build puts a module with them in this one's place (scripts/catalogue.ts). */
export function builtCatalogue (): Readonly<Record<string, BuiltPolicy>> {
  return {}
}
