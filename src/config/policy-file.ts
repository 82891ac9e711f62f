/** A file that holds one policy: of the built-in catalogue, or of the directory of `extensions.from`. */
import { dirname } from 'node:path'
import { fileErrorText } from './describe.js'
import { policyProblems } from './checks/policy-checks.js'
import type { Diagnostic, PathProblem } from './diagnostics.js'
import { diagnostic } from './diagnostics.js'
import { SchemaFiles } from './schema-files.js'
import { validatePolicy } from './validate.js'
import { locate, readYaml } from './yaml/document.js'
import { MAX_FILE_BYTES } from './yaml/guard.js'
import { readBounded } from './yaml/read-bounded.js'

export const POLICY_SUFFIX = '.yaml'
/** Suffix of the file that holds the tests of a policy. */
export const TESTS_SUFFIX = '.test.yaml'

export interface ReadPolicy {
  /** May be wrong when there are problems. */
  readonly policy: unknown
  readonly problems: readonly Diagnostic[]
  /** Schema files that the policy names. */
  readonly files: readonly string[]
  /** Gives a further problem of the policy its position in the file. */
  place (problem: PathProblem): Diagnostic
}

/**
 * Reads and checks a file that holds one policy. Paths in the policy are relative to the file. Environment variables are not substituted.
 * @param file path, as problems name it
 */
export function readPolicyFile (file: string): ReadPolicy {
  const bytes = bytesOf(file)
  if ('message' in bytes) {
    return {
      policy: {},
      problems: [diagnostic(file, 0, 0, { ...bytes, code: 'A2AGW_ERR_CONFIG_UNREADABLE' })],
      files: [],
      place: problem => diagnostic(file, 0, 0, problem)
    }
  }
  const yaml = readYaml(bytes.toString('utf8'), {})
  const value = yaml.root?.value ?? null
  const at = (offset: number, problem: Omit<PathProblem, 'path' | 'at'>): Diagnostic => {
    const { line, col } = yaml.position(offset)
    return diagnostic(file, line, col, problem)
  }
  const place = (problem: PathProblem): Diagnostic => at(locate(yaml.root, problem.path, problem.at), problem)
  const problems = yaml.problems.map(problem => at(problem.offset, problem))
  if (!yaml.readable) return { policy: value, problems, files: [], place }
  const schemas = new SchemaFiles(dirname(file))
  const invalid = validatePolicy(value)
  const policy = schemas.withSources(value, [])
  problems.push(...[...invalid, ...schemas.problems, ...policyProblems(policy, [])].map(place))
  return { policy, problems, files: schemas.files, place }
}

function bytesOf (file: string): Buffer | { readonly message: string } {
  try {
    return readBounded(file, MAX_FILE_BYTES) ?? { message: 'the file is larger than 1 MiB' }
  } catch (error) {
    return { message: `cannot read the file: ${fileErrorText(error)}` }
  }
}
