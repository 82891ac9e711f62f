import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseJson } from '#wire/json/parse-json.js'
import { builtCatalogue } from './built/catalogue.js'
import type { BuiltPolicy } from './built/catalogue.js'
import { policyProblems } from './checks/policy-checks.js'
import { diagnostic, formatDiagnostic, sortDiagnostics } from './diagnostics.js'
import { locate, readYaml } from './yaml/document.js'
import type { PolicyConfig } from './model/model.js'
import { packageRoot } from './paths.js'
import { SchemaFiles } from './schema-files.js'
import { validatePolicy } from './validate.js'

const SUFFIX = '.yaml'
/** Suffix of the file that holds the tests of a policy. */
const TESTS = '.test.yaml'

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
  const names = readdirSync(directory).filter((name) => name.endsWith(SUFFIX) && !name.endsWith(TESTS)).toSorted()
  return names.map(name => [name.slice(0, -SUFFIX.length), join(directory, name)])
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
  return built === undefined || built.digest !== digestOf(readFileSync(file)) ? null : parseJson(built.policy) as PolicyConfig
}

export function digestOf (bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64')
}

/**
 * Reads a file that holds one policy. Paths in the policy are relative to the file.
 * @throws Error that lists every problem
 */
export function readPolicy (file: string): PolicyConfig {
  const yaml = readYaml(readFileSync(file, 'utf8'), {})
  const value = yaml.root?.value ?? null
  const place = (offset: number, problem: { readonly message: string, readonly hint?: string }) => {
    const { line, col } = yaml.position(offset)
    return diagnostic(file, line, col, problem)
  }
  const problems = yaml.problems.map((problem) => place(problem.offset, problem))
  const schemas = new SchemaFiles(dirname(file))
  let policy: unknown = value
  if (yaml.readable) {
    const invalid = validatePolicy(value)
    policy = schemas.withSources(value, [])
    for (const problem of [...invalid, ...schemas.problems, ...policyProblems(policy, [])]) {
      problems.push(place(locate(yaml.root, problem.path, problem.at), problem))
    }
  }
  if (problems.length > 0) throw new Error(sortDiagnostics(problems).map(formatDiagnostic).join('\n'))
  return policy as PolicyConfig
}
