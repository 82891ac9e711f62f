/** Forwards calls that no rule sees: services of `grpc.passthrough`, and calls of an agent without a card. */
import type { Agent } from '../../gateway/agent.js'
import * as rejections from '../../pipeline/rejections.js'
import type { HandlerOptions } from '../../call/dispatch.js'
import { passOn } from '../../call/dispatch.js'
import type { Exchange } from '../../call/exchange.js'
import type { PassthroughFront } from '../../call/passthrough.js'
import { passThrough } from '../../call/passthrough.js'
import { GRPC, serverForUnread } from './dispatch.js'

const FRONT: PassthroughFront = {
  /** Only the configuration or a card has the address of a gRPC server. A proxy that asks for a decision has its own. */
  canSend (exchange, agent) {
    if (exchange.front !== GRPC || serverForUnread(exchange, agent) !== null) return true
    exchange.reject(rejections.noCard(agent.name, agent.wantCard()), 'upstream_error')
    return false
  },
  send (exchange, agent, _target, options) {
    forwardUnread(exchange, agent, options)
  }
}

/** A call to a service of `grpc.passthrough`. */
export function passService (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  exchange.state = agent.state
  passThrough(exchange, { kind: 'passthrough', agent, path: '', query: '', rejection: null, last: false }, options, FRONT)
}

/** An admitted call to an agent without a card, with `card.onUnavailable: forward`. */
export function forwardUnread (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  passOn(exchange, { agent, target: exchange.request.url ?? '', body: null }, options)
}
