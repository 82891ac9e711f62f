/** Evaluates a gRPC call in the steps of `dry-run.ts`: its address is a method of A2A's services, and its body one message. */
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import type { DryRun, DryRunAgent, DryRunOptions, PlainRequest } from '../dry-run-operation.js'
import { callerOf, dryRunOperation, forwardedOf, undecided } from '../dry-run-operation.js'
import { PASSTHROUGH } from '#policy/access/target.js'
import { admitUnread } from '../access/access.js'
import { forOthers } from '../access/audience.js'
import { dryRunDelegation } from '../dry-run-delegation.js'
import { noGrpcInterface, unknownRpc } from '../rejections.js'
import type { RequestHead } from '../request-head.js'
import { headOf } from '../request-head.js'
import { askedOfService, readRequestedVersion, versionProblem } from '../request.js'
import { grpcRouteOf, isGrpcPassthrough } from './call-route.js'
import { grpcGuard } from './guard.js'

export function dryRunGrpc (agent: DryRunAgent, request: PlainRequest, options: DryRunOptions): DryRun {
  const { config, state } = agent
  const head = headOf(request.method, request.rawHeaders)
  const method = grpcMethodOf(request.path)
  const asked = method === null ? readRequestedVersion(head, '') : askedOfService(head, method.version)
  const route = method === null ? null : grpcRouteOf(method, state.interfaces)
  const dryRun = undecided(route, callerOf(route, null, asked, head, 'GRPC'))
  const guarded = grpcGuard(head)
  if (guarded !== null) return { ...dryRun, rejection: guarded }
  const others = forOthers(config, request.caller ?? null)
  if (others !== null) return { ...dryRun, rejection: others }
  if (method === null) {
    return isGrpcPassthrough(config, request.path) ? passedThrough(agent, request, head, dryRun) : { ...dryRun, rejection: unknownRpc }
  }
  if (route === null) return { ...dryRun, rejection: noGrpcInterface }
  return dryRunOperation(agent, request, { head, asked, route, problem: versionProblem(route, asked, state) }, options)
}

/** A call to a service of `grpc.passthrough`: only the caller counts. */
function passedThrough (agent: DryRunAgent, request: PlainRequest, head: RequestHead, dryRun: DryRun): DryRun {
  const { config, state } = agent
  const access = admitUnread(state.access, request.caller ?? null, PASSTHROUGH)
  if (access !== null && access.rejection !== null) return { ...dryRun, access, rejection: access.rejection }
  const delegation = dryRunDelegation(agent, request, head, initiator => admitUnread(state.access, initiator, PASSTHROUGH))
  if (delegation !== null && delegation.rejection !== null) return { ...dryRun, access, delegation, rejection: delegation.rejection }
  return { ...dryRun, kind: 'passthrough', access, delegation, forwarded: forwardedOf(config, request, head, request.path, null) }
}
