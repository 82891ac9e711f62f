/** A listener of HTTP/2 in clear text with prior knowledge (h2c), or over TLS: for gRPC clients, and for proxies of a mesh. */
import { constants, createSecureServer, createServer } from 'node:http2'
import type { Http2SecureServer, Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream, ServerOptions } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { hostPortText } from '#config/listeners/host-port.js'
import type { Config, ListenerTlsConfig } from '#config/model/model.js'
import type { Place } from '#guard.js'
import { endOwner, listen, ownerOf } from '#guard.js'
import type { ClientError } from '#telemetry/metrics/metrics.js'
import { handshakeFailed } from './client-errors.js'
import { ListenerCertificate, requireCertificates, tlsOptions } from './listener-tls.js'
import type { ListenerName } from '#config/listeners/host-port.js'
import { Connections } from './http2-connections.js'
import type { GrpcFrontOptions, IncomingCall } from '../grpc/front.js'
import type { HostPort } from '#config/model/listener-model.js'

/** Bytes that a client may send on one call before the gateway has read them. */
export const STREAM_WINDOW = 262_144
/** Megabytes of one connection within Node: a proxy in front has the calls of many clients on one. */
const SESSION_MEMORY = 64
/** Header lines: official clients send a line for each extension. Their bytes are bounded by `limits.headers`. */
const HEADER_LINES = 1_024
/** Invalid frames and rejected streams of one connection, after which Node closes it. */
const INVALID_FRAMES = 100

/** Error codes of nghttp2 and TLS for a peer that speaks no HTTP/2. */
const TLS = /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/
const LEFT: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/** Arguments of Node's event `stream`. */
type StreamArguments = readonly [stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: string[]]

/** Takes the calls of a listener. */
export interface CallHandler {
  handle (call: IncomingCall): void
}

export interface ListenerOptions extends Pick<GrpcFrontOptions, 'services' | 'snapshot'> {
  readonly name: ListenerName
  readonly tls: ListenerTlsConfig | null
  /** Place of the TLS settings, for messages. */
  readonly place: string
  /** `SETTINGS_MAX_CONCURRENT_STREAMS` of RFC 9113 §6.5.2. */
  readonly maxConcurrentStreams: number
  /** True when only proxies connect: each has the calls of many clients on a connection, and Envoy ends each with RST_STREAM. */
  readonly proxies: boolean
}

/** Beyond these, Node 22 and later take streams that are reset for an attack. Their types do not know the settings. */
const RESETS = { streamResetBurst: 1_000_000, streamResetRate: 100_000 }

export class Http2Listener {
  readonly server: Http2Server | Http2SecureServer
  private readonly connections: Connections
  private readonly certificate: ListenerCertificate

  /** @throws Error with a readable message when a file of TLS cannot be used */
  constructor (front: CallHandler, { name, tls, place, maxConcurrentStreams, proxies, services, snapshot }: ListenerOptions) {
    const { limits } = snapshot()
    const { metrics, log } = services
    const part: Place = proxies ? 'mesh' : 'grpc'
    const options = { ...optionsOf(maxConcurrentStreams, limits.headers), ...(proxies ? RESETS : {}) }
    const server = tls === null
      ? createServer(options)
      : createSecureServer({ ...options, ...tlsOptions(tls, limits.headersTimeout, place), ALPNProtocols: ['h2'], allowHTTP1: false })
    this.server = server
    const connections = new Connections({
      metrics,
      log,
      part,
      idleTimeout: () => snapshot().limits.idleTimeout,
      isShared: address => proxies || snapshot().trusted.trusts(address)
    })
    this.connections = connections
    this.certificate = new ListenerCertificate(server, log, place)
    this.certificate.use(tls)
    const failed = (kind: ClientError, error: Error & { code?: string }, socket?: Socket): void => {
      if (LEFT.has(error.code ?? '')) return
      if (TLS.test(error.code ?? '')) return handshakeFailed(services, error.message, socket?.remoteAddress)
      metrics.add('client_errors_total', kind)
      log.info({ kind, code: error.code, client: socket?.remoteAddress }, 'a gRPC connection without a call')
    }
    const owner = ownerOf(part)
    // Node gives no access to the socket of a session after its end; the events follow each other at once.
    let accepted: Socket | null = null
    // eslint-disable-next-line no-restricted-syntax -- the listener cannot throw
    server.prependListener(tls === null ? 'connection' : 'secureConnection', (socket: Socket) => { accepted = socket })
    // After an error of this listener, the session is unknown, and gets no calls.
    listen(owner, server, 'session', (session: ServerHttp2Session) => { if (accepted !== null) connections.add(session, accepted) })
    if (tls !== null) {
      const rejected = (reason: string, client: string | undefined): void => { handshakeFailed(services, reason, client) }
      requireCertificates(server as Http2SecureServer, tls.clientCertificate, rejected)
    }
    listen(owner, server, 'tlsClientError', (error: Error, socket: Socket) => { failed('tls_handshake', error, socket) })
    listen(owner, server, 'unknownProtocol', (socket: Socket) => {
      socket.destroy()
      failed('malformed', new Error('no HTTP/2'), socket)
    })
    listen(owner, server, 'sessionError', (error: Error) => { failed('malformed', error) })
    listen(owner, server, 'drop', () => { metrics.add('client_errors_total', 'dropped') })
    // eslint-disable-next-line no-restricted-syntax -- the listener guards itself: only it knows the stream
    server.on('stream', (...[stream, headers, , raw]: StreamArguments) => {
      try {
        const { session } = stream
        const connection = connections.begin(session)
        if (connection === null) return stream.destroy()
        const { socket } = connection
        const onClose = (own?: boolean): void => { connection.finished(own === true ? 0 : stream.rstCode ?? 0) }
        front.handle({ stream, headers, raw, socket, listener: name, onClose })
      } catch (error) {
        endOwner(ownerOf(part, () => { stream.close(constants.NGHTTP2_INTERNAL_ERROR) }), error)
      }
    })
    this.set(limits)
  }

  /** Puts other limits and other files of TLS in force, for new connections. */
  use (tls: ListenerTlsConfig | null, limits: Config['limits']): void {
    this.certificate.use(tls)
    this.set(limits)
  }

  /** @throws Error when the address is taken */
  async listen ({ host, port }: HostPort): Promise<void> {
    const { server } = this
    await new Promise<void>((resolve, reject) => {
      // eslint-disable-next-line no-restricted-syntax -- before any connection
      server.once('error', reject)
      server.listen({ host, port }, () => {
        server.off('error', reject)
        resolve()
      })
    })
  }

  /** `host:port`, once it listens. @param host as the configuration has it */
  addressAt (host: string): string {
    return hostPortText({ host, port: (this.server.address() as AddressInfo).port })
  }

  /** Stops accepting, and asks clients to leave. Calls in flight go on. */
  drain (): void {
    this.server.close()
    this.connections.drain()
  }

  /** Ends the connections that are still open. */
  close (): void {
    this.server.close()
    this.connections.close()
  }

  private set ({ connections }: Config['limits']): void {
    this.server.maxConnections = connections === 0 ? Infinity : connections
  }
}

function optionsOf (maxConcurrentStreams: number, headers: number): ServerOptions {
  return {
    settings: {
      enablePush: false,
      maxConcurrentStreams,
      initialWindowSize: STREAM_WINDOW,
      maxHeaderListSize: headers
    },
    maxHeaderListPairs: HEADER_LINES,
    maxSessionInvalidFrames: INVALID_FRAMES,
    maxSessionRejectedStreams: INVALID_FRAMES,
    maxSessionMemory: SESSION_MEMORY
  }
}
