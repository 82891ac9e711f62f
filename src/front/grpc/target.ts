/** What the head of a gRPC call names: for calls that come on a listener, and for those that a proxy asks about. */
import type { Rejection } from '#a2a/errors.js'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import type { ClientRequest } from '#call/client-streams.js'
import { describeOperation, describeRoute } from '#call/description.js'
import type { Exchange } from '#call/exchange.js'
import type { RouteTarget } from '#call/route-target.js'
import { start } from '#call/run.js'
import { startPassthrough, STEPS } from '#call/steps.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import { isGrpcPassthrough } from '#pipeline/grpc/call-route.js'
import * as rejections from '#pipeline/rejections.js'
import { headProblem } from './head-guard.js'
import { reject } from '#call/reply.js'

/**
 * @param unfit what the front has against the call; null for nothing
 * @param showsBody false where the front shows no body of a call that no rule reads: `unfit` is no reason to reject such a call then
 */
export function grpcTargetOf (
  request: ClientRequest,
  { hosts, trusted }: Snapshot,
  agent: Agent | null,
  unfit: Rejection | null = null,
  showsBody = true
): RouteTarget {
  const method = grpcMethodOf(request.url ?? '')
  const unread = method === null && agent !== null && isGrpcPassthrough(agent.config, request.url ?? '')
  return {
    kind: unread ? 'passthrough' : 'a2a',
    agent,
    path: '',
    query: '',
    rejection: headProblem(request, hosts, trusted) ?? (unread && !showsBody ? null : unfit),
    last: false,
    method
  }
}

/** Describes the exchange as a gRPC call. @returns false when the call was rejected */
export function describeGrpc (exchange: Exchange): boolean {
  const { agent, target: { method = null, rejection } } = exchange
  describeRoute(exchange, { binding: 'GRPC', version: method?.version ?? exchange.version })
  const reason = rejection ?? (agent === null ? rejections.unknownAgent : null)
  if (reason !== null) reject(exchange, reason, 'rejected')
  return reason === null
}

/** Starts the steps of a call that `describeGrpc` has accepted. */
export function startGrpc (exchange: Exchange): void {
  const { agent, target: { kind, method = null } } = exchange
  exchange.state = agent?.state ?? null
  if (method !== null) describeOperation(exchange, method.operation)
  if (kind === 'passthrough') startPassthrough(exchange)
  else start(exchange, STEPS.grpc)
}
