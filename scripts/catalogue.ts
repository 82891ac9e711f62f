/**
 * Writes the policies of the catalogue as JSON, parsed and validated, for src/config/catalogue.ts. The files are part of a build, not of
 * the repository.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { BuiltPolicy } from '#config/built/catalogue.js'
import { catalogueFiles, fileDigest, readPolicy } from '#config/catalogue.js'
import { overwrite } from './overwrite.js'

/** Leaves out policies with schemas from files: JSON cannot contain the whole policy, so the gateway reads the YAML of these policies. */
export function builtPolicies (): Record<string, BuiltPolicy> {
  return Object.fromEntries(catalogueFiles().flatMap(([name, file]) => {
    const policy = readPolicy(file)
    const text = JSON.stringify(policy)
    return isDeepStrictEqual(JSON.parse(text), policy) ? [[name, { digest: fileDigest(readFileSync(file)), policy: text }]] : []
  }))
}

export function writeCatalogue (): void {
  overwrite('src/config/built/catalogue.js', "export const builtCatalogue = () => require('./policies.cjs')", {
    policies: `module.exports = ${JSON.stringify(builtPolicies(), null, 1)}\n`
  })
}
