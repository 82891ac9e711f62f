/** Which agent, and which of its surfaces, a request is for. Worked out once, before routing and before any body is read. */
import type { IncomingMessage } from 'node:http'
import type { Refusal } from '../a2a/errors.js'
import type { Agents } from '../agent/agents.js'
import { hostName } from '../agent/agents.js'
import { guard, isPassthrough } from '../agent/guard.js'
import { badTarget } from '../agent/refusals.js'
import { checkTarget, splitTarget } from '../wire/target.js'
import type { Agent } from './agent.js'

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

const KEY = Symbol('a2a-gateway.surface')

/** The request's surface; the same object however often it is asked. */
export function surfaceOf (request: IncomingMessage & { [KEY]?: Surface }, agents: Agents<Agent>): Surface {
  request[KEY] ??= find(request, agents)
  return request[KEY]
}

function find (request: IncomingMessage, agents: Agents<Agent>): Surface {
  const target = request.url ?? ''
  const { path, query } = splitTarget(target)
  const reason = checkTarget(target)
  if (reason !== null) return { kind: 'a2a', agent: null, path, query, refusal: badTarget(reason) }
  const refusal = guard(request)
  const found = agents.find(hostName(request.headers.host), path)
  if (found === null) return { kind: 'a2a', agent: null, path, query, refusal }
  const { agent, rest } = found
  if (refusal !== null) return { kind: 'a2a', agent, path: rest, query, refusal }
  return { kind: isPassthrough(agent.config, agent.knownRouter, rest) ? 'passthrough' : 'a2a', agent, path: rest, query, refusal: null }
}
