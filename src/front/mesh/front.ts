/** Takes calls of proxies to the shared steps: finds the agent, and decides as for a call on a listener of the gateway. */
import { grpcMethodOf } from '../../a2a/grpc/methods.js'
import type { Rejection } from '../../a2a/errors.js'
import { mediaTypeOf } from '../../pipeline/caller.js'
import { isGrpcPassthrough } from '../../pipeline/grpc/call-route.js'
import * as rejections from '../../pipeline/rejections.js'
import type { Snapshot } from '../../gateway/agent-registry.js'
import type { Front } from '../../call/dispatch.js'
import { passOn } from '../../call/dispatch.js'
import { Exchange } from '../../call/exchange.js'
import { handle } from '../http/handler.js'
import type { PassthroughFront } from '../../call/passthrough.js'
import { passThrough } from '../../call/passthrough.js'
import { serveMetadata } from '../../call/well-known/resource-metadata.js'
import type { Services } from '../../call/services.js'
import { asksForKeys, serveKeys } from '../../call/well-known/jwks.js'
import { handle as handleGrpc, rejectUnknown } from '../grpc/handler.js'
import { headProblem, isGrpc } from '../grpc/head-guard.js'
import { passService } from '../grpc/passthrough.js'
import type { MeshCall } from './dispatch.js'
import { decides, EXT_AUTHZ } from './dispatch.js'
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
  /** `Metadata` of the call, which filters of the proxy have written; null without. */
  readonly metadata: Buffer | null
  /** Why the gateway cannot decide about the call. */
  readonly unfit: Rejection | null
}

export class MeshFront {
  readonly options: MeshFrontOptions
  readonly unseen: Unseen
  /** Names of agents whose responses a proxy has shown, and those of which it has shown more than the head. */
  private readonly heads = new Set<string>()
  private readonly bodies = new Set<string>()

  constructor (options: MeshFrontOptions) {
    this.options = options
    this.unseen = new Unseen(options.services.log)
  }

  /** Notes that a proxy shows responses of an agent. @param whole whether it shows more than the head */
  shows ({ agentName }: Exchange, whole: boolean): void {
    this.heads.add(agentName)
    if (whole) this.bodies.add(agentName)
  }

  /** What a proxy has never shown of the responses of an agent. @param begun whether it has shown the head of this one */
  hides ({ agentName }: Exchange, begun: boolean): 'head' | 'body' | null {
    if (!begun) return this.heads.has(agentName) ? null : 'head'
    return this.bodies.has(agentName) ? null : 'body'
  }

  /** Decides about a call, now or later. */
  decide ({ call, front, request, response, agent, metadata, unfit }: AskedCall): Exchange {
    const now = this.options.snapshot()
    const exchange = new Exchange(request, response, this.options.services, front)
    decides(exchange, call)
    exchange.metadata = metadata
    request.cameThrough(now.trusted)
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
  // No rule reads the body of such a request.
  const hidden = target.kind === 'passthrough' && exchange.front === EXT_AUTHZ ? null : unfit
  const rejection = target.rejection ?? hidden
  if (rejection !== null) return handle(exchange, { ...target, rejection }, now)
  if (now.keys !== null && asksForKeys(request, now)) return serveKeys(exchange, now.keys)
  if (serveMetadata(exchange, now)) return
  if (target.kind === 'passthrough') passThrough(exchange, target, now, PATHS)
  else handle(exchange, target, now)
}

/** Requests below a prefix of `passthrough`. The proxy carries their bodies, within its own limits and not within `limits.body`. */
const PATHS: PassthroughFront = {
  canSend: () => true,
  send (exchange, agent, _target, options) {
    passOn(exchange, { agent, target: exchange.request.url ?? '', body: null }, options)
  }
}

function beginGrpc (exchange: Exchange, request: MeshRequest, now: Snapshot, name: string | undefined, unfit: Rejection | null): void {
  const { headers, url } = request
  exchange.binding = 'GRPC'
  exchange.mediaType = mediaTypeOf(headers['content-type'])
  const method = grpcMethodOf(url)
  if (method !== null) exchange.version = method.version
  const agent = grpcAgentOf(now, headers.host, namedAgent(now, name))
  exchange.agent = agent
  const unread = method === null && agent !== null && isGrpcPassthrough(agent.config, url)
  const found = headProblem(request, now.hosts, now.trusted) ?? (unread && exchange.front === EXT_AUTHZ ? null : unfit)
  if (found !== null) return exchange.reject(found, 'rejected')
  if (agent === null) return exchange.reject(rejections.unknownAgent, 'rejected')
  if (method !== null) return handleGrpc(exchange, agent, method, now)
  if (unread) return passService(exchange, agent, now)
  rejectUnknown(exchange, agent, now)
}
