/** `a2a-gateway conform`: compares what an agent and its clients see directly and through a proxy. */
import { readFileSync, writeFileSync } from 'node:fs'
import { diagnostic } from '#config/diagnostics.js'
import { startAgent } from '#conform/agent/agent.js'
import { REQUIRED } from '#conform/cases/enforcing.js'
import { CASES, casesDigest } from '#conform/cases/index.js'
import { GROUPS, TRANSPORTS, VERSIONS } from '#conform/model.js'
import { readReport } from '#conform/report/read.js'
import { reportHtml } from '#conform/report/html.js'
import type { Report } from '#conform/report/report.js'
import { reportJson } from '#conform/report/report.js'
import { reportDiff, reportText } from '#conform/report/text.js'
import { runConform } from '#conform/run/conform.js'
import type { Declaration } from '#conform/run/declaration.js'
import { declarationSchema, readDeclaration, UNDECLARED } from '#conform/run/declaration.js'
import { TargetError } from '#conform/run/targets.js'
import { fileErrorText } from '#config/describe.js'
import { hasColours } from '#wire/terminal.js'
import { errorCode, listenCode } from '#operator-errors.js'
import { UsageError } from './command-line/arguments.js'
import type { Output } from './output.js'
import { reportFailure, usageProblem } from './reports/failure.js'
import { junit } from './reports/junit.js'

export interface ConformArguments {
  /** The words after `conform`. */
  readonly words: readonly string[]
  readonly direct: string | undefined
  readonly through: string | undefined
  readonly throughGrpc: string | undefined
  readonly declare: string | undefined
  readonly profile: string | undefined
  readonly binding: string | undefined
  readonly protocol: string | undefined
  readonly only: string | undefined
  readonly html: string | undefined
  readonly listen: string | undefined
  readonly json: boolean
  readonly junit: boolean
  readonly required: boolean
  readonly env: NodeJS.ProcessEnv
}

const CONFORMANT = 0
const NOT_CONFORMANT = 1
const UNUSABLE = 2
const FILE = 'A2AGW_ERR_CONFORM_FILE'
const ERASE_LINE = '\r\x1b[K'

/**
 * Runs the command.
 * @returns exit code: 0 no case with the level MUST failed, 1 one did, or a report is worse, 2 the suite could not run
 */
export async function runConformCommand (args: ConformArguments, io: Output): Promise<number> {
  const [what, ...rest] = args.words
  try {
    switch (what) {
      case undefined: return await runSuite(args, io)
      case 'agent': return await runAgent(args, io)
      case 'diff': return diff(rest, args, io)
      case 'cases':
        io.out(JSON.stringify({ format: 1, digest: casesDigest(), cases: CASES }, null, 2))
        return CONFORMANT
      case 'schema':
        io.out(JSON.stringify(declarationSchema(), null, 2))
        return CONFORMANT
      default: throw new UsageError(`there is no "conform ${what}"; use agent, diff, cases or schema, or flags only`)
    }
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof TargetError)) throw error
    reportFailure('conform', [usageProblem(error.message, errorCode(error) ?? 'A2AGW_ERR_CONFORM_TARGET')], args.json, io)
    return UNUSABLE
  }
}

async function runSuite (args: ConformArguments, io: Output): Promise<number> {
  const { direct, through, throughGrpc = null, only = null, env } = args
  if (
    direct === undefined ||
    through === undefined
  ) throw new UsageError('name both ways: --direct URL of the agent, and --through URL of the proxy')
  if (args.json && args.junit) throw new UsageError('--json and --junit name two formats')
  const groups = listOf('--profile', args.profile, GROUPS)
  const transports = listOf('--binding', args.binding, TRANSPORTS.filter(transport => transport !== 'card'))
  const versions = listOf('--protocol', args.protocol, VERSIONS)
  const declaration = args.declare === undefined ? UNDECLARED : declarationOf(args.declare, args.json, io)
  if (declaration === null) return UNUSABLE
  const terminal = process.stderr.isTTY
  const report = await runConform({
    direct,
    through,
    throughGrpc,
    declaration,
    only,
    ...groups === undefined ? {} : { groups },
    ...transports === undefined ? {} : { transports },
    ...versions === undefined ? {} : { versions },
    progress: (done, count, { case: { id } }) => { if (terminal) process.stderr.write(`${ERASE_LINE}${done}/${count} ${id}`.slice(0, 100)) }
  })
  if (terminal) process.stderr.write(ERASE_LINE)
  if (report.cases.length === 0) {
    throw new UsageError(
      'no case has been chosen: use other values of --profile, --binding, --protocol or --only'
    )
  }
  if (args.html !== undefined) writeReport(args.html, reportHtml(report))
  const text = args.json ? reportJson(report) : args.junit ? reportJunit(report) : reportText(report, hasColours(process.stdout, env))
  io.out(text.trimEnd())
  return report.cases.some(({ outcome }) => outcome === 'error') ? UNUSABLE : report.conformant ? CONFORMANT : NOT_CONFORMANT
}

/** @throws {UsageError} when the file cannot be written */
function writeReport (file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new UsageError(`--html ${file}: cannot be written: ${fileErrorText(error)}`, 'A2AGW_ERR_OUTPUT')
  }
}

/** @returns null when the file cannot be used: the problems are reported */
function declarationOf (file: string, json: boolean, io: Output): Declaration | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--declare ${file}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, FILE)
  }
  const result = readDeclaration(text)
  if (result.ok) return result.declaration
  reportFailure(
    'conform', result.problems.map(({ line, column, message }) => diagnostic(file, line, column, { message, code: FILE })), json, io
  )
  return null
}

function listOf<T extends string> (flag: string, text: string | undefined, values: readonly T[]): readonly T[] | undefined {
  if (text === undefined) return undefined
  const names = text.split(',').map(name => name.trim()).filter(name => name !== '')
  const wrong = names.find(name => !(values as readonly string[]).includes(name))
  if (
    wrong !== undefined ||
    names.length === 0
  ) throw new UsageError(`${flag} cannot be "${wrong ?? text}"; use a list of ${values.join(', ')}`)
  return names as T[]
}

async function runAgent ({ listen = '127.0.0.1:9999', required }: ConformArguments, io: Output): Promise<number> {
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(listen) ?? []
  if (host === '' || Number(port) > 65_535) throw new UsageError(`--listen ${listen}: use HOST:PORT, such as 127.0.0.1:9999`)
  const options = { host: host.replace(/^\[|\]$/g, ''), port: Number(port), required: required ? REQUIRED : [] }
  const started = await startAgent(options).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`--listen ${listen}: ${error.code ?? error.message}`, listenCode(error) ?? 'A2AGW_ERR_USAGE')
  })
  io.out(`the conformance agent listens at ${started.url}, with JSON-RPC, HTTP+JSON and gRPC; it does what any client says, so never ` +
    'make it public')
  await new Promise<void>(resolve => {
    process.once('SIGINT', () => { resolve() })
    process.once('SIGTERM', () => { resolve() })
  })
  await started.close()
  return CONFORMANT
}

function diff (files: readonly string[], { json }: ConformArguments, io: Output): number {
  const [first, second] = files
  if (
    first === undefined ||
    second === undefined ||
    files.length > 2
  ) throw new UsageError('name two reports: a2a-gateway conform diff BEFORE.json AFTER.json')
  const read = (file: string): Report => {
    try {
      return readReport(readFileSync(file, 'utf8'))
    } catch (error) {
      throw new UsageError(
        `${file}: ${(error as NodeJS.ErrnoException).code === undefined
? (error as Error).message
: 'cannot be read ' +
          `(${(error as NodeJS.ErrnoException).code ?? ''})`}`,
        FILE
      )
    }
  }
  const { lines, worse } = reportDiff(read(first), read(second))
  io.out(json
    ? JSON.stringify({ format: 1, worse, lines }, null, 2)
    : [...lines, lines.length === 0 ? 'the outcomes are the same' : `${lines.length} differences, ${worse} of them worse`].join('\n'))
  return worse > 0 ? NOT_CONFORMANT : CONFORMANT
}

/** One suite for each group. A failure of the level SHOULD or MAY is no failure of the document. */
function reportJunit (report: Report): string {
  return junit(`A2A proxy profile ${report.profile}`, GROUPS.filter(group => report.groups[group] !== undefined).map(group => ({
    name: group,
    cases: report.cases.filter(reportedCase => reportedCase.group === group &&
      (reportedCase.outcome === 'passed' || reportedCase.outcome === 'failed' || reportedCase.outcome === 'error')).map(reportedCase => ({
      name: `${reportedCase.id}: ${reportedCase.name}`,
      failure: reportedCase.outcome === 'error' || (reportedCase.outcome === 'failed' && reportedCase.level === 'must')
        ? { kind: reportedCase.outcome === 'error' ? 'error' : 'failure', message: reportedCase.lines[0] ?? '', text: reportedCase.lines.join('\n') } as const
        : null
    }))
  })))
}
