/** Which agent, and which of its surfaces, a request is for. Worked out once, before routing and before any body is read. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Rejection } from '../../a2a/errors.js'
import type { Agents } from '../../pipeline/agents.js'
import { hostName } from '../../pipeline/agents.js'
import { framingFault, guard, isPassthrough, isUpgrade } from '../../pipeline/guard.js'
import { afterFramingFault, badTarget, loop } from '../../pipeline/rejections.js'
import { hasPassedHere } from '../../upstream/via.js'
import { checkTarget, splitTarget } from '../../wire/target.js'
import type { Agent } from '../../gateway/agent.js'

export interface RouteTarget {
  readonly kind: 'a2a' | 'passthrough'
  readonly agent: Agent | null
  /** Below the agent's path, undecoded. */
  readonly path: string
  /** With its leading `?`, or ''. */
  readonly query: string
  /** What the guard found; the request goes no further. */
  readonly rejection: Rejection | null
  /** Node reads nothing more on the connection: the response closes it. */
  readonly last: boolean
}

const KEY = Symbol('a2a-gateway.surface')

/** The request's surface; the same object however often it is asked. */
export function routeTargetOf (request: IncomingMessage & { [KEY]?: RouteTarget }, agents: Agents<Agent>): RouteTarget {
  request[KEY] ??= find(request, agents)
  return request[KEY]
}

/** Connections whose next request begins nobody knows where. Requests of theirs may have come in the same packet. */
const unframed = new WeakSet<Socket>()

function find (request: IncomingMessage, agents: Agents<Agent>): RouteTarget {
  const target = request.url ?? ''
  const { path, query } = splitTarget(target)
  const framing = unframed.has(request.socket) ? afterFramingFault : framingFault(request, request.httpVersion)
  if (framing !== null) unframed.add(request.socket)
  // Node's parser stops behind an Upgrade header: a pipelined request would wait for a response until a timeout.
  const last = framing !== null || isUpgrade(request.headers)
  const reason = checkTarget(target)
  if (reason !== null) return { kind: 'a2a', agent: null, path, query, rejection: badTarget(reason), last }
  const rejection = framing ?? guard(request) ?? (hasPassedHere(request.headers.via) ? loop : null)
  const found = agents.find(hostName(request.headers.host), path)
  if (found === null) return { kind: 'a2a', agent: null, path, query, rejection, last }
  const { agent, rest } = found
  if (rejection !== null) return { kind: 'a2a', agent, path: rest, query, rejection, last }
  return { kind: isPassthrough(agent.config, agent.knownRouter, rest) ? 'passthrough' : 'a2a', agent, path: rest, query, rejection: null, last }
}
