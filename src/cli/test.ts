/** `a2a-gateway test`: runs policy tests written in YAML. */
import { diagnostic } from '#config/diagnostics.js'
import type { Diagnostic } from '#config/diagnostics.js'
import { overridesFromEnvironment, readText } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import type { FileResult, RunOptions } from '#offline/policy-test/run-tests.js'
import { runTests } from '#offline/policy-test/run-tests.js'
import { loadTests } from '#offline/policy-test/test-file.js'
import type { NamedResult } from '#offline/policy-test/test-report.js'
import { pretty, tap } from '#offline/policy-test/test-report.js'
import { CHECKS, readConfiguration } from '#offline/configuration.js'
import { kindOfFile, wrongKind } from './command-line/file-kind.js'
import type { Output } from './output.js'
import { testFiles } from './policy-tests/files.js'
import { unusableConfiguration } from './reports/configuration-problems.js'
import { COMMAND_LINE, reportFailure, usageProblem } from './reports/failure.js'
import { testsAsAnnotations, testsAsJson, testsAsJunit } from './reports/test-report.js'

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
  const found = testFiles(names)
  if ('problem' in found) return unusable([usageProblem(found.problem)])
  const { files } = found
  const config = args.config ?? (env.A2A_GATEWAY_CONFIG || null)
  const base = baseConfig(config, env)
  if (base !== null && !('hash' in base)) return unusable(base.problems, config ?? undefined)
  const run = files.map(file => ({ file, result: runFile(file, { base, checks: CHECKS, only }, env) }))
  const results = run.flatMap(({ result }) => result.ok ? result.results : [])
  const broken = run.some(({ result }) => !result.ok)
  if (results.length === 0 && !broken) return unusable([usageProblem(`no test has a name that contains "${only ?? ''}"`)])
  io.out(report(run))
  if (broken) return UNUSABLE
  return results.every(one => one.mismatches.length === 0) ? PASSED : FAILED
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
