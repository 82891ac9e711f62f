import type { Name, Precompiled } from '../precompiled.js'

/**
 * Returns the validators that the build has compiled for the gateway's own schemas. The build replaces this module with one that holds them
 * (scripts/validators.ts).
 */
export function validatorsOf (_name: Name): Precompiled | null {
  return null
}
