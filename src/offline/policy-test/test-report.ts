/** Formats the results of policy tests, for people and for machines. */
import { stringify } from 'yaml'
import type { Rejection } from '#a2a/errors.js'
import { printDiagnostic } from '#config/diagnostics.js'
import { responseViolations } from './response-expectations.js'
import type { Mismatch } from './expectations.js'
import { absent, nameOf, violationsOf } from './expectations.js'
import type { FileResult, TestResult } from './run-tests.js'

export interface NamedResult { readonly file: string, readonly result: FileResult }

/** Formats results as TAP 14. An unusable file is a failed test point, so no reader counts the run as passed. */
export function tap (files: readonly NamedResult[]): string {
  const points: string[] = []
  const point = (ok: boolean, text: string, details: object | null): void => {
    points.push(`${ok ? 'ok' : 'not ok'} ${points.length + 1} - ${description(text)}\n`)
    if (details !== null) points[points.length - 1] += `  ---\n${indented(stringify(details, { lineWidth: 0 }), 2)}  ...\n`
  }
  for (const { file, result } of files) {
    if (!result.ok) point(false, `${file} can be used`, { problems: result.problems.map(printDiagnostic) })
    else {
      for (const testResult of result.results) {
        point(
          testResult.mismatches.length === 0,
          `${file} > ${titleOf(testResult)}`,
          testResult.mismatches.length === 0 ? null : { at: testResult.at, ...detailsOf(testResult) }
        )
      }
    }
  }
  return `TAP version 14\n1..${points.length}\n${points.join('')}`
}

/** Formats results as text: one line per passed test, expected and actual values of each failed test, and a summary. */
export function pretty (files: readonly NamedResult[]): string {
  const blocks = files.map(({ file, result }) => {
    if (!result.ok) return `${file}\n${result.problems.map(problem => `  ${printDiagnostic(problem)}\n`).join('')}`
    return `${file}\n${result.results.map(prettyTest).join('')}`
  })
  const all = files.flatMap(({ result }) => result.ok ? result.results : [])
  const failed = all.filter(testResult => testResult.mismatches.length > 0).length
  const unusable = files.filter(({ result }) => !result.ok).length
  const summary = [
    `${all.length - failed} passed`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(unusable === 0 ? [] : [`${unusable} ${unusable === 1 ? 'file' : 'files'} could not be used`])
  ]
  return `${blocks.join('\n')}\n${summary.join(', ')}\n`
}

function prettyTest (testResult: TestResult): string {
  if (testResult.mismatches.length === 0) return `  ok    ${oneLine(titleOf(testResult))}\n`
  return `  FAIL  ${oneLine(titleOf(testResult))}\n        ` +
    `${testResult.at}\n${failureLines(testResult).map(line => `        ${oneLine(line)}\n`).join('')}`
}

/** Describes a failed test in lines. */
export function failureText (testResult: TestResult): string {
  return failureLines(testResult).map(oneLine).join('\n')
}

function failureLines (testResult: TestResult): string[] {
  const lines = testResult.mismatches.flatMap(({ key, expected, got }) => [
    `${key}`,
    `  expected  ${shownValue(expected)}`,
    `  got       ${shownValue(got)}`
  ])
  const { refusal: rejection, answer: response, violations, warnings } = detailsOf(testResult)
  if (rejection !== undefined) lines.push(`rejected by ${rejection.rule}: ${rejection.message}`)
  if (response !== undefined) lines.push(`the response is rejected by ${response.rule}: ${response.message}`)
  if (violations !== undefined) lines.push('violations', ...violations.map(text => `  ${text}`))
  if (warnings !== undefined) lines.push('warnings', ...warnings.map(text => `  ${text}`))
  return lines
}

export function titleOf ({ name, version, binding }: TestResult): string {
  return `${name} (${version} ${binding})`
}

export interface RejectionDetails { readonly rule: string, readonly reason: string, readonly message: string }

export interface Details {
  readonly mismatches: readonly object[]
  readonly refusal?: RejectionDetails
  /** Rejection of the response. */
  readonly answer?: RejectionDetails
  readonly violations?: readonly string[]
  readonly warnings?: readonly string[]
}

function rejectionOf ({ rule, reason, customReason, message }: Rejection): RejectionDetails {
  return { rule, reason: customReason ?? reason, message }
}

export function detailsOf ({ mismatches, dryRun, response, warnings }: TestResult): Details {
  const { rejection } = dryRun
  const violations = [...violationsOf(dryRun), ...(response === null ? [] : responseViolations(response))]
  return {
    mismatches: mismatches.map(({ key, expected, got }) => ({ key, expected: plain(expected), got: plain(got) })),
    ...(rejection === null ? {} : { refusal: rejectionOf(rejection) }),
    ...(response === null || response.rejection === null ? {} : { answer: rejectionOf(response.rejection) }),
    ...(violations.length === 0
      ? {}
      : {
          violations: violations.map(violation => `${nameOf(violation)} (${violation.mode}) ` +
      `${violation.path}: ${violation.message}`)
        }),
    ...(warnings.length === 0 ? {} : { warnings })
  }
}

const ABSENT = '(absent)'

function plain (value: Mismatch['got']): unknown {
  return value === undefined || value === absent ? ABSENT : value
}

function shownValue (value: unknown): string {
  return value === undefined || value === absent ? ABSENT : JSON.stringify(value)
}

/** Escapes a description: a test point is one line, and `#` begins a directive. */
function description (text: string): string {
  return oneLine(text).replaceAll('\\', '\\\\').replaceAll('#', '\\#')
}

function oneLine (text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
}

function indented (text: string, blanks: number): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(blanks))
}
