/** Takes calls of proxies to the shared steps: finds the agent, and decides as for a call on a listener of the gateway. */
import type { Rejection } from '#a2a/errors.js'
import type { Snapshot } from '#agents/snapshot.js'
import type { Exchange } from '#call/exchange.js'
import { startExchange } from '#call/record.js'
import { serveMetadata } from '#call/well-known/resource-metadata.js'
import type { Services } from '#call/services.js'
import { asksForKeys, serveKeys } from '#call/well-known/jwks.js'
import type { RouteTarget } from '#call/route-target.js'
import { start } from '#call/run.js'
import { startPassthrough, STEPS } from '#call/steps.js'
import type { Transport } from '#call/work.js'
import { isGrpc } from '../grpc/head-guard.js'
import { describeGrpc, grpcTargetOf, startGrpc } from '../grpc/target.js'
import type { MeshRequest } from './request.js'
import type { MeshResponse } from './response.js'
import { grpcAgentOf, namedAgent, targetOf } from './target.js'
import { fail } from '#call/reply.js'
import type { Log } from '#telemetry/log.js'

export interface MeshFrontOptions {
  readonly services: Services
  /** Called once per call. A configuration change replaces the whole snapshot. */
  readonly snapshot: () => Snapshot
}

/** A call that a proxy asks about. */
export interface AskedCall {
  /** Carries the decision to the proxy. */
  readonly transport: Transport
  readonly request: MeshRequest
  readonly response: MeshResponse
  /** Name of the agent, as the proxy sends it. */
  readonly agent: string | undefined
  /** `Metadata` of the call, which filters of the proxy have written; null without. */
  readonly metadata: Buffer | null
  /** Why the gateway cannot decide about the call. */
  readonly unfit: Rejection | null
  /** True where the gateway has not read the whole question: `unfit` then holds for every target. */
  readonly unread: boolean
}

export class MeshFront {
  readonly options: MeshFrontOptions
  readonly unseen: MissingResponseWarnings
  /** Names of agents whose responses a proxy has shown, and those of which it has shown more than the head. */
  private readonly heads = new Set<string>()
  private readonly bodies = new Set<string>()

  constructor (options: MeshFrontOptions) {
    this.options = options
    this.unseen = new MissingResponseWarnings(options.services.log)
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
  decide ({ transport, request, response, agent, metadata, unfit, unread }: AskedCall): Exchange {
    const { services } = this.options
    const snapshot = this.options.snapshot()
    const named = namedAgent(snapshot, agent)
    const ofGrpc = isGrpc(request.headers['content-type'])
    // The proxy shows no body of a request that no rule reads: ext_authz sees it once, and ext_proc shows it while it goes on.
    const showsBody = unread || transport.front !== 'ext_authz'
    request.cameThrough(snapshot.trusted)
    const target = ofGrpc
      ? grpcTargetOf(request, snapshot, grpcAgentOf(snapshot, request.headers.host, named), unfit, showsBody)
      : withUnfit(targetOf(request, snapshot, named), unfit, showsBody)
    const exchange = startExchange({ request, response, services, snapshot, transport, target })
    exchange.metadata = metadata
    exchange.span.set('a2a_gateway.front', transport.front)
    try {
      if (!ofGrpc) begin(exchange)
      else if (describeGrpc(exchange)) startGrpc(exchange)
    } catch (error) {
      fail(exchange, error)
    }
    return exchange
  }
}

function withUnfit (target: RouteTarget, unfit: Rejection | null, showsBody: boolean): RouteTarget {
  return target.rejection !== null || unfit === null || (target.kind === 'passthrough' && !showsBody)
    ? target
    : { ...target, rejection: unfit }
}

function begin (exchange: Exchange): void {
  const { request, snapshot, target: { kind, rejection } } = exchange
  if (rejection === null) {
    if (snapshot.keys !== null && asksForKeys(request, snapshot)) return serveKeys(exchange, snapshot.keys)
    if (serveMetadata(exchange)) return
    if (kind === 'passthrough') return startPassthrough(exchange)
  }
  start(exchange, STEPS.http)
}

// Warns of calls whose responses the proxy does not show, although policies are about them. One line for each agent and reason.

class MissingResponseWarnings {
  private readonly log: Log
  private readonly noted = new Set<string>()

  constructor (log: Log) {
    this.log = log
  }

  /** @param why a sentence about the set-up of the proxy */
  note ({ agentName, transport: { front } }: Exchange, why: string): void {
    if (this.isNew(`${agentName} ${front} ${why}`)) {
      this.log.warn({ agent: agentName }, `agent ${agentName}: policies about responses have no effect: ${why}`)
    }
  }

  /** Logs a warning that is not about one agent. */
  warnOnce (message: string): void {
    if (this.isNew(message)) this.log.warn({}, message)
  }

  private isNew (key: string): boolean {
    if (this.noted.has(key)) return false
    this.noted.add(key)
    return true
  }
}
