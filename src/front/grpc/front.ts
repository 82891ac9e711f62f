/** Takes gRPC calls from a listener: checks the head, finds the agent, and starts an exchange. */
import { guarded, listen } from '#guard.js'
import type { Snapshot } from '#agents/snapshot.js'
import * as rejections from '#pipeline/rejections.js'
import { readGrpcTimeout } from '#wire/grpc/timeout.js'
import type { HttpListener } from '#call/client-streams.js'
import type { Exchange } from '#call/exchange.js'
import { startExchange } from '#call/record.js'
import type { Services } from '#call/services.js'
import type { ListenerName } from '#config/listeners/host-port.js'
import type { ReceivedHead } from './client-stream.js'
import { GrpcRequest, GrpcResponse } from './client-stream.js'
import { GrpcTransport } from './dispatch.js'
import { isGrpc } from './head-guard.js'
import { describeGrpc, grpcTargetOf, startGrpc } from './target.js'
import { fail, reject } from '#call/reply.js'
import type { Agent } from '#agents/agent.js'
import { listenerName } from '#config/listeners/host-port.js'
import { hostName } from '#pipeline/agents.js'

export interface GrpcFrontOptions {
  readonly services: Services
  /** Called once per call. A configuration change replaces the whole snapshot. */
  readonly snapshot: () => Snapshot
  /** The main listener, once it listens. */
  readonly main: () => HttpListener
}

/** A call that came on a listener. */
export interface IncomingCall extends ReceivedHead {
  readonly listener: ListenerName
  /** Called when the call is over. @param own true when the gateway has reset it */
  readonly onClose: (own?: boolean) => void
}

const METHOD = 'POST'
const UNSUPPORTED_MEDIA_TYPE = 415

export class GrpcFront {
  private readonly options: GrpcFrontOptions

  constructor (options: GrpcFrontOptions) {
    this.options = options
  }

  handle (call: IncomingCall): void {
    const { listener, onClose } = call
    const now = this.options.snapshot()
    const request = new GrpcRequest(call, this.options.main)
    const response = new GrpcResponse(call.stream)
    listen(response, response, 'close', () => { onClose(response.wasReset) })
    const { services } = this.options
    const { method, headers } = request
    const isCall = method === METHOD && isGrpc(headers['content-type'])
    const target = grpcTargetOf(request, now, isCall ? agentAt(now, listener, headers.host) : null)
    const exchange = startExchange({ request, response, services, snapshot: now, transport: new GrpcTransport(request), target })
    try {
      this.begin(exchange)
    } catch (error) {
      fail(exchange, error)
    }
  }

  private begin (exchange: Exchange): void {
    const { request: { method, headers } } = exchange
    // A client of another protocol gets an error of HTTP (gRPC doc/PROTOCOL-HTTP2.md).
    if (method !== METHOD) reject(exchange, rejections.wrongVerb(METHOD), 'rejected')
    else if (!isGrpc(headers['content-type'])) reject(exchange, rejections.notGrpc, 'rejected', UNSUPPORTED_MEDIA_TYPE)
    else if (describeGrpc(exchange)) {
      const timeout = headers['grpc-timeout']
      if (timeout === undefined || this.limitTime(exchange, String(timeout))) startGrpc(exchange)
    }
  }

  /** Ends the call at its deadline: the agent would work for nobody. @returns false when the call is over */
  private limitTime (exchange: Exchange, timeout: string): boolean {
    const milliseconds = readGrpcTimeout(timeout)
    if (milliseconds === null) {
      reject(exchange, rejections.badGrpcTimeout, 'rejected')
      return false
    }
    const expire = (): void => {
      exchange.forwarding?.abort()
      reject(exchange, rejections.deadlineExceeded, 'client_aborted')
    }
    if (milliseconds < 1) {
      expire()
      return false
    }
    const timer = setTimeout(guarded(exchange, expire), milliseconds)
    listen(exchange, exchange.response, 'close', () => { clearTimeout(timer) })
    return true
  }
}

// Finds the agent of a gRPC call: by listener, and on one listener by host. No gRPC client can send a path of its own.

/** Agents by listener and host; '' for an agent of any host. */
type Places = ReadonlyMap<string, Agent>

const cache = new WeakMap<Snapshot, Places>()

function placesOf (snapshot: Snapshot): Places {
  let places = cache.get(snapshot)
  if (places === undefined) {
    const served = snapshot.agents.all.flatMap(agent => (agent.config.grpc === null ? [] : [{ agent, listen: agent.config.grpc.listen }]))
    places = new Map(served.map(({ agent, listen }) => [`${listenerName(listen)} ${agent.config.host ?? ''}`, agent]))
    cache.set(snapshot, places)
  }
  return places
}

/** @param host header of the request, with an optional port */
function agentAt (snapshot: Snapshot, listener: ListenerName, host: string | undefined): Agent | null {
  const places = placesOf(snapshot)
  return places.get(`${listener} ${hostName(host).replace(/\.$/, '')}`) ?? places.get(`${listener} `) ?? null
}
