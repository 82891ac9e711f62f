/** Why a command could not be run, as text on stderr or, with `--json`, as an object on stdout. */
import { printDiagnostic } from '#config/diagnostics.js'
import type { Diagnostic } from '#config/diagnostics.js'
import type { ErrorCode } from '#operator-errors.js'
import { withCode } from '#operator-errors.js'
import { JSON_FORMAT } from '../output.js'
import type { Output } from '../output.js'
import { findingOf } from './finding.js'

/** `file` of a problem of the arguments. */
export const COMMAND_LINE = 'command line'

/** A problem without a file: of the arguments, or of data that they name. */
export function usageProblem (message: string, code: ErrorCode = 'A2AGW_ERR_USAGE'): Diagnostic {
  return { file: COMMAND_LINE, line: 0, col: 0, message, code }
}

/** The object that every command prints with `--json` when it fails. */
export function failureAsJson (problems: readonly Diagnostic[], more: Readonly<Record<string, unknown>> = {}): string {
  return `${JSON.stringify({ format: JSON_FORMAT, ok: false, ...more, problems: problems.map(problem => findingOf(problem)) }, null, 2)}\n`
}

/** @param command name of the command, or empty */
export function reportFailure (command: string, problems: readonly Diagnostic[], json: boolean, io: Output): void {
  if (json) return io.out(failureAsJson(problems))
  const prefix = command === '' ? 'a2a-gateway' : `a2a-gateway ${command}`
  for (const problem of problems) {
    io.err(problem.file === COMMAND_LINE
      ? withCode(`${prefix}: ${problem.message}`, problem.code ?? null)
      : printDiagnostic(problem))
  }
}
