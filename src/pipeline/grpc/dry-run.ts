/** Evaluates a gRPC call in the steps of `dry-run.ts`: its address is a method of A2A's services, and its body one message. */
import { grpcMethodOf } from '../../a2a/grpc/methods.js'
import type { DryRun, DryRunAgent, PlainRequest } from '../dry-run.js'
import type { DryRunOptions } from '../dry-run-operation.js'
import { callerOf, dryRunOperation, undecided } from '../dry-run-operation.js'
import { guard } from '../guard.js'
import { unknownRoute } from '../rejections.js'
import { headOf } from '../request-head.js'
import { askedVersion } from '../request.js'
import { grpcAsked, grpcRouteOf, grpcVersionProblem } from './call-route.js'

export function dryRunGrpc (agent: DryRunAgent, request: PlainRequest, options: DryRunOptions): DryRun {
  const { state } = agent
  const head = headOf(request.method, request.rawHeaders)
  const method = grpcMethodOf(request.path)
  const route = method === null ? null : grpcRouteOf(method, state.interfaces)
  if (route === null) {
    const asked = method === null ? askedVersion(head, '') : grpcAsked(head, method.version)
    const caller = callerOf(null, null, asked, head, 'GRPC')
    return { ...undecided(null, caller), rejection: guard(head) ?? unknownRoute }
  }
  const asked = grpcAsked(head, route.version)
  const guarded = guard(head)
  if (guarded !== null) return { ...undecided(route, callerOf(route, null, asked, head)), rejection: guarded }
  return dryRunOperation(agent, request, { head, asked, route, problem: grpcVersionProblem(head, route, state) }, options)
}
