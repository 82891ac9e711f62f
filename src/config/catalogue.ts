import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '#wire/json/parse-json.js'
import { builtCatalogue } from './built/catalogue.js'
import type { BuiltPolicy } from './built/catalogue.js'
import { formatDiagnostic, sortDiagnostics } from './diagnostics.js'
import type { PolicyConfig } from './model/model.js'
import { packageRoot } from './paths.js'
import { POLICY_SUFFIX, TESTS_SUFFIX, readPolicyFile } from './policy-file.js'

let cache: Readonly<Record<string, PolicyConfig>> | null = null

/**
 * Returns the policies that ship with the gateway, `config/extensions/<name>.yaml`, by name. Each policy is read once, on first access:
 * reading all of them takes longer than the rest of a start. Access to an invalid policy throws, because the fault is in this package and
 * not in the user's file.
 */
export function loadCatalogue (): Readonly<Record<string, PolicyConfig>> {
  cache ??= Object.freeze(
    Object.defineProperties<Record<string, PolicyConfig>>(
      {},
      Object.fromEntries(catalogueFiles().map(([name, file]) => [name, lazily(() => catalogued(name, file))]))
    )
  )
  return cache
}

/** Returns the name and path of each policy, sorted by name. */
export function catalogueFiles (): [name: string, file: string][] {
  const directory = join(packageRoot(), 'config', 'extensions')
  const names = readdirSync(directory).filter((name) => name.endsWith(POLICY_SUFFIX) && !name.endsWith(TESTS_SUFFIX)).toSorted()
  return names.map(name => [name.slice(0, -POLICY_SUFFIX.length), join(directory, name)])
}

function lazily (read: () => PolicyConfig): PropertyDescriptor {
  let policy: PolicyConfig | null = null
  const get = (): PolicyConfig => {
    policy ??= read()
    return policy
  }
  return { enumerable: true, get }
}

/**
 * Returns the built policy, unless its file has changed since the build. Measured: reading and checking object-schemas takes 50 ms of
 * processor time.
 */
function catalogued (name: string, file: string): PolicyConfig {
  return unchanged(builtCatalogue()[name], file) ?? readPolicy(file)
}

export function unchanged (built: BuiltPolicy | undefined, file: string): PolicyConfig | null {
  return built === undefined || built.digest !== fileDigest(readFileSync(file)) ? null : parseJson(built.policy) as PolicyConfig
}

export function fileDigest (bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64')
}

/**
 * Reads a file that holds one policy. Paths in the policy are relative to the file.
 * @throws Error that lists every problem
 */
export function readPolicy (file: string): PolicyConfig {
  const { policy, problems } = readPolicyFile(file)
  if (problems.length > 0) throw new Error(sortDiagnostics(problems).map(formatDiagnostic).join('\n'))
  return policy as PolicyConfig
}
