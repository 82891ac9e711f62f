/** One question of ext_authz: may Envoy forward this request? The gateway sees no response. */
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import { meshUnfit, noMemory, tooLarge, tooSlow } from '#pipeline/rejections.js'
import { valueOf } from '#pipeline/response-head.js'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import type { Rejection } from '#a2a/errors.js'
import { ignoreErrors, listen } from '#guard.js'
import type { ClientError } from '#telemetry/metrics/metrics.js'
import type { Forwarding } from '#upstream/forward.js'
import type { CheckedRequest } from '#wire/envoy/check.js'
import { readCheck, readCheckStart, writeAllowed, writeDenied } from '#wire/envoy/check.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { EnvoyFault } from '#wire/envoy/fields.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { isGrpc } from '../grpc/head-guard.js'
import type { Exchange } from '#call/exchange.js'
import type { MessageOwner } from './arriving-messages.js'
import { ArrivingMessages } from './arriving-messages.js'
import { joined, ownLines } from './changes.js'
import type { Accepted } from './dispatch.js'
import { acceptedOf, acceptedUnread, reliesOnResponse, unsent } from './dispatch.js'
import type { Outgoing, Transport, UninspectedRequest } from '#call/work.js'
import type { AskedCall, MeshFront } from './front.js'
import { grpcRejection } from './grpc-rejection.js'
import { MeshRequest, proxySocket } from './request.js'
import type { ResponseSink } from './response.js'
import { MeshResponse } from './response.js'
import { AGENT } from './target.js'
import { endWithTrailers } from './trailers.js'
import { settleForwarded } from '#call/outcome.js'
import { takeOver } from '#call/capacity.js'
import { reject } from '#call/reply.js'

/** Envoy tells so when it cuts a body (`allow_partial_message`). */
const PARTIAL = 'x-envoy-auth-partial-body'

const NO_BODY = 'it does not show the body; set with_request_body'
const UNDECLARED = 'it shows no body; set with_request_body, or send content-length: 0 with requests that have none'
const AS_TEXT = 'it sends the bytes of gRPC as text; set pack_as_bytes, or use ext_proc'
const NOT_EDITED = 'a policy edits the request, or its message has nulls that agents read differently, and ext_authz cannot change a ' +
  'body; use ext_proc'
const NOT_SEEN = 'a policy needs its response, which ext_authz does not show; use ext_proc'

export class Check implements Transport, ResponseSink, MessageOwner {
  readonly place = 'ext_authz'
  /** The label of telemetry. The proxy asks once, about the request. */
  readonly front = 'ext_authz'
  private readonly mesh: MeshFront
  private readonly stream: ServerHttp2Stream
  private readonly socket: Socket
  /** Name of the agent in the metadata of the call. */
  private readonly agent: string | undefined
  private readonly messages: ArrivingMessages
  private request: MeshRequest | null = null
  private response: MeshResponse | null = null
  private isGrpc = false
  private answered = false

  constructor (mesh: MeshFront, stream: ServerHttp2Stream, socket: Socket, agent: string | undefined) {
    this.mesh = mesh
    this.stream = stream
    this.socket = socket
    this.agent = agent
    const { limits } = mesh.options.snapshot()
    this.messages = new ArrivingMessages(this, limits, mesh.options.services.heldBytes, limits.body)
  }

  /** Takes the message, and decides. */
  read (): void {
    const { stream } = this
    listen(this, stream, 'data', (chunk: Buffer) => { this.onData(chunk) })
    listen(this, stream, 'end', () => { if (this.response === null) this.fail(GRPC_CODES.INVALID_ARGUMENT, 'malformed') })
    ignoreErrors(stream)
    listen(this, stream, 'close', () => {
      this.messages.end()
      this.response?.close(this.answered)
    })
  }

  private onData (chunk: Buffer): void {
    const { messages } = this
    if (this.response !== null || this.answered) return
    const [message] = messages.feed(chunk, true)
    const { limits } = this.mesh.options.snapshot()
    if (messages.isRefused) return this.noMemory()
    if (messages.fault === 'too_large') return this.unread(tooLarge(limits.body), GRPC_CODES.RESOURCE_EXHAUSTED, 'other')
    if (messages.fault !== null || message?.compressed === true) return this.fail(GRPC_CODES.INVALID_ARGUMENT, 'malformed')
    if (message === undefined) return
    let checked: CheckedRequest
    try {
      checked = readCheck(message.bytes)
    } catch (error) {
      if (!(error instanceof EnvoyFault)) throw error
      return this.fail(GRPC_CODES.INVALID_ARGUMENT, 'malformed')
    }
    this.decide(checked)
  }

  private decide (checked: CheckedRequest): void {
    const { method, path, host, scheme, headers, body, context, agent, metadata } = checked
    const request = new MeshRequest({
      method, path, host, headers, length: body.length, socket: proxySocket(this.socket, scheme === 'https')
    })
    const unfit = problemOf(checked, valueOf(headers, 'content-length'), request)
    const exchange = this.ask(request, context.get(AGENT) ?? this.agent ?? agent, { metadata, unfit, unread: false })
    takeOver(exchange, this.messages.handOver())
    this.messages.end()
    request.push(body)
    request.finish()
  }

  /** No room is left for the message. */
  private noMemory (): void {
    this.unread(noMemory(this.mesh.options.services.overload.retryAfter), GRPC_CODES.RESOURCE_EXHAUSTED, 'memory')
  }

  late (): void {
    if (this.response !== null || this.answered) return
    this.unread(tooSlow(this.mesh.options.snapshot().limits.requestTimeout), GRPC_CODES.DEADLINE_EXCEEDED, 'timeout')
  }

  /**
   * Rejects a request without its whole message: the first bytes have the address, and so the binding of the rejection.
   * @param code of gRPC, where these bytes have no address
   */
  private unread (rejection: Rejection, code: number, kind: ClientError): void {
    const start = startOf(this.messages.giveUp())
    if (start === null || start.path === '') return this.fail(code, kind)
    const { method, path, host, scheme } = start
    // Headers come behind the body.
    const headers = grpcMethodOf(path) === null ? [] : ['content-type', 'application/grpc']
    const request = new MeshRequest({ method, path, host, headers, length: 0, socket: proxySocket(this.socket, scheme === 'https') })
    this.ask(request, this.agent, { metadata: null, unfit: rejection, unread: kind !== 'other' })
    request.finish()
  }

  private ask (request: MeshRequest, named: string | undefined, more: Pick<AskedCall, 'metadata' | 'unfit' | 'unread'>): Exchange {
    this.isGrpc = isGrpc(request.headers['content-type'])
    const response = new MeshResponse(this, this.isGrpc)
    this.response = response
    this.request = request
    return this.mesh.decide({ transport: this, request, response, agent: named, ...more })
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

  private accept ({ exchange, changes, body, plan }: Accepted): Forwarding {
    const unfit = body !== null
      ? NOT_EDITED
      // Without the response, tasks would have no owner, and lists and cards would show what the caller may not see.
      : reliesOnResponse(exchange, plan) ? NOT_SEEN : null
    if (unfit !== null) {
      unsent(exchange)
      reject(exchange, meshUnfit(unfit), 'gateway_error')
      return OVER
    }
    if (plan.evaluation?.evaluator.enforces === true) this.mesh.unseen.note(exchange, 'ext_authz shows no responses')
    settleForwarded(exchange)
    this.answer(writeAllowed(joined(changes)))
    return OVER
  }

  completed (): void {
    const { response } = this
    if (response === null) return
    const whole = Buffer.concat(response.take())
    if (!this.isGrpc) return this.answer(writeDenied(response.statusCode, ownLines(response.head), whole))
    const { httpStatus, headers, message } = grpcRejection(response)
    this.answer(writeDenied(httpStatus, headers, message))
  }

  /** Nothing can follow: Envoy takes this for an error of the gateway. */
  broken (): void {
    this.fail(GRPC_CODES.INTERNAL)
  }

  /** False after a reset of the proxy: with the code NO_ERROR, Node emits `end` on a stream that is closed and not yet destroyed. */
  private get canRespond (): boolean {
    return !this.answered && !this.stream.closed && !this.stream.destroyed
  }

  private answer (message: Buffer): void {
    if (!this.canRespond) return
    this.answered = true
    this.stream.respond(HEAD, MORE)
    endWithTrailers(this, this.stream, this.mesh.options.snapshot().limits.requestTimeout)
    this.stream.end(grpcFrame(message))
  }

  /** Ends the call without an answer. @param code of gRPC, not OK. @param kind of the client's error, if it is one */
  private fail (code: number, kind: ClientError | null = null): void {
    this.messages.end()
    if (!this.canRespond) return
    if (kind !== null) this.mesh.options.services.metrics.add('client_errors_total', kind)
    this.answered = true
    this.stream.respond({ ...HEAD, 'grpc-status': String(code) }, LAST)
    this.stream.close()
  }

  endAfter (): void {
    try {
      this.fail(GRPC_CODES.INTERNAL)
    } finally {
      if (!this.answered) this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    }
  }
}

/** @returns null for bytes that are no message */
function startOf (bytes: Buffer): ReturnType<typeof readCheckStart> | null {
  try {
    return readCheckStart(bytes)
  } catch (error) {
    if (!(error instanceof EnvoyFault)) throw error
    return null
  }
}

/**
 * A cut body could hide anything, and so could one that is not there: Envoy removes `transfer-encoding`, and HTTP/2 has none.
 * @param declared `content-length` of the client
 */
function problemOf ({ method, body, isText, size }: CheckedRequest, declared: string | null, { headers }: MeshRequest): Rejection | null {
  // Clients can send the header too, so it may have several values.
  if (String(headers[PARTIAL] ?? '').includes('true')) return tooLarge(body.length)
  if (body.length === 0 && size === 0) {
    if (declared === '0' || (declared === null && BODILESS.has(method))) return null
    return meshUnfit(declared === null ? UNDECLARED : NO_BODY)
  }
  if (size !== body.length || (declared !== null && Number(declared) !== body.length)) {
    return body.length === 0 ? meshUnfit(NO_BODY) : tooLarge(body.length)
  }
  return isText && isGrpc(headers['content-type']) ? meshUnfit(AS_TEXT) : null
}

/** Requests that have no body unless they declare one. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])
/** The call is over for the gateway. */
const OVER: Forwarding = { abort: ignore, resume: ignore }
const HEAD = { ':status': 200, 'content-type': 'application/grpc' } as const
const MORE = { waitForTrailers: true } as const
const LAST = { endStream: true } as const

function ignore (): void {}
