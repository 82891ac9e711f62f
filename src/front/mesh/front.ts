/** Takes calls of proxies to the shared steps: finds the agent, and decides as for a call on a listener of the gateway. */
import { grpcMethodOf } from '../../a2a/grpc/methods.js'
import type { Rejection } from '../../a2a/errors.js'
import { accessOf, admitUnread } from '../../pipeline/access/access.js'
import { mediaTypeOf } from '../../pipeline/caller.js'
import { isGrpcPassthrough } from '../../pipeline/grpc/call-route.js'
import { isPreflight } from '../../pipeline/guard.js'
import * as rejections from '../../pipeline/rejections.js'
import { PASSTHROUGH, UNKNOWN } from '../../policy/access/target.js'
import type { Snapshot } from '../../gateway/agent-registry.js'
import { passes } from '../../gateway/identity/access-telemetry.js'
import type { Front } from '../http/dispatch.js'
import { passOn } from '../http/dispatch.js'
import { Exchange } from '../http/exchange.js'
import { handle, shed } from '../http/handler.js'
import { identify } from '../http/identify.js'
import { limitEarly } from '../http/limits/limits.js'
import { serveMetadata } from '../http/resource-metadata.js'
import type { RouteTarget } from '../http/route-target.js'
import type { Services } from '../http/services.js'
import { asksForKeys, serveKeys } from '../http/well-known/jwks.js'
import { handle as handleGrpc, rejectUnknown } from '../grpc/handler.js'
import { headProblem, isGrpc } from '../grpc/head-guard.js'
import { passThrough } from '../grpc/passthrough.js'
import type { MeshCall } from './dispatch.js'
import { decides } from './dispatch.js'
import type { MeshRequest } from './request.js'
import type { MeshResponse } from './response.js'
import { grpcAgentOf, namedAgent, targetOf } from './target.js'
import { Unseen } from './unseen.js'

export interface MeshFrontOptions {
  readonly services: Services
  /** Called once per call. A configuration change replaces the whole snapshot. */
  readonly snapshot: () => Snapshot
}

/** A call that a proxy asks about. */
export interface AskedCall {
  readonly call: MeshCall
  readonly front: Front
  readonly request: MeshRequest
  readonly response: MeshResponse
  /** Name of the agent, as the proxy sends it. */
  readonly agent: string | undefined
  /** Why the gateway cannot decide about the call. */
  readonly unfit: Rejection | null
}

export class MeshFront {
  readonly options: MeshFrontOptions
  readonly unseen: Unseen
  /** True once a proxy has shown a response. */
  sawResponse = false

  constructor (options: MeshFrontOptions) {
    this.options = options
    this.unseen = new Unseen(options.services.log)
  }

  /** Decides about a call, now or later. */
  decide ({ call, front, request, response, agent, unfit }: AskedCall): Exchange {
    const now = this.options.snapshot()
    const exchange = new Exchange(request, response, this.options.services, front)
    decides(exchange, call)
    exchange.span.set('a2a_gateway.front', front.name)
    try {
      if (isGrpc(request.headers['content-type'])) beginGrpc(exchange, request, now, agent, unfit)
      else begin(exchange, request, now, agent, unfit)
    } catch (error) {
      exchange.failed(error)
    }
    return exchange
  }
}

function begin (exchange: Exchange, request: MeshRequest, now: Snapshot, name: string | undefined, unfit: Rejection | null): void {
  const target = targetOf(request, now, namedAgent(now, name))
  const rejection = target.rejection ?? unfit
  if (rejection !== null) return handle(exchange, { ...target, rejection }, now)
  if (now.keys !== null && asksForKeys(request, now)) return serveKeys(exchange, now.keys)
  if (serveMetadata(exchange, now)) return
  if (target.kind === 'passthrough') passPath(exchange, target, now)
  else handle(exchange, target, now)
}

/** A request below a prefix of `passthrough`. */
function passPath (exchange: Exchange, target: RouteTarget, now: Snapshot): void {
  const { agent, path } = target
  exchange.label = 'Passthrough'
  exchange.span.name('Passthrough')
  exchange.agent = agent
  if (agent === null) return exchange.reject(rejections.unknownAgent, 'rejected')
  if (shed(exchange)) return
  const { identity, trusted } = now
  const admit = (): void => {
    const access = accessOf(agent.config)
    // Before the first card, a path below the prefix may be an operation.
    const kind = agent.knownRouter?.claims(path) === false ? PASSTHROUGH : UNKNOWN
    if (access !== null && !isPreflight(exchange.request) && !passes(exchange, admitUnread(access, exchange.principal, kind))) return
    limitEarly(exchange, agent, now, () => { passOn(exchange, { agent, target: exchange.request.url ?? '', body: null }, now) })
  }
  if (identity === null) return admit()
  identify(exchange, { agent, target, identity, trusted }, admit)
}

function beginGrpc (exchange: Exchange, request: MeshRequest, now: Snapshot, name: string | undefined, unfit: Rejection | null): void {
  const { headers, url } = request
  exchange.binding = 'GRPC'
  exchange.mediaType = mediaTypeOf(headers['content-type'])
  const method = grpcMethodOf(url)
  if (method !== null) exchange.version = method.version
  const agent = grpcAgentOf(now, headers.host, namedAgent(now, name))
  exchange.agent = agent
  const found = headProblem(request, now.hosts, now.trusted) ?? unfit
  if (found !== null) return exchange.reject(found, 'rejected')
  if (agent === null) return exchange.reject(rejections.unknownAgent, 'rejected')
  if (method !== null) return handleGrpc(exchange, agent, method, now)
  if (isGrpcPassthrough(agent.config, url)) return passThrough(exchange, agent, now)
  rejectUnknown(exchange, agent, now)
}
