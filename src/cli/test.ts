/** `a2a-gateway test`: runs policy tests written in YAML. */
import type { Diagnostic } from '#config/diagnostics.js'
import { diagnostic, formatDiagnostic } from '#config/diagnostics.js'
import { overridesFromEnvironment, readText } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import type { FileResult, RunOptions, TestResult } from '#offline/policy-test/run-tests.js'
import { runTests } from '#offline/policy-test/run-tests.js'
import { loadTests } from '#offline/policy-test/test-file.js'
import type { NamedResult } from '#offline/policy-test/test-report.js'
import { pretty, tap, detailsOf, failureText, titleOf } from '#offline/policy-test/test-report.js'
import { CHECKS, readConfiguration } from '#offline/configuration.js'
import { kindOfFile, wrongKind } from './command-line/file-kind.js'
import type { Output } from './output.js'
import { JSON_FORMAT } from './output.js'
import { testFiles } from './policy-tests/files.js'
import { unusableConfiguration } from './reports/configuration-problems.js'
import { COMMAND_LINE, reportFailure, usageProblem } from './reports/failure.js'
import type { Finding } from './reports/finding.js'
import { findingOf } from './reports/finding.js'
import { annotations } from './reports/github.js'
import type { Case } from './reports/junit.js'
import { junit } from './reports/junit.js'

export interface TestArguments {
  /** Files, directories and patterns. */
  readonly files: readonly string[]
  readonly config: string | null
  /** Substring of the names of the tests to run. Null: all tests. */
  readonly only: string | null
  /** A name of FORMATS. Undefined: pretty on a terminal, else tap. */
  readonly format: string | undefined
  readonly terminal: boolean
  readonly env: NodeJS.ProcessEnv
}

const FORMATS: Readonly<Record<string, (files: readonly NamedResult[]) => string>> = {
  tap,
  pretty,
  json: testsAsJson,
  junit: testsAsJunit,
  github: testsAsAnnotations
}

const PASSED = 0
const FAILED = 1
const UNUSABLE = 2

/**
 * Runs the command.
 * @returns exit code: 0 all pass, 1 a test failed, 2 a file, the configuration or the command line could not be used
 */
export function runTest (args: TestArguments, io: Output): number {
  const { files: names, only, env, format = args.terminal ? 'pretty' : 'tap' } = args
  const report = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  const unusable = (problems: readonly Diagnostic[], file = COMMAND_LINE): number => {
    if (report !== undefined && REPORTS_FAILURES.has(format)) io.out(report([{ file, result: { ok: false, problems } }]))
    else reportFailure('test', problems, format === 'json', io)
    return UNUSABLE
  }
  if (report === undefined) {
    return unusable([
      usageProblem(`there is no format "${format}"; formats are ${Object.keys(FORMATS).join(', ')}`)
    ])
  }
  if (names.length === 0) return unusable([usageProblem('name test files or a directory, such as "a2a-gateway test policies/"')])
  const testPaths = testFiles(names)
  if ('problem' in testPaths) return unusable([usageProblem(testPaths.problem)])
  const { files } = testPaths
  const config = args.config ?? (env.A2A_GATEWAY_CONFIG || null)
  const base = baseConfig(config, env)
  if (base !== null && !('hash' in base)) return unusable(base.problems, config ?? undefined)
  const run = files.map(file => ({ file, result: runFile(file, { base, checks: CHECKS, only }, env) }))
  const results = run.flatMap(({ result }) => result.ok ? result.results : [])
  const broken = run.some(({ result }) => !result.ok)
  if (results.length === 0 && !broken) return unusable([usageProblem(`no test has a name that contains "${only ?? ''}"`)])
  io.out(report(run))
  if (broken) return UNUSABLE
  return results.every(result => result.mismatches.length === 0) ? PASSED : FAILED
}

/** Formats that also report why no test could be run. The others are for people, who read stderr; `--json` has an object of its own. */
const REPORTS_FAILURES: ReadonlySet<string> = new Set(['junit', 'github'])

function baseConfig (file: string | null, env: NodeJS.ProcessEnv): Config | { readonly problems: readonly Diagnostic[] } | null {
  if (file === null) return null
  const loaded = readConfiguration({ file, env, overrides: overridesFromEnvironment(env), secrets: false })
  return loaded.ok ? loaded.config : unusableConfiguration(file, loaded)
}

function runFile (file: string, options: RunOptions, env: NodeJS.ProcessEnv): FileResult {
  const loaded = loadTests(file, env)
  if (!loaded.ok) {
    const content = readText(file)
    const kind = 'text' in content ? kindOfFile(file, content.text) : null
    return kind === null || kind === 'tests' ? loaded : { ok: false, problems: [wrongKind(file, kind, 'tests')] }
  }
  try {
    return runTests(loaded.tests, options)
  } catch (error) {
    return {
      ok: false,
      problems: [
        diagnostic(file, 0, 0, {
          message: `the tests could not be run: ${(error as Error).message}`,
          hint: 'a bug in a2a-gateway; please report it',
          code: 'A2AGW_ERR_TEST_FILE'
        })
      ]
    }
  }
}

/* The output of `test` in the formats for machines. */

const passed = ({ mismatches }: TestResult): boolean => mismatches.length === 0

function testsAsJson (files: readonly NamedResult[]): string {
  const all = resultsOf(files)
  const failed = all.filter(testResult => !passed(testResult)).length
  const unusable = files.filter(({ result }) => !result.ok).length
  return `${JSON.stringify({
    format: JSON_FORMAT,
    ok: failed === 0 && unusable === 0,
    passed: all.length - failed,
    failed,
    unusable,
    files: files.map(({ file, result }) => result.ok
      ? { file, tests: result.results.map(jsonOf) }
      : { file, problems: result.problems.map(problem => findingOf(problem)) })
  }, null, 2)}\n`
}

function testsAsJunit (files: readonly NamedResult[]): string {
  return junit('a2a-gateway test', files.map(({ file, result }) => ({
    name: file,
    cases: result.ok ? result.results.map(caseOf) : result.problems.map(problem => unusableCase(file, problem))
  })))
}

/** Annotations of failed tests and of problems of files, and a last line for people. */
function testsAsAnnotations (files: readonly NamedResult[]): string {
  const all = resultsOf(files)
  const failed = all.filter(testResult => !passed(testResult))
  const findings: (Finding & { readonly title?: string })[] = [
    ...files.flatMap(({ result }) => result.ok ? [] : result.problems.map(problem => findingOf(problem))),
    ...failed.map(testResult => ({ severity: 'error' as const, ...placeOf(testResult), message: failureText(testResult), title: titleOf(testResult) }))
  ]
  return `${annotations(findings)}${all.length - failed.length} passed, ${failed.length} failed\n`
}

function resultsOf (files: readonly NamedResult[]): TestResult[] {
  return files.flatMap(({ result }) => result.ok ? result.results : [])
}

function jsonOf (testResult: TestResult): object {
  const { name, version, binding } = testResult
  return { name, version, binding, ...placeOf(testResult), ok: passed(testResult), ...(passed(testResult) ? {} : detailsOf(testResult)) }
}

function caseOf (testResult: TestResult): Case {
  const { file, line } = placeOf(testResult)
  const message = testResult.mismatches.map(({ key }) => key).join(', ')
  return { name: titleOf(testResult), file, line, failure: passed(testResult) ? null : { kind: 'failure', message, text: failureText(testResult) } }
}

function unusableCase (file: string, problem: Diagnostic): Case {
  const place = problem.file === COMMAND_LINE ? {} : problem.line === 0 ? { file } : { file, line: problem.line }
  const failure = { kind: 'error' as const, message: problem.message, text: formatDiagnostic(problem), type: problem.code }
  return { name: `${file} can be used`, ...place, failure }
}

/** Splits `file:line:col`. */
function placeOf ({ at }: TestResult): { readonly file: string, readonly line: number, readonly col: number } {
  const [, file = at, line = 0, col = 0] = /^([^]*):(\d+):(\d+)$/.exec(at) ?? []
  return { file, line: Number(line), col: Number(col) }
}
