/** Evaluates a gRPC call in the steps of `dry-run.ts`: its address is a method of A2A's services, and its body one message. */
import { grpcMethodOf } from '../../a2a/grpc/methods.js'
import type { DryRun, DryRunAgent, PlainRequest } from '../dry-run.js'
import type { DryRunOptions } from '../dry-run-operation.js'
import { callerOf, dryRunOperation, undecided } from '../dry-run-operation.js'
import { noGrpcInterface, unknownRpc } from '../rejections.js'
import { headOf } from '../request-head.js'
import { askedOfService, askedVersion, versionProblem } from '../request.js'
import { grpcRouteOf } from './call-route.js'
import { grpcGuard } from './guard.js'

export function dryRunGrpc (agent: DryRunAgent, request: PlainRequest, options: DryRunOptions): DryRun {
  const { state } = agent
  const head = headOf(request.method, request.rawHeaders)
  const method = grpcMethodOf(request.path)
  const asked = method === null ? askedVersion(head, '') : askedOfService(head, method.version)
  const route = method === null ? null : grpcRouteOf(method, state.interfaces)
  const found = undecided(route, callerOf(route, null, asked, head, 'GRPC'))
  const guarded = grpcGuard(head)
  if (guarded !== null) return { ...found, rejection: guarded }
  if (route === null) return { ...found, rejection: method === null ? unknownRpc : noGrpcInterface }
  return dryRunOperation(agent, request, { head, asked, route, problem: versionProblem(route, asked, state) }, options)
}
