/** A catalogue policy that the build has read and checked. */
export interface BuiltPolicy {
  /** Digest of the policy's source file. */
  readonly digest: string
  /** The policy as JSON text. */
  readonly policy: string
}

/** Returns the built policies by name. The build replaces this module with one that holds them (scripts/catalogue.ts). */
export function builtCatalogue (): Readonly<Record<string, BuiltPolicy>> {
  return {}
}
