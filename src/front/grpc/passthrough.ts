/** Forwards calls that no rule sees: services of `grpc.passthrough`, and calls of an agent without a card. */
import { accessOf, admitUnread } from '../../pipeline/access/access.js'
import { PASSTHROUGH } from '../../policy/access/target.js'
import { passes } from '../../gateway/identity/access-telemetry.js'
import type { Agent } from '../../gateway/agent.js'
import * as rejections from '../../pipeline/rejections.js'
import type { HandlerOptions } from '../call/dispatch.js'
import { passOn } from '../call/dispatch.js'
import type { Exchange } from '../call/exchange.js'
import { shed } from '../call/evaluate.js'
import { identify } from '../call/identify.js'
import { limitEarly } from '../call/limits/limits.js'
import { serverForUnread } from './dispatch.js'

/** A call to a service of `grpc.passthrough`. */
export function passThrough (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  exchange.label = 'Passthrough'
  exchange.span.name('Passthrough')
  exchange.state = agent.state
  if (shed(exchange)) return
  const { identity, trusted } = options
  const admit = (): void => {
    const access = accessOf(agent.config)
    if (access !== null && !passes(exchange, admitUnread(access, exchange.principal, PASSTHROUGH))) return
    if (serverForUnread(exchange, agent) === null) {
      return exchange.reject(rejections.noCard(agent.name, agent.wantCard()), 'upstream_error')
    }
    limitEarly(exchange, agent, options, () => { forwardUnread(exchange, agent, options) })
  }
  if (identity === null) return admit()
  const target = { kind: 'passthrough', agent, path: '', query: '', rejection: null, last: false } as const
  identify(exchange, { agent, target, identity, trusted }, admit)
}

/** An admitted call to an agent without a card, with `card.onUnavailable: forward`. */
export function forwardUnread (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  passOn(exchange, { agent, target: exchange.request.url ?? '', body: null }, options)
}
