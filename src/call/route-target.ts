/** Finds the agent and the kind of handling of a request. Computed once, before routing and before any body is read. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import type { Rejection } from '#a2a/errors.js'
import { hostName } from '#pipeline/agents.js'
import { framingFault, guard, isPassthrough, isUpgrade } from '#pipeline/guard.js'
import { afterFramingFault, badTarget, hostNotServed, loop } from '#pipeline/rejections.js'
import { hasPassedHere } from '#upstream/via.js'
import { checkTarget, splitTarget } from '#wire/target.js'
import type { Agent } from '#agents/agent.js'
import type { Snapshot } from '#agents/snapshot.js'
import { isServed } from './client-address.js'

export interface RouteTarget {
  readonly kind: 'a2a' | 'passthrough'
  readonly agent: Agent | null
  /** Path below the agent's path, not decoded. */
  readonly path: string
  /** Query with its leading `?`, or ''. */
  readonly query: string
  /** Finding of the guard; the request is rejected. */
  readonly rejection: Rejection | null
  /** The method of a gRPC call; null for one that A2A does not have. */
  readonly method?: GrpcMethod | null
  /** True when Node reads nothing more on the connection: the response closes it. */
  readonly last: boolean
}

const KEY = Symbol('a2a-gateway.surface')

/** The route target of the request. Every call returns the same object. */
export function routeTargetOf (request: IncomingMessage & { [KEY]?: RouteTarget }, snapshot: Snapshot): RouteTarget {
  request[KEY] ??= find(request, snapshot)
  return request[KEY]
}

/** Connections where the start of the next request is unknown. Their requests may have come in the same packet. */
const unframed = new WeakSet<Socket>()

function find (request: IncomingMessage, { agents, hosts, trusted }: Snapshot): RouteTarget {
  const target = request.url ?? ''
  const { path, query } = splitTarget(target)
  const framing = unframed.has(request.socket) ? afterFramingFault : framingFault(request, request.httpVersion)
  if (framing !== null) unframed.add(request.socket)
  // Node's parser stops after an Upgrade header. A pipelined request would wait for its response until a timeout.
  const last = framing !== null || isUpgrade(request.headers)
  const reason = checkTarget(target)
  if (reason !== null) return { kind: 'a2a', agent: null, path, query, rejection: badTarget(reason), last }
  const guarded = framing ?? guard(request) ?? (hasPassedHere(request.headers.via) ? loop : null)
  const rejection = guarded === null && hosts !== null && !isServed(request, hosts, trusted) ? hostNotServed : guarded
  const agentMatch = agents.find(hostName(request.headers.host), path)
  if (agentMatch === null) return { kind: 'a2a', agent: null, path, query, rejection, last }
  const { agent, rest } = agentMatch
  if (rejection !== null) return { kind: 'a2a', agent, path: rest, query, rejection, last }
  return {
    kind: isPassthrough(agent.config, agent.knownRouter, rest) ? 'passthrough' : 'a2a',
    agent,
    path: rest,
    query,
    rejection: null,
    last
  }
}
