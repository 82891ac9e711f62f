/** Handles one gRPC call from its head to the decision. The steps between are those of HTTP (`front/http/handler.ts`). */
import type { GrpcMethod } from '../../a2a/grpc/methods.js'
import type { Agent } from '../../gateway/agent.js'
import { schedule } from '../../call/event-loop-batch.js'
import type { AgentState } from '../../pipeline/agent-snapshot.js'
import type { Encoding } from '../../pipeline/content-encoding.js'
import { encodingOf, isPlain } from '../../pipeline/content-encoding.js'
import { grpcRouteOf } from '../../pipeline/grpc/call-route.js'
import * as rejections from '../../pipeline/rejections.js'
import type { OperationRoute } from '../../pipeline/request.js'
import { askedOfService, versionProblem } from '../../pipeline/request.js'
import type { GrpcMessage } from '../../wire/grpc/deframer.js'
import { decoded } from '../../call/body.js'
import type { HandlerOptions } from '../../call/dispatch.js'
import type { Exchange } from '../../call/exchange.js'
import type { Arriving } from '../../call/evaluate.js'
import { admitWithoutCard, arrive, arrivedOf, evaluate } from '../../call/evaluate.js'
import { identify } from '../../call/identify.js'
import type { Unread } from './read-message.js'
import { readMessage } from './read-message.js'
import { forwardUnread } from './passthrough.js'

/** A call to a method of A2A. */
export function handle (exchange: Exchange, agent: Agent, method: GrpcMethod, options: HandlerOptions): void {
  exchange.label = method.operation
  exchange.version = method.version
  exchange.statedVersion = true
  exchange.state = agent.state
  if (options.identity === null) return admitted(exchange, agent, method, options)
  identified(exchange, agent, options, () => { admitted(exchange, agent, method, options) })
}

/** Rejects a call to a method that A2A does not have. As over HTTP, a stranger does not learn which methods exist. */
export function rejectUnknown (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  exchange.state = agent.state
  identified(exchange, agent, options, () => { exchange.reject(rejections.unknownRpc, 'rejected') })
}

function identified (exchange: Exchange, agent: Agent, { identity, trusted }: HandlerOptions, then: () => void): void {
  if (identity === null) return then()
  const target = { kind: 'a2a', agent, path: '', query: '', rejection: null, last: false } as const
  identify(exchange, { agent, target, identity, trusted }, then)
}

/** Handles a call that has a caller, if it needs one. */
function admitted (exchange: Exchange, agent: Agent, method: GrpcMethod, options: HandlerOptions): void {
  const { state } = exchange
  if (state === null) return withoutCard(exchange, agent, options)
  const route = routeOf(state, method)
  if (route === null) return exchange.reject(rejections.noGrpcInterface, 'rejected')
  exchange.binding = route.binding
  const asked = askedOfService(exchange.request, method.version)
  const problem = versionProblem(route, asked, state)
  arrive(exchange, { agent, state, route, problem, asked, query: '' }, options, receive)
}

/** As over HTTP, `card.onUnavailable: forward` lets an agent work without its card; the gateway then enforces nothing. */
function withoutCard (exchange: Exchange, agent: Agent, options: HandlerOptions): void {
  const retryAfter = agent.wantCard()
  admitWithoutCard(exchange, agent, options, () => {
    if (agent.config.card.onUnavailable === 'reject' || agent.config.grpc?.upstream == null) {
      return exchange.reject(rejections.noCard(agent.name, retryAfter), 'upstream_error')
    }
    forwardUnread(exchange, agent, options)
  })
}

const routes = new WeakMap<AgentState, Map<GrpcMethod, OperationRoute | null>>()

/** @returns null when the card has no gRPC interface that the gateway serves */
function routeOf (state: AgentState, method: GrpcMethod): OperationRoute | null {
  let known = routes.get(state)
  if (known === undefined) routes.set(state, known = new Map())
  let route = known.get(method)
  if (route === undefined) known.set(method, route = grpcRouteOf(method, state.interfaces))
  return route
}

/** Reads the one message of the request. */
function receive (exchange: Exchange, arriving: Arriving, options: HandlerOptions): void {
  const { limits } = options
  readMessage(exchange, { size: limits.body, timeout: limits.requestTimeout, hold: bytes => exchange.hold(bytes) }, result => {
    if (!result.ok) return unread(exchange, result.why, options)
    schedule('decide', exchange, () => {
      // The client may have disconnected.
      if (!exchange.response.destroyed) received(exchange, arriving, result.message, options)
    })
  })
}

function received (exchange: Exchange, arriving: Arriving, { compressed, bytes, frame }: GrpcMessage, options: HandlerOptions): void {
  if (!compressed) return evaluate(exchange, arrivedOf(arriving, frame, bytes, null), options)
  const encoding = messageEncoding(exchange.request.headers['grpc-encoding'], bytes, options.limits.body)
  decoded(exchange, encoding, bytes, (bytes, problem) => {
    evaluate(exchange, arrivedOf(arriving, frame, bytes, problem), options)
  })
}

/** The encoding of a message whose flag says that it is compressed. */
function messageEncoding (header: string | readonly string[] | undefined, bytes: Buffer, limit: number): Encoding {
  if (typeof header !== 'string' || isPlain(header)) return UNKNOWN
  const encoding = encodingOf(header, bytes, limit)
  return encoding.kind === 'problem' && encoding.problem === rejections.contentEncoding ? UNKNOWN : encoding
}

const UNKNOWN: Encoding = { kind: 'problem', problem: rejections.grpcEncoding }

const FRAMING: Readonly<Record<'flag' | 'incomplete' | 'none' | 'several', string>> = {
  flag: 'the first byte of a message is 0, or 1 for a compressed message',
  incomplete: 'it ends before the length that its prefix announces',
  none: 'it has no message',
  several: 'it has more than one message'
}

function unread (exchange: Exchange, why: Unread, { limits }: HandlerOptions): void {
  switch (why) {
    case 'aborted': return
    case 'too_large': return exchange.reject(rejections.tooLarge(limits.body), 'rejected')
    case 'no_memory': return exchange.reject(rejections.noMemory(exchange.services.overload.retryAfter), 'rejected')
    case 'timeout': return exchange.reject(rejections.tooSlow(limits.requestTimeout), 'rejected')
    default: exchange.reject(rejections.badGrpcBody(FRAMING[why]), 'rejected')
  }
}
