/** The output of `test` in the formats for machines. */
import type { Diagnostic } from '#config/diagnostics.js'
import { formatDiagnostic } from '#config/diagnostics.js'
import type { NamedResult } from '#offline/policy-test/test-report.js'
import { detailsOf, failureText, titleOf } from '#offline/policy-test/test-report.js'
import type { TestResult } from '#offline/policy-test/run-tests.js'
import { COMMAND_LINE } from './failure.js'
import { findingOf } from './finding.js'
import type { Finding } from './finding.js'
import { annotations } from './github.js'
import type { Case } from './junit.js'
import { junit } from './junit.js'
import { JSON_FORMAT } from '../output.js'

const passed = ({ mismatches }: TestResult): boolean => mismatches.length === 0

export function testsAsJson (files: readonly NamedResult[]): string {
  const all = resultsOf(files)
  const failed = all.filter(one => !passed(one)).length
  const unusable = files.filter(({ result }) => !result.ok).length
  return `${JSON.stringify({
    format: JSON_FORMAT,
    ok: failed === 0 && unusable === 0,
    passed: all.length - failed,
    failed,
    unusable,
    files: files.map(({ file, result }) => result.ok
      ? { file, tests: result.results.map(jsonOf) }
      : { file, problems: result.problems.map(one => findingOf(one)) })
  }, null, 2)}\n`
}

export function testsAsJunit (files: readonly NamedResult[]): string {
  return junit('a2a-gateway test', files.map(({ file, result }) => ({
    name: file,
    cases: result.ok ? result.results.map(caseOf) : result.problems.map(problem => unusableCase(file, problem))
  })))
}

/** Annotations of failed tests and of problems of files, and a last line for people. */
export function testsAsAnnotations (files: readonly NamedResult[]): string {
  const all = resultsOf(files)
  const failed = all.filter(one => !passed(one))
  const found: (Finding & { readonly title?: string })[] = [
    ...files.flatMap(({ result }) => result.ok ? [] : result.problems.map(one => findingOf(one))),
    ...failed.map(one => ({ severity: 'error' as const, ...placeOf(one), message: failureText(one), title: titleOf(one) }))
  ]
  return `${annotations(found)}${all.length - failed.length} passed, ${failed.length} failed\n`
}

function resultsOf (files: readonly NamedResult[]): TestResult[] {
  return files.flatMap(({ result }) => result.ok ? result.results : [])
}

function jsonOf (one: TestResult): object {
  const { name, version, binding } = one
  return { name, version, binding, ...placeOf(one), ok: passed(one), ...(passed(one) ? {} : detailsOf(one)) }
}

function caseOf (one: TestResult): Case {
  const { file, line } = placeOf(one)
  const message = one.mismatches.map(({ key }) => key).join(', ')
  return { name: titleOf(one), file, line, failure: passed(one) ? null : { kind: 'failure', message, text: failureText(one) } }
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
