/** One run: finds the ways to the agent, runs the chosen cases, and makes the report. */
import { CASES } from '../cases/index.js'
import { AgentControl } from '../client/control.js'
import type { Case, Group, Transport, Version } from '../model.js'
import type { Report } from '../report/report.js'
import { reportOf } from '../report/report.js'
import { callNames } from './context.js'
import type { Context } from './context.js'
import type { Declaration } from './declaration.js'
import type { Result } from './run.js'
import { runCases } from './run.js'
import { directTarget, proxyTarget, requiredOf } from './targets.js'

export interface ConformOptions {
  /** URL of the agent. */
  readonly direct: string
  /** URL of the proxy. */
  readonly through: string
  /** URL of the gRPC listener of the proxy, if its card does not name it. */
  readonly throughGrpc?: string | null
  readonly declaration: Declaration
  readonly groups?: readonly Group[]
  readonly transports?: readonly Transport[]
  readonly versions?: readonly Version[]
  /** Cases whose id contains the text. */
  readonly only?: string | null
  readonly progress?: (done: number, count: number, result: Result) => void
  readonly cases?: readonly Case[]
}

/**
 * Runs the cases.
 * @throws {TargetError} when the agent has no card, or an address cannot be used
 */
export async function runConform (options: ConformOptions): Promise<Report> {
  const { declaration, groups, transports, versions, only = null, progress } = options
  const direct = await directTarget(options.direct)
  const through = await proxyTarget(options.through, direct, options.throughGrpc ?? null)
  const control = new AgentControl(direct.base)
  const scripted = await control.isScripted()
  const context: Context = { direct, through, control, scripted, declaration, required: requiredOf(direct.card), name: callNames() }
  const chosen = (options.cases ?? CASES).filter(testCase =>
    (groups === undefined || groups.includes(testCase.group)) &&
    (transports === undefined || transports.includes(testCase.transport) || testCase.transport === 'card') &&
    (versions === undefined || versions.includes(testCase.version)) &&
    (only === null || testCase.id.includes(only)))
  const results = await runCases(chosen, context, (done, result) => progress?.(done, chosen.length, result))
  return reportOf(results, declaration, context.scripted)
}
