/** Cross-origin responses to browsers (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol). */
import type { Agent } from '#agents/agent.js'
import type { CorsConfig } from '#config/model/model.js'
import type { ClientRequest } from '../client-streams.js'
import type { Cors } from '../cors-headers.js'
import { describeOperation } from '../description.js'
import type { Exchange } from '../exchange.js'
import type { Result } from '../step.js'
import { after } from '../run.js'
import { respond } from '../reply.js'
import { whenReady } from '#wire/when-ready.js'

/** Headers of responses that pages may read, besides those that every page may read. */
const EXPOSED = 'A2A-Extensions, X-A2A-Extensions, A2A-Version, Gateway-Decision, Retry-After, WWW-Authenticate, RateLimit-Policy, RateLimit'
/** Sets the cross-origin headers of the response. */
export function readCors (exchange: Exchange): Result | Promise<Result> {
  const { agent, request, target } = exchange
  if (agent === null || target.rejection !== null) return
  const { origin } = request.headers
  if (origin !== undefined) return after(exchange, corsOf(agent, request, origin, target.path), keepCors)
  exchange.cors = corsWithoutOrigin(agent.config.cors)
}

function keepCors (exchange: Exchange, cors: Cors): undefined {
  exchange.cors = cors
}

/** Responds to a preflight of an origin that the configuration names. */
export function servePreflight (exchange: Exchange): Result {
  const { agent, request, cors } = exchange
  if (agent === null) return
  const preflight = preflightCors(request, cors, agent.config.cors)
  if (preflight === null) return
  describeOperation(exchange, 'Preflight')
  exchange.cors = preflight
  return respond(exchange, 204, [], null)
}

const NO_CORS: Cors = { headers: [], replaces: true }
const METHODS = 'GET, POST, PUT, PATCH, DELETE'

/**
 * Returns the headers of responses to a request with the header `Origin`.
 * @param path of the request, below the agent's path
 * @returns a promise when the agent has to be asked
 */
function corsOf (agent: Agent, { method }: ClientRequest, origin: string, path: string): Cors | Promise<Cors> {
  const { cors } = agent.config
  if (cors.origins.length > 0) return ownCors(cors, origin)
  // The agent itself responds to preflights.
  if (method === 'OPTIONS') return relayed([])
  const headers = agent.corsHeaders(origin, path.startsWith('/.well-known/agent'))
  return whenReady(headers, relayed)
}

function relayed (headers: readonly string[]): Cors {
  return { headers, replaces: false }
}

function ownCors ({ origins }: CorsConfig, origin: string): Cors {
  const allowed = origins.includes('*') ? '*' : origins.includes(origin.toLowerCase()) ? origin : null
  const headers = allowed === null ? [] : ['access-control-allow-origin', allowed, 'access-control-expose-headers', EXPOSED]
  return { headers, replaces: true }
}

/**
 * Returns the cross-origin headers of the response to a preflight.
 * @param cors the headers for the origin of the preflight
 * @returns null when the gateway does not respond to the preflight itself
 */
function preflightCors ({ method, headers }: ClientRequest, cors: Cors | null, { maxAge }: CorsConfig): Cors | null {
  if (method !== 'OPTIONS' || cors?.replaces !== true || headers['access-control-request-method'] === undefined) return null
  if (cors.headers.length === 0) return cors
  const asked = headers['access-control-request-headers']
  const added = [
    'access-control-allow-methods', METHODS,
    ...(asked === undefined ? [] : ['access-control-allow-headers', asked]),
    'access-control-max-age', String(Math.round(maxAge / 1_000)),
    'vary', 'Access-Control-Request-Headers'
  ]
  return { headers: [...cors.headers, ...added], replaces: true }
}

/** For requests without the header `Origin` to an agent with a policy of its own in the configuration. */
function corsWithoutOrigin ({ origins }: CorsConfig): Cors | null {
  return origins.length === 0 ? null : NO_CORS
}
