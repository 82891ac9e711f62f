/**
 * A small Envoy on the real gRPC client: takes a request of a client, asks the gateway, calls an agent, and returns what the client gets.
 * It applies mutations as Envoy 1.40 does.
 */
import * as grpc from '@grpc/grpc-js'
import type { Test } from 'tap'
import { codec } from './envoy-proto.js'

export type Lines = readonly (readonly [string, string])[]

/** A request of a client, with pseudo-headers apart. */
export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly host?: string
  readonly headers?: Lines
  readonly body?: Buffer | string
}

/** A response of the agent. Chunks of the body, and trailers. */
export interface Answer {
  readonly status?: number
  readonly headers?: Lines
  readonly chunks?: readonly (Buffer | string)[]
  readonly trailers?: Lines
}

/** What a client gets, and what the agent got. */
export interface Got {
  status: number
  headers: [string, string][]
  body: string
  trailers: [string, string][]
  grpcStatus: number | null
  /** The response of the gateway itself. */
  own: boolean
  /** Envoy resets the response of the client. */
  cut: boolean
  /** Null: the agent got no request. */
  agent: { headers: [string, string][], body: string } | null
  /** Kinds of all messages, in order: `> request_headers`, `< request_headers`. */
  log: string[]
  /** The stream is over before the response was: the rest went by without the gateway. */
  letGo: boolean
}

interface HeaderOption {
  readonly header: { readonly key: string, readonly value?: string, readonly rawValue?: Buffer }
  readonly append?: { readonly value: boolean }
}
interface CheckReply {
  readonly status?: { readonly code?: number }
  readonly deniedResponse?: { readonly status: { readonly code: number }, readonly headers?: HeaderOption[], readonly body?: string }
  readonly okResponse?: { readonly headers?: HeaderOption[], readonly headersToRemove?: string[] }
}

interface Mutation { readonly setHeaders?: readonly HeaderOption[], readonly removeHeaders?: readonly string[] }
interface BodyMutation {
  readonly body?: Buffer
  readonly clearBody?: boolean
  readonly streamedResponse?: { readonly body?: Buffer, readonly endOfStream?: boolean }
}
interface Common { readonly response?: { readonly headerMutation?: Mutation, readonly bodyMutation?: BodyMutation } }
export interface ProcessingReply {
  readonly requestHeaders?: Common
  readonly requestBody?: Common
  readonly requestTrailers?: { readonly headerMutation?: Mutation }
  readonly responseHeaders?: Common
  readonly responseBody?: Common
  readonly responseTrailers?: { readonly headerMutation?: Mutation }
  readonly immediateResponse?: {
    readonly status: { readonly code: number }
    readonly headers?: Mutation
    readonly body?: string
    readonly grpcStatus?: { readonly status: number }
    readonly details?: string
  }
  readonly modeOverride?: {
    readonly responseHeaderMode?: number
    readonly requestBodyMode?: number
    readonly responseBodyMode?: number
    readonly responseTrailerMode?: number
  }
}

/** A `Value` of a JSON value. */
export function protoValue (value: unknown): object {
  if (value === null) return { nullValue: 0 }
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return { numberValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (Array.isArray(value)) return { listValue: { values: value.map(protoValue) } }
  return { structValue: protoStruct(value as object) }
}

function protoStruct (value: object): object {
  return { fields: Object.fromEntries(Object.entries(value).map(([key, one]) => [key, protoValue(one)])) }
}

/** `Metadata` with the values of namespaces. */
export function protoMetadata (filters: Readonly<Record<string, object>>): object {
  return { filterMetadata: Object.fromEntries(Object.entries(filters).map(([namespace, one]) => [namespace, protoStruct(one)])) }
}

export const MODE = { NONE: 0, STREAMED: 1, BUFFERED: 2, BUFFERED_PARTIAL: 3, FULL_DUPLEX_STREAMED: 4 } as const

const CHECK = '/envoy.service.auth.v3.Authorization/Check'
const PROCESS = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

export interface ProcOptions {
  readonly request?: number
  readonly response?: number
  /** `allow_mode_override`. */
  readonly overrides?: boolean
  /** `response_header_mode: SEND`. */
  readonly responses?: boolean
  /** What filters of Envoy have written, by namespace. */
  readonly filters?: Readonly<Record<string, object>>
  /** The name of the agent as an attribute. */
  readonly attribute?: string
  /** Initial metadata. */
  readonly agent?: string
  /** No `protocol_config`, as before Envoy 1.33. */
  readonly old?: boolean
  /** `response_header_mode: SKIP` with bodies. */
  readonly headless?: boolean
  /** As agentgateway: a stream that ends before the response is complete fails the call. */
  readonly strict?: boolean
}

export interface CheckOptions {
  /** What filters of Envoy have written, by namespace. */
  readonly filters?: Readonly<Record<string, object>>
  /** Metadata of the route, by namespace. */
  readonly route?: Readonly<Record<string, object>>
  /** In `context_extensions`. */
  readonly agent?: string
  /** In the metadata of the call. */
  readonly metadata?: string
  /** Bytes of the body that Envoy shows. */
  readonly cut?: number
  readonly size?: number
  /** Without `pack_as_bytes`. */
  readonly text?: boolean
  /** Without `encode_raw_headers`. */
  readonly joined?: boolean
}

export interface Envoy {
  check (sent: Sent, options?: CheckOptions): Promise<Got>
  /** Status of the health service. */
  health (): Promise<number>
  /** @param answer of the agent */
  process (sent: Sent, answer: Answer | null, options?: ProcOptions): Promise<Got>
  /** The stream itself, for tests of the protocol. */
  open (agent?: string, peer?: 'envoy' | 'other'): grpc.ClientDuplexStream<object, ProcessingReply>
}

/** @param address of the listener for a mesh */
export function envoyFor (t: Test, address: string): Envoy {
  const client = new grpc.Client(address, grpc.credentials.createInsecure())
  t.teardown(() => { client.close() })
  const requests = codec('ProcessingRequest')
  const replies = codec('ProcessingResponse')
  const open = (agent?: string, peer: 'envoy' | 'other' = 'envoy'): grpc.ClientDuplexStream<object, ProcessingReply> => {
    const metadata = new grpc.Metadata()
    if (peer === 'envoy') metadata.set('x-envoy-internal', 'true')
    if (agent !== undefined) metadata.set('a2a-agent', agent)
    return client.makeBidiStreamRequest(PROCESS, requests.encode, bytes => replies.decode(bytes) as ProcessingReply, metadata)
  }
  return {
    open,
    health: async () => await new Promise((resolve, reject) => {
      const empty = (): Buffer => Buffer.alloc(0)
      client.makeUnaryRequest('/grpc.health.v1.Health/Check', empty, bytes => bytes, {}, (error, value) => {
        if (error === null) resolve((value as Buffer)[1] ?? 0)
        else reject(error)
      })
    }),
    check: async (sent, options = {}) => await check(client, sent, options),
    process: async (sent, answer, options = {}) => await new Processing(open(options.agent, options.strict === true ? 'other' : 'envoy'), sent, answer, options).result
  }
}

function fresh (): Got {
  return { status: 0, headers: [], body: '', trailers: [], grpcStatus: null, own: false, cut: false, agent: null, log: [], letGo: false }
}

export function pseudo ({ method = 'POST', path = '/', host = 'agents.test', headers = [] }: Sent): [string, string][] {
  const own: Lines = [[':method', method], [':path', path], [':authority', host], [':scheme', 'http']]
  return [...own, ...headers].map(([name, value]) => [name, value])
}

function mapOf (lines: Lines): object {
  return { headers: lines.map(([key, value]) => ({ key, rawValue: Buffer.from(value, 'latin1') })) }
}

function bytesOf (body: Buffer | string | undefined): Buffer {
  return body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(body)
}

/** As Envoy: the first of a name replaces unless `append` is set, and `append` adds a line. */
function mutate (lines: [string, string][], { setHeaders = [], removeHeaders = [] }: Mutation, form: 'raw' | 'text' = 'raw'): void {
  for (const name of removeHeaders) remove(lines, name)
  for (const { header: { key, value, rawValue }, append } of setHeaders) {
    if (append?.value !== true) remove(lines, key)
    lines.push([key, form === 'raw' ? rawValue?.toString('latin1') ?? '' : value ?? ''])
  }
}

function remove (lines: [string, string][], name: string): void {
  for (let i = lines.length - 1; i >= 0; i--) if (lines[i]?.[0] === name) lines.splice(i, 1)
}

async function check (client: grpc.Client, sent: Sent, options: CheckOptions): Promise<Got> {
  const { agent, metadata, cut, size, joined, text, filters, route } = options
  const got = fresh()
  const body = bytesOf(sent.body)
  const shown = cut === undefined ? body : body.subarray(0, cut)
  const lines = pseudo(sent)
  const http = {
    method: sent.method ?? 'POST',
    path: sent.path ?? '/',
    host: sent.host ?? 'agents.test',
    scheme: 'http',
    ...(text === true ? { body: shown.toString() } : { rawBody: shown }),
    size: size ?? body.length,
    ...(joined === true ? { headers: Object.fromEntries(lines) } : { headerMap: mapOf(lines) })
  }
  const attributes = {
    request: { http },
    contextExtensions: agent === undefined ? {} : { 'a2a-agent': agent },
    ...(filters === undefined ? {} : { metadataContext: protoMetadata(filters) }),
    ...(route === undefined ? {} : { routeMetadataContext: protoMetadata(route) })
  }
  const named = new grpc.Metadata()
  if (metadata !== undefined) named.set('a2a-agent', metadata)
  const response = await new Promise<CheckReply>((resolve, reject) => {
    const { encode } = codec('CheckRequest')
    const { decode } = codec('CheckResponse')
    client.makeUnaryRequest(CHECK, encode, decode, { attributes }, named, (error, value) => {
      if (error === null) resolve(value as CheckReply)
      else reject(error)
    })
  })
  const { deniedResponse: denied, okResponse: ok } = response
  if ((response.status?.code ?? 0) !== 0) {
    got.own = true
    got.status = denied?.status.code ?? 403
    mutate(got.headers, { setHeaders: denied?.headers ?? [] }, 'text')
    got.body = denied?.body ?? ''
    return got
  }
  // Envoy appends only to headers that are there.
  const headers = lines
  for (const { header, append } of ok?.headers ?? []) {
    if (append?.value !== true) mutate(headers, { setHeaders: [{ header }] }, 'text')
    else throw new Error(`ext_authz joins appended lines: ${header.key}`)
  }
  for (const name of ok?.headersToRemove ?? []) remove(headers, name)
  got.agent = { headers, body: body.toString('latin1') }
  return got
}

/** One call through ext_proc. */
class Processing {
  readonly result: Promise<Got>
  private readonly got = fresh()
  private readonly stream: grpc.ClientDuplexStream<object, ProcessingReply>
  private readonly answer: Answer | null
  private readonly options: ProcOptions
  private readonly lines: [string, string][]
  private readonly requestBody: Buffer
  private resolve: (got: Got) => void = () => {}
  private reject: (error: Error) => void = () => {}
  private requestMode: number
  private responseMode: number
  private shows: boolean
  private trailersShown = false
  private phase: 'request' | 'response' | 'over' = 'request'
  private duplexOut: Buffer[] = []

  constructor (stream: grpc.ClientDuplexStream<object, ProcessingReply>, sent: Sent, answer: Answer | null, options: ProcOptions) {
    this.stream = stream
    this.answer = answer
    this.options = options
    this.requestMode = options.request ?? MODE.BUFFERED
    this.responseMode = options.response ?? MODE.NONE
    this.shows = options.responses ?? false
    this.lines = pseudo(sent)
    this.requestBody = bytesOf(sent.body)
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    stream.on('data', (reply: ProcessingReply) => {
      try {
        this.take(reply)
      } catch (error) {
        this.reject(error as Error)
      }
    })
    stream.on('error', (error: grpc.ServiceError) => {
      if (this.phase === 'over') return
      this.got.log.push(`error ${error.code}`)
      this.phase = 'over'
      this.got.status = 500
      this.got.own = true
      this.resolve(this.got)
    })
    stream.on('end', () => { this.closed() })
    const protocolConfig = { requestBodyMode: this.requestMode, responseBodyMode: this.responseMode }
    const noBody = this.requestBody.length === 0
    this.send('request_headers', {
      requestHeaders: { headers: mapOf(this.lines), endOfStream: noBody },
      ...(options.old === true ? {} : { protocolConfig }),
      ...(options.filters === undefined ? {} : { metadataContext: protoMetadata(options.filters) }),
      ...(options.attribute === undefined ? {} : { attributes: { 'envoy.filters.http.ext_proc': { fields: { 'a2a-agent': { stringValue: options.attribute } } } } })
    })
    if (this.isDuplex && !noBody) this.chunks('request', [this.requestBody.subarray(0, 7), this.requestBody.subarray(7)])
  }

  private get isDuplex (): boolean {
    return this.requestMode === MODE.FULL_DUPLEX_STREAMED
  }

  private send (kind: string, message: object): void {
    this.got.log.push(`> ${kind}`)
    this.stream.write(message)
  }

  private chunks (of: 'request' | 'response', chunks: readonly Buffer[], ends = true): void {
    chunks.forEach((body, i) => { this.send(`${of}_body`, { [`${of}Body`]: { body, endOfStream: ends && i === chunks.length - 1 } }) })
  }

  private take (reply: ProcessingReply): void {
    const { got } = this
    const kind = Object.keys(reply).find(key => key !== 'modeOverride') ?? ''
    got.log.push(`< ${kind.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)}`)
    if (this.phase === 'over') return
    const isDuplex = this.isDuplex || this.responseMode === MODE.FULL_DUPLEX_STREAMED
    if (reply.modeOverride !== undefined && this.options.overrides !== false && !isDuplex) {
      this.requestMode = reply.modeOverride.requestBodyMode ?? 0
      this.responseMode = reply.modeOverride.responseBodyMode ?? 0
      if (reply.modeOverride.responseHeaderMode === 1) this.shows = true
      this.trailersShown = reply.modeOverride.responseTrailerMode === 1
    }
    const { immediateResponse: immediate } = reply
    if (immediate !== undefined) {
      got.own = true
      got.cut = got.status !== 0
      got.status = immediate.status.code
      got.headers = []
      mutate(got.headers, immediate.headers ?? {})
      got.body = immediate.body ?? ''
      got.grpcStatus = immediate.grpcStatus?.status ?? null
      return this.over()
    }
    if (reply.requestHeaders !== undefined) return this.requestHeaders(reply.requestHeaders)
    if (reply.requestBody !== undefined) return this.requestBodyReply(reply.requestBody)
    if (reply.responseHeaders !== undefined) return this.responseHeaders(reply.responseHeaders)
    if (reply.responseBody !== undefined) return this.responseBody(reply.responseBody)
    if (reply.responseTrailers !== undefined) {
      got.trailers = this.trailers()
      mutate(got.trailers, reply.responseTrailers.headerMutation ?? {})
      this.over()
    }
  }

  private requestHeaders ({ response }: Common): void {
    mutate(this.lines, response?.headerMutation ?? {})
    if (this.requestBody.length === 0) return this.toAgent(Buffer.alloc(0))
    if (this.requestMode === MODE.BUFFERED) this.send('request_body', { requestBody: { body: this.requestBody, endOfStream: true } })
    else if (this.requestMode === MODE.NONE) this.toAgent(this.requestBody)
  }

  private requestBodyReply ({ response }: Common): void {
    const mutation = response?.bodyMutation
    if (this.isDuplex) {
      const { body = Buffer.alloc(0), endOfStream } = mutation?.streamedResponse ?? {}
      this.duplexOut.push(body)
      if (endOfStream === true) this.toAgent(Buffer.concat(this.duplexOut))
      return
    }
    mutate(this.lines, response?.headerMutation ?? {})
    this.toAgent(mutation?.clearBody === true ? Buffer.alloc(0) : mutation?.body ?? this.requestBody)
  }

  private toAgent (body: Buffer): void {
    this.got.agent = { headers: this.lines, body: body.toString('latin1') }
    this.phase = 'response'
    this.duplexOut = []
    // The gateway may end the stream right behind its reply.
    setTimeout(() => { this.respond() }, 20)
  }

  private respond (): void {
    const { answer } = this
    if (this.phase !== 'response') return
    if (answer === null) {
      this.stream.cancel()
      return this.over()
    }
    if (this.options.headless === true) return this.chunks('response', this.pieces())
    if (!this.shows) {
      this.raw()
      return this.over()
    }
    const none = (answer.chunks ?? []).length === 0 && answer.trailers === undefined
    this.send('response_headers', { responseHeaders: { headers: mapOf([[':status', String(answer.status ?? 200)], ...answer.headers ?? []]), endOfStream: none } })
    if (this.responseMode !== MODE.FULL_DUPLEX_STREAMED) return
    this.chunks('response', this.pieces(), answer.trailers === undefined)
    if (answer.trailers !== undefined) this.send('response_trailers', { responseTrailers: { trailers: mapOf(this.trailers()) } })
  }

  /** The client gets the response of the agent without the gateway. */
  private raw (): void {
    const { answer, got } = this
    got.status = answer?.status ?? 200
    got.headers = (answer?.headers ?? []).map(([name, value]) => [name, value])
    got.body = Buffer.concat(this.pieces()).toString('latin1')
    got.trailers = this.trailers()
  }

  private pieces (): Buffer[] {
    return (this.answer?.chunks ?? []).map(bytesOf)
  }

  private trailers (): [string, string][] {
    return (this.answer?.trailers ?? []).map(([name, value]) => [name, value])
  }

  private next = 0
  private held: [string, string][] = []

  private responseHeaders ({ response }: Common): void {
    const { got, answer } = this
    const lines: [string, string][] = (answer?.headers ?? []).map(([name, value]) => [name, value])
    mutate(lines, response?.headerMutation ?? {})
    if (this.responseMode === MODE.BUFFERED) {
      this.held = lines
      const whole = Buffer.concat(this.pieces())
      this.send('response_body', { responseBody: { body: whole, endOfStream: answer?.trailers === undefined } })
      return
    }
    got.status = answer?.status ?? 200
    got.headers = lines
    if (this.responseMode === MODE.NONE || (answer?.chunks ?? []).length === 0) {
      got.body = Buffer.concat(this.pieces()).toString('latin1')
      if (!this.trailersShown || answer?.trailers === undefined) {
        got.trailers = this.trailers()
        return this.over()
      }
      return this.send('response_trailers', { responseTrailers: { trailers: mapOf(this.trailers()) } })
    }
    if (this.responseMode === MODE.STREAMED) this.nextChunk()
  }

  private nextChunk (): void {
    const pieces = this.pieces()
    const body = pieces[this.next++]
    if (body !== undefined) {
      return this.send('response_body', { responseBody: { body, endOfStream: this.next === pieces.length && this.answer?.trailers === undefined } })
    }
    if (this.answer?.trailers !== undefined && this.trailersShown) {
      return this.send('response_trailers', { responseTrailers: { trailers: mapOf(this.trailers()) } })
    }
    this.got.trailers = this.trailers()
    this.over()
  }

  private responseBody ({ response }: Common): void {
    const { got } = this
    const mutation = response?.bodyMutation
    const changed = (original: Buffer): string => (mutation?.clearBody === true ? Buffer.alloc(0) : mutation?.body ?? original).toString('latin1')
    if (this.responseMode === MODE.FULL_DUPLEX_STREAMED) {
      got.body += mutation?.streamedResponse?.body?.toString('latin1') ?? ''
      if (mutation?.streamedResponse?.endOfStream === true) this.over()
      return
    }
    if (this.responseMode === MODE.BUFFERED) {
      mutate(this.held, response?.headerMutation ?? {})
      got.status = this.answer?.status ?? 200
      got.headers = this.held
      got.body = changed(Buffer.concat(this.pieces()))
      this.next = this.pieces().length
      return this.nextChunk()
    }
    got.body += changed(this.pieces()[this.next - 1] ?? Buffer.alloc(0))
    this.nextChunk()
  }

  /** The gateway has ended the stream: Envoy goes on without it. */
  private closed (): void {
    if (this.phase === 'over') return
    const { got } = this
    got.letGo = true
    if (this.options.strict === true) {
      got.status = 500
      return this.over()
    }
    if (this.phase === 'request') {
      got.agent ??= { headers: this.lines, body: this.requestBody.toString('latin1') }
      this.raw()
    } else if (got.status === 0) this.raw()
    else got.body += Buffer.concat(this.pieces().slice(this.next)).toString('latin1')
    this.over()
  }

  private over (): void {
    if (this.phase === 'over') return
    this.phase = 'over'
    // As Envoy does by default.
    setTimeout(() => {
      this.stream.cancel()
      this.resolve(this.got)
    }, 5)
  }
}
