/** One call through ext_proc: Envoy sends the parts of the request and of the response, and waits for a reply to each part. */
import type { Socket } from 'node:net'
import { run } from '#guard.js'
import { meshUnfit, noMemory, tooLarge, tooSlow, trailersAlone } from '#pipeline/rejections.js'
import type { Forwarding } from '#upstream/forward.js'
import { whole } from '#wire/chunked-buffer.js'
import type { BodyMode, Immediate, ModeOverride, ProcessingMessage, Protocol } from '#wire/envoy/processing.js'
import { BODY_MODES, UNCHANGED, writeImmediate, writeReply } from '#wire/envoy/processing.js'
import { valueOf } from '#pipeline/response-head.js'
import type { Exchange } from '#call/exchange.js'
import { isGrpc } from '../grpc/head-guard.js'
import { ownLines } from './changes.js'
import type { Accepted } from './dispatch.js'
import { acceptedOf, acceptedUnread, reliesOnResponse, unsent } from './dispatch.js'
import type { Outgoing, Transport, UninspectedRequest } from '#call/work.js'
import type { MeshFront } from './front.js'
import type { IncomingCall } from '../grpc/front.js'
import { STREAM_WINDOW } from '../listener/http2-listener.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { grpcRejection } from './grpc-rejection.js'
import { ProcessingStream } from './processing-stream.js'
import { MeshRequest, proxySocket } from './request.js'
import type { ResponseSink } from './response.js'
import { MeshResponse } from './response.js'
import { ExtProcResponse } from './ext-proc-response.js'
import { settle, settleForwarded } from '#call/outcome.js'
import { reject } from '#call/reply.js'
import { reserveMemory, prepay } from '#call/capacity.js'

const { BUFFERED, BUFFERED_PARTIAL, FULL_DUPLEX_STREAMED, NONE, STREAMED } = BODY_MODES

const OLD = meshUnfit('it does not announce the mode of bodies; Envoy does since 1.33')
const NO_BODY = meshUnfit('request_body_mode is neither BUFFERED nor FULL_DUPLEX_STREAMED')
const PARTIAL = meshUnfit('response_body_mode is BUFFERED_PARTIAL, which hides what is beyond a limit; set BUFFERED')
const UNANNOUNCED = meshUnfit(
  'a policy needs its response, and response_body_mode is NONE; set response_header_mode: SEND, response_body_mode: BUFFERED and ' +
    'allow_mode_override: true'
)
const HIDDEN = 'Envoy shows no responses; set response_header_mode: SEND, response_body_mode: BUFFERED and allow_mode_override: true'
const HEADLESS = 'Envoy shows bodies of responses without their heads; set response_header_mode: SEND'
const BODILESS = 'Envoy shows heads of responses without their bodies; set response_body_mode: BUFFERED'

export class Processor extends ProcessingStream implements Transport, ResponseSink, Forwarding {
  /** The label of telemetry. The proxy shows request and response. */
  readonly front = 'ext_proc'
  readonly mesh: MeshFront
  private readonly socket: Socket
  private readonly agent: string | undefined
  /**
   * Envoy goes on without the gateway when the stream ends, and a restart of the gateway then breaks nothing. Other proxies (agentgateway)
   * fail the call.
   */
  private readonly isEnvoy: boolean
  private protocol: Protocol = { request: NONE, response: NONE, eager: false }
  private request: MeshRequest | null = null
  private response: MeshResponse | null = null
  private exchange: Exchange | null = null
  private isGrpc = false
  /** The request has a body. */
  private hasBody = false
  /** FULL_DUPLEX_STREAMED: the request has trailers, which wait for a reply. */
  private hasTrailers = false
  /** Set when the rules have accepted the request. */
  private accepted: Accepted | null = null
  /** The request is at the agent: all its parts have a reply. */
  private sent = false
  /** Null until the proxy shows the response. */
  private shown: ExtProcResponse | null = null
  /** Full duplex: the request goes on as it arrives. */
  private relaying = false
  /** Full duplex: the body stays at the proxy until the caller is known. */
  private pausedForCaller = false
  /** Full duplex: replies do not correspond to messages. */
  private duplexRequest = false
  duplexResponse = false
  /** How the proxy sends the body of the response, as far as it has announced it. */
  private responseMode: BodyMode = NONE
  /** The gateway wants nothing more, and a proxy that is not Envoy still wants replies. */
  private following = false

  /** @param agent its name in the metadata of the call */
  constructor (mesh: MeshFront, { stream, headers, socket }: IncomingCall, agent: string | undefined) {
    super(stream, mesh.options)
    this.mesh = mesh
    this.socket = socket
    this.agent = agent
    this.isEnvoy = OF_ENVOY.some(name => headers[name] !== undefined)
  }

  protected tooLong (): void {
    const { exchange, mesh } = this
    if (exchange === null || this.accepted !== null) return this.fail()
    reject(exchange, tooLarge(mesh.options.snapshot().limits.body), 'rejected')
  }

  protected noMemory (): void {
    const { exchange, mesh: { options: { services } } } = this
    if (exchange !== null) {
      reject(exchange, noMemory(services.overload.retryAfter), 'rejected')
      return
    }
    services.metrics.add('client_errors_total', 'memory')
    this.failWith(GRPC_CODES.RESOURCE_EXHAUSTED)
  }

  protected get refuses (): boolean {
    return this.accepted === null
  }

  late (): void {
    const { exchange, accepted, mesh: { options: { services, snapshot } } } = this
    if (this.over) return
    if (exchange !== null && accepted === null) {
      reject(exchange, tooSlow(snapshot().limits.requestTimeout), 'rejected')
      return
    }
    services.metrics.add('client_errors_total', 'timeout')
    if (exchange !== null) return this.fail()
    this.failWith(GRPC_CODES.DEADLINE_EXCEEDED)
  }

  /** A body that arrives while the caller is looked up waits in Node, up to the window of the stream. */
  protected taken (): void {
    const { exchange, request } = this
    if (!this.pausedForCaller || exchange === null || request === null) return
    this.pausedForCaller = false
    if (request.ended || request.wanted || this.accepted !== null) return
    if (reserveMemory(exchange, STREAM_WINDOW)) prepay(exchange, STREAM_WINDOW)
    else this.noMemory()
  }

  protected take (message: ProcessingMessage): void {
    if (this.following) return this.follow(message)
    if (message.of === 'response') return this.takeResponse(message)
    switch (message.part) {
      case 'headers': return this.takeHead(message)
      case 'body': return this.takeBody(message)
      case 'trailers': return this.takeTrailers(message)
    }
  }

  private takeHead ({ lines, last, observed, protocol, agent, metadata }: ProcessingMessage): void {
    if (this.request !== null) return this.fail()
    // Envoy takes nothing from the gateway.
    if (observed) {
      this.mesh.unseen.warnOnce('ext_proc has observability_mode: Envoy ignores the gateway, and no policy has an effect')
      return this.finish()
    }
    this.protocol = protocol ?? this.protocol
    this.duplexRequest = this.protocol.request === FULL_DUPLEX_STREAMED
    this.duplexResponse = this.protocol.response === FULL_DUPLEX_STREAMED
    this.responseMode = ANNOUNCED.find(mode => mode === this.protocol.response) ?? NONE
    this.hasBody = !last
    const request = new MeshRequest({
      method: valueOf(lines, ':method') ?? '',
      path: valueOf(lines, ':path') ?? '',
      host: valueOf(lines, ':authority') ?? '',
      headers: lines,
      length: last ? 0 : null,
      socket: proxySocket(this.socket, valueOf(lines, ':scheme') === 'https')
    })
    this.request = request
    this.isGrpc = isGrpc(request.headers['content-type'])
    this.response = new MeshResponse(this, this.isGrpc)
    this.pending = REQUEST_HEADERS
    const sendsBody = this.protocol.request === BUFFERED || this.protocol.request === FULL_DUPLEX_STREAMED
    this.exchange = this.mesh.decide({
      transport: this,
      request,
      response: this.response,
      agent: this.agent ?? agent,
      metadata,
      unread: false,
      unfit: protocol === null ? OLD : protocol.response === BUFFERED_PARTIAL ? PARTIAL : last || sendsBody ? null : NO_BODY
    })
    if (last) return request.finish()
    if (this.pending === null || this.over) return
    if (request.wanted) return this.wantBody()
    // Who sends it is not known yet: until then, the body stays at the proxy.
    request.whenWanted = () => { run(this, () => { this.wantBody() }) }
    if (!this.duplexRequest) return
    this.stream.pause()
    this.pausedForCaller = true
  }

  /** Envoy sends the body after the reply to the head, and forwards nothing before the reply to the body. */
  private wantBody (): void {
    if (this.pending === null || this.over) return
    if (this.duplexRequest) this.stream.resume()
    else this.reply({ ...UNCHANGED, override: this.override(this.responseMode) })
  }

  private takeBody ({ bytes, last }: ProcessingMessage): void {
    const { request, accepted } = this
    if (request === null || (this.sent && !this.relaying)) return this.fail()
    if (this.relaying) {
      if (last) request.finish()
      return this.relay([bytes])
    }
    if (!this.duplexRequest) {
      this.pending = REQUEST_BODY
      // A call that no rule sees was accepted by its head.
      if (accepted !== null) return this.forward(accepted)
    }
    request.push(bytes)
    if (last || !this.duplexRequest) request.finish()
  }

  private takeTrailers (message: ProcessingMessage): void {
    const { request } = this
    if (request === null) return this.fail()
    if (this.duplexRequest && (!this.sent || this.relaying)) {
      this.hasTrailers = true
      request.finish()
      return this.relaying ? this.relay([]) : undefined
    }
    // Envoy shows no body that has no bytes. The reply to trailers could not change headers.
    if (!this.sent) {
      if (this.exchange !== null) reject(this.exchange, trailersAlone, 'rejected')
      return
    }
    this.pending = message
    this.reply(UNCHANGED)
  }

  unfit (): null {
    return null
  }

  send (exchange: Exchange, outgoing: Outgoing): Forwarding {
    return this.accept(acceptedOf(exchange, this.request as MeshRequest, outgoing))
  }

  forwardUninspected (exchange: Exchange, unread: UninspectedRequest): Forwarding {
    return this.accept(acceptedUnread(exchange, this.request as MeshRequest, unread))
  }

  private accept (accepted: Accepted): Forwarding {
    const { exchange, plan } = accepted
    if (this.responseMode === NONE && reliesOnResponse(exchange, plan)) {
      unsent(exchange)
      reject(exchange, UNANNOUNCED, 'gateway_error')
      return this
    }
    this.accepted = accepted
    if (this.pending !== null) this.forward(accepted)
    return this
  }

  /** Lets the proxy forward the request. */
  private forward (accepted: Accepted): void {
    this.sent = true
    const { receiver, exchange } = accepted
    if (receiver !== null) this.shown = new ExtProcResponse(this, accepted, receiver, this.response as MeshResponse)
    if (this.duplexRequest) return this.sendDuplex(accepted)
    const override = receiver !== null && this.pending?.part === 'headers' ? this.override(this.responseMode) : null
    this.reply({ changes: resized(accepted), body: accepted.body, override })
    if (receiver === null) this.settle(exchange)
  }

  /** Full duplex: Envoy has given the body away, so that it must be sent whether it has changed or not. */
  private sendDuplex ({ changes, body, sent, receiver, exchange }: Accepted): void {
    this.reply({ ...UNCHANGED, changes })
    this.stream.resume()
    // A request that no rule sees may still arrive.
    if (sent === null && this.hasBody) return this.relay(this.request?.takeWaiting() ?? [])
    if (this.hasBody) this.pieces('request', body ?? whole(sent ?? NO_BYTES), !this.hasTrailers)
    if (this.hasTrailers) this.write(writeReply('request', 'trailers', UNCHANGED))
    if (receiver === null) this.settle(exchange)
  }

  /** Sends a request on that no rule sees. */
  private relay (chunks: readonly Buffer[]): void {
    this.relaying = true
    const { request } = this
    const ended = request?.ended === true
    this.pieces('request', Buffer.concat(chunks), ended && !this.hasTrailers)
    if (!ended) return
    if (this.hasTrailers) this.write(writeReply('request', 'trailers', UNCHANGED))
    if (this.accepted !== null) this.settle(this.accepted.exchange)
  }

  private takeResponse (message: ProcessingMessage): void {
    this.pending = message
    const { shown, accepted } = this
    if (shown !== null && accepted !== null) {
      if (shown.begun || message.part === 'headers') {
        this.mesh.shows(accepted.exchange, message.part !== 'headers' || message.last)
        return shown.take(message)
      }
      this.mesh.unseen.note(accepted.exchange, HEADLESS)
      settle(accepted.exchange, 'gateway_error')
      return this.broken()
    }
    // A response of the proxy itself, before the request went to the agent, such as 413. Envoy ends the stream.
    this.reply(UNCHANGED)
  }

  /** The mode for the rest of the call; null where Envoy accepts none. */
  override (response: BodyMode): ModeOverride | null {
    if (this.duplexRequest || this.duplexResponse) return null
    return { request: BUFFERED, response, trailers: this.isGrpc }
  }

  completed (): void {
    if (this.shown === null) this.respond()
    else this.shown.completed()
  }

  /** Sends the gateway's own response in place of all that the agent sends. */
  respond (): void {
    const { response, isGrpc } = this
    if (response === null) return
    const bytes = Buffer.concat(response.take())
    const details = detailsOf(response.head)
    let immediate: Immediate
    if (isGrpc) {
      const { code, headers, message } = grpcRejection(response)
      immediate = { status: 200, headers, body: message, grpcStatus: code, details }
    } else immediate = { status: response.statusCode, headers: ownLines(response.head), body: bytes, grpcStatus: null, details }
    this.write(writeImmediate(immediate))
    this.finish()
  }

  /**
   * The client must notice that its response is incomplete: Envoy resets a response that has begun. A response that has not begun, and that
   * nothing holds, goes on without the gateway.
   */
  broken (): void {
    if (this.shown?.begun === false && this.shown.isObserved && this.accepted !== null) return this.settle(this.accepted.exchange)
    this.write(writeImmediate(BROKEN))
    this.finish()
  }

  /** The proxy needs the gateway no more. The call is forwarded. */
  settle (exchange: Exchange): void {
    settleForwarded(exchange)
    if (this.isEnvoy) return this.finish()
    this.following = true
    this.response?.close(true)
  }

  /** Lets a part pass that the gateway does not need. */
  private follow ({ of, part, bytes, last }: ProcessingMessage): void {
    const duplex = of === 'request' ? this.duplexRequest : this.duplexResponse
    if (part === 'body' && duplex) this.pieces(of, bytes, last)
    else this.write(writeReply(of, part, UNCHANGED))
  }

  protected closed (finished: boolean): void {
    this.response?.close(finished)
    this.request?.cut()
  }

  /** Lets a response go on that the gateway only observes, so that it survives the gateway. */
  drain (): void {
    if (!this.over) this.shown?.drain()
  }

  /** A response that the gateway waits for has ended, or the client is gone. */
  protected unread (): void {
    const { accepted, shown, mesh } = this
    if (accepted === null || !this.sent || shown === null || this.response?.complete === true) return
    const { exchange } = accepted
    const why = mesh.hides(exchange, shown.begun)
    if (why === null) return
    mesh.unseen.note(exchange, why === 'head' ? HIDDEN : BODILESS)
    if (why === 'head') settleForwarded(exchange)
  }

  abort (): void {
    this.shown?.abort()
  }

  resume (): void {
    this.shown?.resume()
  }

  get facts (): Exchange['facts'] {
    return this.exchange?.facts ?? NO_FACTS
  }

  endAfter (): void {
    if (this.exchange === null) this.fail()
    else this.exchange.endAfter()
  }
}

const NO_FACTS = {}
/** Headers that Envoy adds to its own calls. */
const OF_ENVOY = ['x-envoy-internal', 'x-envoy-expected-rq-timeout-ms'] as const
const NO_BYTES = Buffer.alloc(0)
const ANNOUNCED = [STREAMED, BUFFERED, FULL_DUPLEX_STREAMED] as const
const REQUEST_HEADERS = { of: 'request', part: 'headers' } as const
const REQUEST_BODY = { of: 'request', part: 'body' } as const
const BROKEN: Immediate = { status: 502, headers: [], body: Buffer.alloc(0), grpcStatus: null, details: 'a2a_gateway_broken' }

/** A body of another length needs another Content-Length. */
function resized ({ changes, body, exchange }: Accepted): Accepted['changes'] {
  if (body === null || exchange.request.headers['content-length'] === undefined) return changes
  return { set: [...changes.set, 'content-length', String(body.length)], remove: changes.remove }
}

/** For the access log of the proxy: the rule that rejected the call. */
function detailsOf (head: readonly string[]): string {
  const rule = /rule="([^"]+)"/.exec(valueOf(head, 'gateway-decision') ?? '')?.[1]
  return rule === undefined ? 'a2a_gateway_response' : `a2a_gateway_rejected{${rule}}`
}
