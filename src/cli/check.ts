import { overridesFromEnvironment } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { lookAtSources } from './live-sources.js'
import { readConfiguration } from '#offline/configuration.js'
import { LOADING_CARDS, withProgress } from './command-line/progress.js'
import { lookAtAgents, lookAtCardFiles } from './live.js'
import type { Output } from './output.js'
import { JSON_FORMAT } from './output.js'
import { unusableConfiguration } from './reports/configuration-problems.js'
import { COMMAND_LINE, reportFailure, usageProblem } from './reports/failure.js'
import type { Finding } from './reports/finding.js'
import { findingOf, textOf } from './reports/finding.js'
import { readLockFile } from '#agents/lock/lock-file.js'
import type { Diagnostic } from '#config/diagnostics.js'
import { diagnostic, formatDiagnostic, printDiagnostic } from '#config/diagnostics.js'
import { annotations } from './reports/github.js'
import { junit } from './reports/junit.js'

export interface CheckArguments {
  /** Null: the file in A2A_GATEWAY_CONFIG, else the defaults of `serve --upstream`. */
  readonly config: string | null
  readonly live?: boolean
  /** One of CHECK_FORMATS. Default: text. */
  readonly format?: string | undefined
  readonly env: NodeJS.ProcessEnv
}

const PASSED = 0
const FAILED = 1
const UNUSABLE = 2

/**
 * `a2a-gateway check`: prints every problem of the configuration on stdout, one per line. With `--live` it also prints the problems of the
 * agents' cards.
 * @returns exit code: 0 when the gateway would start with the configuration and, with `--live`, has a usable card of every agent; 1 for
 * problems, 2 when the file cannot be read, or a flag or variable is at fault
 */
export async function runCheck ({ config, live = false, format = 'text', env }: CheckArguments, io: Output): Promise<number> {
  if (!isFormat(format)) {
    reportFailure('check', [usageProblem(`there is no format "${format}"; formats are ${CHECK_FORMATS.join(', ')}`)], false, io)
    return UNUSABLE
  }
  const file = config ?? (env.A2A_GATEWAY_CONFIG || null)
  if (file === null && overridesFromEnvironment(env).upstream === undefined) {
    if (format === 'text') reportFailure('check', [usageProblem(NO_FILE_MESSAGE)], false, io)
    else io.out(checkReport(format, { file: COMMAND_LINE, findings: [findingOf(usageProblem(NO_FILE_MESSAGE))], summary: null, ok: false }))
    return UNUSABLE
  }
  const { usage, ...result } = await check(file, live, env)
  if (format === 'text') for (const note of result.notes ?? []) io.err(`note: ${note}`)
  for (const line of checkReport(format, result).match(/[^\n]*\n/g) ?? []) io.out(line)
  return result.ok ? PASSED : usage ? UNUSABLE : FAILED
}

const NO_FILE_MESSAGE = 'nothing to check: name a file (a2a-gateway check FILE), or set A2A_GATEWAY_CONFIG; there is no ./gateway.yaml'

/** `usage` is true when the file cannot be read, or a flag or variable is at fault. */
type Checked = CheckResult & { readonly usage: boolean }

async function check (name: string | null, live: boolean, env: NodeJS.ProcessEnv): Promise<Checked> {
  const file = name ?? 'defaults'
  const loaded = readConfiguration({ file: name, env, overrides: overridesFromEnvironment(env) })
  if (!loaded.ok) {
    const { problems, usage } = unusableConfiguration(name, loaded)
    return { file, findings: problems.map(problem => findingOf(problem)), summary: null, ok: false, usage }
  }
  const warnings = [...loaded.warnings, ...agreementFindings(loaded.config)].map(diagnostic => findingOf(diagnostic, 'warning'))
  const summary = summaryOf(loaded.config)
  const directory = directoryNote(loaded.config)
  if (!live) {
    const { findings, notes } = await lookAtCardFiles(loaded.config, env)
    return {
      file,
      findings: [...warnings, ...findings.map(finding => findingOf(finding, 'warning'))],
      notes: [...directory, ...notes],
      summary,
      ok: true,
      usage: false
    }
  }
  const sources = name === null ? null : await lookAtSources(name, loaded.config, env)
  const { findings, usable } = await withProgress(LOADING_CARDS, lookAtAgents(sources?.config ?? loaded.config, env))
  return {
    file,
    findings: [...warnings, ...[...sources?.findings ?? [], ...findings].map(diagnostic => findingOf(diagnostic))],
    notes: directory,
    summary: summaryOf(sources?.config ?? loaded.config),
    ok: usable && sources?.readable !== false,
    usage: false
  }
}

function isFormat (text: string): text is CheckFormat {
  return (CHECK_FORMATS as readonly string[]).includes(text)
}

/** Names the policies that come from the directory of `extensions.from`, and not from the gateway. */
function directoryNote ({ agents, policyDirectory }: Config): string[] {
  if (policyDirectory === null) return []
  const names = new Set(agents.flatMap(({ policies }) => policies.filter(policy => policy.layers.includes('directory')).map(({ name }) => name)))
  return [`policies from ${policyDirectory}: ${names.size === 0 ? 'no agent lists one' : [...names].sort().join(', ')}`]
}

function summaryOf ({ agents }: Config): CheckResult['summary'] {
  return { agents: agents.length, policies: new Set(agents.flatMap(agent => agent.extensions)).size }
}

/* What `check` says about agents whose cards need an agreement. */

/** Warns of agents with `card.changes: hold` and no agreed card. @param config that was read before: its lock file can be used */
function agreementFindings ({ agents }: Config): Diagnostic[] {
  const holding = agents.filter(({ card }) => card.lock !== null)
  const path = holding[0]?.card.lock ?? null
  if (path === null) return []
  const pinned = readLockFile(path).agents
  return holding.flatMap(({ name }) => {
    const entry = Object.hasOwn(pinned, name) ? pinned[name] : undefined
    if (entry?.card !== undefined) return []
    return [diagnostic(`agent ${name}`, 0, 0, entry === undefined
      ? {
          message: `agents.lock has no entry for ${name}, so its card waits`,
          hint: `run a2a-gateway agents lock --agent ${name}, and review the file`
        }
      : {
          message: `agents.lock has only the digest of the card of ${name}: a gateway that starts while the agent serves another card ` +
            'has no card',
          hint: `run a2a-gateway agents lock --agent ${name}`
        })]
  })
}

/* The output of `check` in each format. */

export const CHECK_FORMATS = ['text', 'json', 'junit', 'github'] as const
type CheckFormat = typeof CHECK_FORMATS[number]

interface CheckResult {
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

function checkReport (format: CheckFormat, result: CheckResult): string {
  const { file, findings, notes = [], summary, ok } = result
  switch (format) {
    case 'json': return `${JSON.stringify({ format: JSON_FORMAT, ok, file, ...summary, problems: findings, ...(notes.length === 0 ? {} : { notes }) }, null, 2)}\n`
    case 'junit': return junit('a2a-gateway check', [{ name: file, cases: casesOf(result) }])
    case 'github': return annotations(findings) + last(result)
    default: {
      const lines = findings.map(finding => printDiagnostic(finding.severity === 'warning' ? { ...finding, message: `warning: ${finding.message}` } : finding))
      return lines.map(line => `${line}\n`).join('') + last(result)
    }
  }
}

function last ({ file, summary, ok }: CheckResult): string {
  if (!ok || summary === null) return ''
  return `${file}: ok: ${amount(summary.agents, 'agent', 'agents')}, ${amount(summary.policies, 'policy', 'policies')}\n`
}

function amount (count: number, singular: string, many: string): string {
  return `${count} ${count === 1 ? singular : many}`
}

/** One case per problem; warnings fail nothing. Without a problem, one case that passes. */
function casesOf ({ file, findings }: CheckResult): Parameters<typeof junit>[1][number]['cases'] {
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (errors.length === 0) return [{ name: 'the configuration can be used', failure: null, file }]
  return errors.map(error => ({
    name: error.message,
    ...(error.file === COMMAND_LINE ? {} : { file: error.file }),
    ...(error.line === 0 ? {} : { line: error.line }),
    failure: { kind: 'failure', message: textOf(error), text: formatDiagnostic(error), type: error.code }
  }))
}
