/** The output of `check` in each format. */
import { formatDiagnostic, printDiagnostic } from '#config/diagnostics.js'
import { COMMAND_LINE } from './failure.js'
import type { Finding } from './finding.js'
import { textOf } from './finding.js'
import { annotations } from './github.js'
import { junit } from './junit.js'
import { JSON_FORMAT } from '../output.js'

export const CHECK_FORMATS = ['text', 'json', 'junit', 'github'] as const
export type CheckFormat = typeof CHECK_FORMATS[number]

export interface CheckResult {
  /** The file, or `defaults`. */
  readonly file: string
  readonly findings: readonly Finding[]
  /** What `check` cannot decide without the agents' cards. In text format, standard error shows the notes. Default: nothing. */
  readonly notes?: readonly string[]
  /** Description of a configuration that can be used. Null: the gateway would not start with it. */
  readonly summary: { readonly agents: number, readonly policies: number } | null
  /** False when the exit code is 1. */
  readonly ok: boolean
}

export function checkReport (format: CheckFormat, result: CheckResult): string {
  const { file, findings, notes = [], summary, ok } = result
  switch (format) {
    case 'json': return `${JSON.stringify({ format: JSON_FORMAT, ok, file, ...summary, problems: findings, ...(notes.length === 0 ? {} : { notes }) }, null, 2)}\n`
    case 'junit': return junit('a2a-gateway check', [{ name: file, cases: casesOf(result) }])
    case 'github': return annotations(findings) + last(result)
    default: {
      const lines = findings.map(one => printDiagnostic(one.severity === 'warning' ? { ...one, message: `warning: ${one.message}` } : one))
      return lines.map(line => `${line}\n`).join('') + last(result)
    }
  }
}

function last ({ file, summary, ok }: CheckResult): string {
  if (!ok || summary === null) return ''
  return `${file}: ok: ${amount(summary.agents, 'agent', 'agents')}, ${amount(summary.policies, 'policy', 'policies')}\n`
}

function amount (count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

/** One case per problem; warnings fail nothing. Without a problem, one case that passes. */
function casesOf ({ file, findings }: CheckResult): Parameters<typeof junit>[1][number]['cases'] {
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (errors.length === 0) return [{ name: 'the configuration can be used', failure: null, file }]
  return errors.map(one => ({
    name: one.message,
    ...(one.file === COMMAND_LINE ? {} : { file: one.file }),
    ...(one.line === 0 ? {} : { line: one.line }),
    failure: { kind: 'failure', message: textOf(one), text: formatDiagnostic(one), type: one.code }
  }))
}
