/** Takes gRPC calls from a listener: checks the head, finds the agent, and starts an exchange. */
import { grpcMethodOf } from '../../a2a/grpc/methods.js'
import type { Snapshot } from '../../gateway/agent-registry.js'
import { mediaTypeOf } from '../../pipeline/caller.js'
import { isGrpcPassthrough } from '../../pipeline/grpc/call-route.js'
import * as rejections from '../../pipeline/rejections.js'
import { readGrpcTimeout } from '../../wire/grpc/timeout.js'
import type { HttpListener } from '../../call/client-streams.js'
import { Exchange } from '../../call/exchange.js'
import type { Services } from '../../call/services.js'
import type { ListenerName } from './agents.js'
import { agentAt } from './agents.js'
import type { ReceivedHead } from './client-stream.js'
import { GrpcRequest, GrpcResponse } from './client-stream.js'
import { GRPC } from './dispatch.js'
import { handle, rejectUnknown } from './handler.js'
import { headProblem, isGrpc } from './head-guard.js'
import { passService } from './passthrough.js'

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
    response.on('close', () => { onClose(response.wasReset) })
    const exchange = new Exchange(request, response, this.options.services, GRPC)
    try {
      this.begin(exchange, request, now, listener)
    } catch (error) {
      exchange.failed(error)
    }
  }

  private begin (exchange: Exchange, request: GrpcRequest, now: Snapshot, listener: ListenerName): void {
    const { headers, url } = request
    // A client of another protocol gets an error of HTTP (gRPC doc/PROTOCOL-HTTP2.md).
    if (request.method !== METHOD) return exchange.reject(rejections.wrongVerb(METHOD), 'rejected')
    if (!isGrpc(headers['content-type'])) return exchange.reject(rejections.notGrpc, 'rejected', UNSUPPORTED_MEDIA_TYPE)
    exchange.binding = 'GRPC'
    exchange.mediaType = mediaTypeOf(headers['content-type'])
    const method = grpcMethodOf(url)
    if (method !== null) exchange.version = method.version
    const found = headProblem(request, now.hosts, now.trusted)
    const agent = agentAt(now, listener, headers.host)
    exchange.agent = agent
    if (found !== null) return exchange.reject(found, 'rejected')
    if (agent === null) return exchange.reject(rejections.unknownAgent, 'rejected')
    const timeout = headers['grpc-timeout']
    if (timeout !== undefined && !this.limitTime(exchange, String(timeout))) return
    if (method !== null) return handle(exchange, agent, method, now)
    if (isGrpcPassthrough(agent.config, url)) return passService(exchange, agent, now)
    rejectUnknown(exchange, agent, now)
  }

  /** Ends the call at its deadline: the agent would work for nobody. @returns false when the call is over */
  private limitTime (exchange: Exchange, timeout: string): boolean {
    const milliseconds = readGrpcTimeout(timeout)
    if (milliseconds === null) {
      exchange.reject(rejections.badGrpcTimeout, 'rejected')
      return false
    }
    const expire = (): void => {
      exchange.forwarding?.abort()
      exchange.reject(rejections.deadlineExceeded, 'client_aborted')
    }
    if (milliseconds < 1) {
      expire()
      return false
    }
    const timer = setTimeout(expire, milliseconds)
    exchange.response.on('close', () => { clearTimeout(timer) })
    return true
  }
}
