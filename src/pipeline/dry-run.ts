/**
 * Takes a whole request and returns everything that the gateway would make of it before it connects to the agent. The offline tools run the
 * steps through this module.
 */
import type { AgentConfig, Limits } from '#config/model/model.js'
import { PASSTHROUGH, UNKNOWN } from '#policy/access/target.js'
import type { Tracer } from '#policy/trace.js'
import { checkTarget, joinPath } from '#wire/target.js'
import { admitUnread } from './access/access.js'
import { forOthers } from './access/audience.js'
import { dryRunDelegation } from './dry-run-delegation.js'
import { callerOf, dryRunOperation, forwardedOf, undecided } from './dry-run-operation.js'
import { dryRunGrpc } from './grpc/dry-run.js'
import { guard, isPassthrough, isPreflight } from './guard.js'
import * as rejections from './rejections.js'
import { readRequestedVersion, versionProblem } from './request.js'
import { headOf } from './request-head.js'
import type { DryRun, DryRunAgent, DryRunMemory, PlainRequest } from './dry-run-operation.js'

/** Remembers nothing, and has no recorded answers. */
export const NO_MEMORY: DryRunMemory = { recall: () => null, claim: claims => claims.map(() => 'new') }

/**
 * Evaluates one request.
 * @param tracer is notified of each rule's decision, for the request and for the response that `evaluator` evaluates
 */
export function dryRunRequest (
  agent: DryRunAgent,
  request: PlainRequest,
  limits: Limits,
  tracer: Tracer | null = null,
  memory: DryRunMemory = NO_MEMORY
): DryRun {
  if (request.grpc === true) return dryRunGrpc(agent, request, { limits, tracer, memory })
  const { config, state } = agent
  const { method, path, query } = request
  const head = headOf(method, request.rawHeaders)
  const asked = readRequestedVersion(head, query)
  const target = checkTarget(joinPath('', path) + query)
  const unrouted = undecided(null, callerOf(null, null, asked, head))
  if (target !== null) return { ...unrouted, rejection: rejections.badTarget(target) }
  const route = state.router.match(method, path, asked.version)
  const dryRun = undecided(route, callerOf(route, null, asked, head))
  const guarded = guard(head)
  if (guarded !== null) return { ...dryRun, rejection: guarded }
  const principal = request.caller ?? null
  const others = route?.kind === 'card' || isPreflight(head) ? null : forOthers(config, principal)
  if (others !== null) return { ...dryRun, rejection: others }
  if (isPassthrough(config, state.router, path)) {
    const access = isPreflight(head) ? null : admitUnread(state.access, principal, PASSTHROUGH)
    if (access !== null && access.rejection !== null) return { ...unrouted, access, rejection: access.rejection }
    const delegation = dryRunDelegation(agent, request, head, initiator => admitUnread(state.access, initiator, PASSTHROUGH))
    if (delegation !== null && delegation.rejection !== null) return { ...unrouted, access, delegation, rejection: delegation.rejection }
    return {
      ...unrouted,
      kind: 'passthrough',
      access,
      delegation,
      forwarded: forwardedOf(config, request, head, joinPath(basePath(config), path), null)
    }
  }
  if (route === null) return { ...dryRun, rejection: rejections.unknownRoute }
  if (route.kind === 'card') return { ...dryRun, kind: 'card' }
  if (route.kind === 'preflight') {
    const access = isPreflight(head) ? null : admitUnread(state.access, principal, UNKNOWN)
    if (access !== null && access.rejection !== null) return { ...dryRun, access, rejection: access.rejection }
    return {
      ...dryRun, kind: 'preflight', access, forwarded: forwardedOf(config, { ...request, body: null }, head, route.upstreamPath, null)
    }
  }
  if (route.kind === 'ambiguous') return { ...dryRun, rejection: rejections.ambiguousPath }
  if (route.kind === 'verb') return { ...dryRun, rejection: rejections.wrongVerb(route.allow) }
  return dryRunOperation(agent, request, { head, asked, route, problem: versionProblem(route, asked, state) }, { limits, tracer, memory })
}

function basePath (config: AgentConfig): string {
  return new URL(config.upstream.url).pathname.replace(/\/$/, '')
}
