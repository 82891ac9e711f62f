/** From the head of a gRPC call to its method. */
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { grpcRouteOf } from '#pipeline/grpc/call-route.js'
import * as rejections from '#pipeline/rejections.js'
import { askedOfService, versionProblem } from '#pipeline/request.js'
import { describeRoute, describeVersion, setKind } from '../description.js'
import type { Exchange } from '../exchange.js'
import type { Result } from '../step.js'
import { Work } from '../work.js'
import { keepRoute } from './route.js'
import { reject } from '../reply.js'
import type { OperationRoute } from '#a2a/route.js'

/** Finds the method of a call that has a caller, if it needs one. As over HTTP, a stranger does not learn which methods exist. */
export function matchMethod (exchange: Exchange): Result {
  const { agent, request, state, target: { method = null } } = exchange
  if (agent === null) throw new Error('a gRPC call without an agent')
  if (method === null) return reject(exchange, rejections.unknownRpc, 'rejected')
  if (state === null) {
    setKind(exchange, 'withoutCard')
    return
  }
  const route = routeOf(state, method)
  if (route === null) return reject(exchange, rejections.noGrpcInterface, 'rejected')
  describeRoute(exchange, route)
  const asked = askedOfService(request, method.version)
  describeVersion(exchange, asked)
  return keepRoute(exchange, new Work(agent, state, route, versionProblem(route, asked, state), ''))
}

const routes = new WeakMap<AgentState, Map<GrpcMethod, OperationRoute | null>>()

/** @returns null when the card has no gRPC interface that the gateway serves */
function routeOf (state: AgentState, method: GrpcMethod): OperationRoute | null {
  let byMethod = routes.get(state)
  if (byMethod === undefined) routes.set(state, byMethod = new Map())
  let route = byMethod.get(method)
  if (route === undefined) byMethod.set(method, route = grpcRouteOf(method, state.interfaces))
  return route
}
