import type { Name, Precompiled } from '../precompiled.js'

/** Validators of our own schemas that the build has made: it puts a module with them in this one's place (scripts/validators.ts). */
export function validatorsOf (_name: Name): Precompiled | null {
  return null
}
