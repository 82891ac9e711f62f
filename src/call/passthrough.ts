/** Decides about a call that no rule reads, whichever front it arrived by: paths of `passthrough`, and services of `grpc.passthrough`. */
import type { Agent } from '../gateway/agent.js'
import { passes } from './telemetry/access-telemetry.js'
import { accessOf, admitUnread } from '../pipeline/access/access.js'
import { isPreflight } from '../pipeline/guard.js'
import * as rejections from '../pipeline/rejections.js'
import { PASSTHROUGH, UNKNOWN } from '../policy/access/target.js'
import type { HandlerOptions } from './dispatch.js'
import { shed } from './evaluate.js'
import type { Exchange } from './exchange.js'
import { identify } from './identify.js'
import { limitEarly } from './limits/limits.js'
import type { RouteTarget } from './route-target.js'

/** What one front does with such a call. */
export interface PassthroughFront {
  /** Runs after the access lists. @returns false when the front cannot send the call, and has rejected it */
  canSend (exchange: Exchange, agent: Agent): boolean
  /** Sends an admitted call. */
  send (exchange: Exchange, agent: Agent, target: RouteTarget, options: HandlerOptions): void
}

/** Describes an exchange as a call that no rule reads. */
export function describePassthrough (exchange: Exchange, agent: Agent | null): void {
  exchange.label = 'Passthrough'
  exchange.span.name('Passthrough')
  exchange.agent = agent
}

/** Sends the call if it is admitted, and rejects it otherwise. The order is that of operations: shedding, caller, access lists, limits. */
export function passThrough (exchange: Exchange, target: RouteTarget, options: HandlerOptions, front: PassthroughFront): void {
  const { agent } = target
  describePassthrough(exchange, agent)
  if (agent === null) return exchange.reject(rejections.unknownAgent, 'rejected')
  if (shed(exchange)) return
  const { identity, trusted } = options
  if (identity === null) return identified(exchange, { agent, target, front }, options)
  identify(exchange, { agent, target, identity, trusted }, () => { identified(exchange, { agent, target, front }, options) })
}

interface Passing {
  readonly agent: Agent
  readonly target: RouteTarget
  readonly front: PassthroughFront
}

/** Handles a call that has a caller, if it needs one. */
function identified (exchange: Exchange, { agent, target, front }: Passing, options: HandlerOptions): void {
  if (!isAllowed(exchange, agent, target) || !front.canSend(exchange, agent)) return
  limitEarly(exchange, agent, options, () => { front.send(exchange, agent, target, options) })
}

/** Applies the access lists. */
function isAllowed (exchange: Exchange, agent: Agent, { path }: RouteTarget): boolean {
  const access = accessOf(agent.config)
  if (access === null || isPreflight(exchange.request)) return true
  // Before the first card, a path below the prefix may be an operation. A card may also have come since the request was routed. A service
  // of gRPC is never one of A2A.
  const isKnown = exchange.binding === 'GRPC' || agent.knownRouter?.claims(path) === false
  return passes(exchange, admitUnread(access, exchange.principal, isKnown ? PASSTHROUGH : UNKNOWN))
}
