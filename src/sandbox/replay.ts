/** Evaluates kept requests with the policy in force and with a changed policy, and lists what differs. */
import type { KeptRequest } from '#console/playground/request-log.js'
import type { Replay, Replayed, ReplayedRequest, SandboxAgent } from '#console/playground/tasks.js'
import type { AgentConfig } from '#config/model/model.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'
import { placeOf, plainRequest } from '#offline/place.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { agentIn, CannotEvaluate, policyOf, sandboxState } from './sandbox-agent.js'
import type { DryRun, PlainRequest } from '#pipeline/dry-run-operation.js'

/** Largest number of listed requests. */
const LISTED = 200
/** Largest number of listed violations of one request. */
const VIOLATIONS = 10

export function replay (sandboxAgent: SandboxAgent, text: string, requests: readonly KeptRequest[]): Replayed {
  const { agent, problems, warnings } = policyOf(sandboxAgent, text)
  if (agent === null) return { problems, warnings, replay: null, problem: null }
  try {
    const inForce = agentIn(sandboxAgent)
    const before = { config: inForce, state: sandboxState(sandboxAgent, inForce, null) }
    const after = { config: agent, state: sandboxState(sandboxAgent, agent, text) }
    return { problems, warnings, replay: compare(sandboxAgent, before, after, requests), problem: null }
  } catch (error) {
    if (!(error instanceof CannotEvaluate)) throw error
    return { problems, warnings, replay: null, problem: error.message }
  }
}

interface Side { readonly config: AgentConfig, readonly state: AgentState }

function compare ({ config: { limits, server } }: SandboxAgent, before: Side, after: Side, keptRequests: readonly KeptRequest[]): Replay {
  const run = (side: Side, request: PlainRequest): DryRun => dryRunRequest({ ...side, publicUrl: server.publicUrl }, request, limits)
  const evaluated = keptRequests.filter(({ received }) => received.body !== null).toSorted((a, b) => b.at - a.at)
  const rows = evaluated.map(request => ({
    was: run(before, plainOf(request, before)),
    row: rowOf(request, run(after, plainOf(request, after)))
  }))
    .map(({ was, row }): ReplayedRequest => ({ ...row, before: was.rejection === null ? 'forward' : 'reject' }))
  const rejected = rows.filter(row => row.after === 'reject')
  const observed = rows.filter(row => row.after === 'forward' && row.violations.length > 0)
  const changed = rows.filter(row => row.after !== row.before)
  const same = [...rejected, ...observed].filter(row => row.after === row.before).toSorted((a, b) => b.at - a.at)
  return {
    evaluated: evaluated.length,
    withoutBody: keptRequests.length - evaluated.length,
    since: evaluated.at(-1)?.at ?? null,
    rejected: rejected.length,
    newlyRejected: changed.filter(row => row.after === 'reject').length,
    newlyForwarded: changed.filter(row => row.after === 'forward').length,
    observed: observed.length,
    requests: [...changed, ...same].slice(0, LISTED)
  }
}

function plainOf ({ at, caller, binding, received }: KeptRequest, { config, state }: Side): PlainRequest {
  const { method, target, headers, body } = received
  const bytes = Buffer.from(body ?? [])
  if (binding === 'GRPC') return { method, path: target, query: '', rawHeaders: headers, grpc: true, body: bytes, now: at, caller }
  const recorded = { name: null, line: 0, method, target, headers, body: bytes, response: null }
  try {
    return { ...plainRequest(recorded, placeOf(recorded, [config], config.name)?.path ?? null, state), now: at, caller }
  } catch (error) {
    if (error instanceof CannotExplain) throw new CannotEvaluate(error.message)
    throw error
  }
}

function rowOf ({ id, at, operation, binding, version }: KeptRequest, { rejection, evaluation }: DryRun): Omit<ReplayedRequest, 'before'> {
  const violations = (evaluation?.decision.violations ?? []).map(({ extension, rule, mode, path, message }) => ({
    rule: `${extension}/${rule}`,
    mode: mode === 'enforce' ? 'enforce' as const : 'observe' as const,
    path,
    message
  }))
  const [first] = evaluation?.decision.violations ?? []
  return {
    id,
    at,
    operation,
    binding,
    version,
    after: rejection === null ? 'forward' : 'reject',
    rule: rejection?.rule ?? violations[0]?.rule ?? null,
    reason: rejection !== null ? rejection.customReason ?? rejection.reason : first?.customReason ?? first?.reason ?? null,
    message: rejection?.message ?? first?.message ?? null,
    violations: violations.slice(0, VIOLATIONS)
  }
}
