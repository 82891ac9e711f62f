/** From the head of a request over HTTP to its route. */
import * as rejections from '#pipeline/rejections.js'
import { readRequestedVersion, versionProblem } from '#pipeline/request.js'
import { additionName } from '#policy/request/methods.js'
import { describeOperation, describeRoute, describeVersion, setKind } from '../description.js'
import type { Exchange } from '../exchange.js'
import { queryForAgent } from '../outgoing-credentials.js'
import type { Result } from '../step.js'
import { serveCard } from '../serve-card.js'
import { keepUnread, keepWork, Work } from '../work.js'
import { startWithoutCard } from './unread.js'
import { reject } from '../reply.js'

const NO_BYTES = Buffer.alloc(0)

/** Reads the version that the request asks for. */
export function readVersion (exchange: Exchange): Result {
  const { request, target } = exchange
  const asked = readRequestedVersion(request, target.query)
  describeVersion(exchange, asked)
  describeRoute(exchange, { binding: exchange.binding, version: asked.version })
}

/** Rejects a request whose head is not acceptable, and a request for an agent that does not exist. */
export function rejectTarget (exchange: Exchange): Result {
  const { agent, request, target: { rejection, path, last }, version } = exchange
  if (rejection === null) {
    if (agent === null) return reject(exchange, rejections.unknownAgent, 'rejected')
    exchange.state = agent.state
    return
  }
  // The rejection still uses the binding of the address.
  const route = agent?.state?.router.match(request.method ?? 'GET', path, version) ?? null
  if (route !== null && 'binding' in route) describeRoute(exchange, route)
  return reject(exchange, rejection, 'rejected', undefined, last ? ['connection', 'close'] : [])
}

/** Finds the route of a request that has a caller, if it needs one. Serves the card. */
export function matchRoute (exchange: Exchange): Result | Promise<Result> {
  const { agent, asked, request, state, version, target: { path, query } } = exchange
  if (agent === null || asked === null) throw new Error('a request without an agent or a version')
  if (state === null) return startWithoutCard(exchange, agent)

  const route = state.router.match(request.method ?? 'GET', path, version)
  if (route === null) return reject(exchange, rejections.unknownRoute, 'rejected')
  if (route.kind === 'card') return serveCard(exchange, agent, state, version)
  if (route.kind === 'preflight') {
    describeOperation(exchange, 'Preflight')
    setKind(exchange, 'preflight')
    keepUnread(exchange, { agent, target: route.upstreamPath + queryForAgent(exchange, agent, query), body: NO_BYTES })
    return
  }
  describeRoute(exchange, route)
  if (route.kind === 'ambiguous') return reject(exchange, rejections.ambiguousPath, 'rejected')
  if (route.kind === 'verb') return reject(exchange, rejections.wrongVerb(route.allow), 'rejected')
  return keepRoute(exchange, new Work(agent, state, route, versionProblem(route, asked, state), query))
}

/** Describes the exchange as a call of the operation, or of the route of an extension. */
export function keepRoute (exchange: Exchange, work: Work): undefined {
  const { route, state } = work
  keepWork(exchange, work)
  const { operation, extensionRoute, version } = route
  const addition = extensionRoute === null ? null : additionName(state.policy[version], null, extensionRoute)
  describeOperation(exchange, operation ?? exchange.label, addition)
}
