/** Reads a policy test file: YAML, schema, and the checks that a schema cannot express. */
import { diagnostic, sortDiagnostics } from '#config/diagnostics.js'
import type { Diagnostic, Path, PathProblem } from '#config/diagnostics.js'
import { locate, readYaml } from '#config/yaml/document.js'
import { readText } from '#config/load.js'
import type { Environment } from '#config/yaml/substitute.js'
import { validatorFor } from '#config/validate.js'
import { testFileProblems } from './test-checks.js'
import type { TestFile } from './test-model.js'
import { testFileSchema } from './test-schema.js'

/** A test file and the positions of its keys. */
export interface LoadedTests {
  readonly file: string
  readonly value: TestFile
  place (problem: PathProblem): Diagnostic
  /** Returns the position of a path as `file:line:col`. */
  at (path: Path): string
}

export type TestsResult =
  { readonly ok: true; readonly tests: LoadedTests } | { readonly ok: false; readonly problems: readonly Diagnostic[] }

let validate: ((value: unknown) => PathProblem[]) | null = null

/** The code of every problem of a test file. */
const CODE = 'A2AGW_ERR_TEST_FILE'

/**
 * Loads a test file.
 * @param file the file as the user named it
 */
export function loadTests (file: string, env: Environment): TestsResult {
  const content = readText(file)
  return 'message' in content
    ? { ok: false, problems: [diagnostic(file, 0, 0, { ...content, code: CODE })] }
    : readTests(content.text, file, env)
}

/**
 * Reads the text of a test file.
 * @param file name of the file in problems; paths in the text are relative to its directory
 */
export function readTests (text: string, file: string, env: Environment): TestsResult {
  const yaml = readYaml(text, env)
  const at = (offset: number, problem: { readonly message: string, readonly hint?: string }): Diagnostic => {
    const { line, col } = yaml.position(offset)
    return diagnostic(file, line, col, { ...problem, code: CODE })
  }
  const place = (problem: PathProblem): Diagnostic => at(locate(yaml.root, problem.path, problem.at), problem)
  const problems = yaml.problems.map(problem => at(problem.offset, problem))
  const value = yaml.root?.value ?? null
  if (yaml.readable && value === null) {
    problems.push(diagnostic(
      file, 0, 0, { message: 'the file is empty', hint: 'it contains card, agent and tests', code: CODE }
    ))
  } else if (yaml.readable) {
    validate ??= validatorFor(testFileSchema, 'the test file', 'tests')
    problems.push(...validate(value).map(place), ...testFileProblems(value).map(place))
  }
  if (problems.length > 0) return { ok: false, problems: sortDiagnostics(problems) }
  return {
    ok: true,
    tests: {
      file,
      value: value as TestFile,
      place,
      at: path => {
        const { line, col } = yaml.position(locate(yaml.root, path, 'value'))
        return `${file}:${line}:${col}`
      }
    }
  }
}
