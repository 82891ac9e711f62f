/** Which agent, and which of its surfaces, a request is for. Worked out once, before routing and before any body is read. */
import type { IncomingMessage } from 'node:http'
import type { Refusal } from '../a2a/errors.js'
import { duplicatedHeader } from '../wire/headers.js'
import { checkTarget, splitTarget } from '../wire/target.js'
import type { Agent } from './agent.js'
import type { Agents } from './agents.js'
import { hostName } from './agents.js'
import { unexpectedBody } from './refusals.js'

export interface Surface {
  readonly kind: 'a2a' | 'passthrough'
  readonly agent: Agent | null
  /** Below the agent's path, undecoded. */
  readonly path: string
  /** With its leading `?`, or ''. */
  readonly query: string
  /** What the guard found; the request goes no further. */
  readonly refusal: Refusal | null
}

/** The Go SDK sends the body `null` with every request that has nothing to say, GET included (measured): the handler looks at it. */
const MAX_GET_BODY = 16

const KEY = Symbol('a2a-gateway.surface')

/** The request's surface; the same object however often it is asked. */
export function surfaceOf (request: IncomingMessage & { [KEY]?: Surface }, agents: Agents): Surface {
  request[KEY] ??= find(request, agents)
  return request[KEY]
}

function find (request: IncomingMessage, agents: Agents): Surface {
  const target = request.url ?? ''
  const { path, query } = splitTarget(target)
  const reason = checkTarget(target)
  if (reason !== null) return { kind: 'a2a', agent: null, path, query, refusal: badTarget(reason) }
  const refusal = guard(request)
  const found = agents.find(hostName(request.headers.host), path)
  if (found === null) return { kind: 'a2a', agent: null, path, query, refusal }
  const { agent, rest } = found
  if (refusal !== null) return { kind: 'a2a', agent, path: rest, query, refusal }
  return { kind: isPassthrough(agent, rest) ? 'passthrough' : 'a2a', agent, path: rest, query, refusal: null }
}

/** What is an operation of the card is inspected, whatever prefix covers it; while no card was ever seen, nobody can tell. */
function isPassthrough (agent: Agent, path: string): boolean {
  const { passthrough, card } = agent.config
  if (passthrough.length === 0 || !passthrough.some(prefix => path === prefix || path.startsWith(`${prefix}/`))) return false
  const { knownRouter } = agent
  return knownRouter === null ? card.onUnavailable === 'forward' : !knownRouter.claims(path)
}

function badTarget (reason: string): Refusal {
  return { reason: 'BAD_REQUEST_TARGET', message: `The request target is refused: ${reason}.`, rule: 'gateway/target' }
}

/** Requests that two readers could route, frame or attribute differently (node-stack §B.5, §B.2.7). */
function guard (request: IncomingMessage): Refusal | null {
  const twice = duplicatedHeader(request.rawHeaders)
  if (twice !== null) return { reason: 'BAD_REQUEST_HEADER', message: `The header ${twice} is sent more than once; send it once.`, rule: 'gateway/duplicate-header' }
  const { headers, method } = request
  if (method === 'GET' || method === 'HEAD') {
    const length = Number(headers['content-length'] ?? 0)
    if (headers['transfer-encoding'] !== undefined || length > (method === 'GET' ? MAX_GET_BODY : 0)) return unexpectedBody(method)
  }
  // Offers of HTTP/2 (the JDK's client makes one with every first request) may be ignored, RFC 9110 §7.8; other protocols may not.
  if (headers.upgrade !== undefined && headers.upgrade.toLowerCase() !== 'h2c') {
    return { reason: 'BAD_REQUEST_HEADER', message: 'Connections cannot be upgraded here; A2A has no WebSocket binding.', rule: 'gateway/upgrade' }
  }
  return null
}
