/**
 * Handles connections that bring no request, or end within a request: responds unless another response is in progress, counts the error,
 * and closes the connection.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { guarded, ignoreErrors, listen, listenOnce, ownerOf, run } from '#guard.js'
import { decisionHeader } from '#a2a/errors.js'
import type { Log } from '#telemetry/log.js'
import type { ClientError, Metrics } from '#telemetry/metrics/metrics.js'

interface ClientFault {
  readonly kind: ClientError
  /** Status line without the version. */
  readonly status: string
  readonly rule: string
  readonly message: string
}

const MALFORMED: ClientFault = {
  kind: 'malformed',
  status: '400 Bad Request',
  rule: 'gateway/malformed',
  message: 'The request is not valid HTTP/1.1.'
}

const BY_CODE: ReadonlyMap<string, ClientFault> = new Map<string, ClientFault>([
  [
    'HPE_HEADER_OVERFLOW',
    {
      kind: 'header_overflow',
      status: '431 Request Header Fields Too Large',
      rule: 'gateway/header-size',
      message: 'The request line and the headers are too large.'
    }
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    { kind: 'timeout', status: '408 Request Timeout', rule: 'gateway/request-timeout', message: 'The request did not arrive in time.' }
  ],
  [
    'HPE_CHUNK_EXTENSIONS_OVERFLOW',
    {
      kind: 'other',
      status: '413 Content Too Large',
      rule: 'gateway/chunk-extensions',
      message: 'The chunk extensions of the body are too large.'
    }
  ]
])

/** Error codes of a client that closes its end of the connection, which is allowed at any time. */
const LEFT: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/**
 * Error codes of a TLS connection, such as a plain HTTP request (ERR_SSL_HTTP_REQUEST) or a missing client certificate. The client cannot
 * receive a response.
 */
const TLS = /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/

/**
 * Milliseconds that a client has to read the response and to stop sending. Closing at once would reset the connection, and the client might
 * never see the response.
 */
const LINGER = 1_000

interface Options { readonly metrics: Metrics, readonly log: Log }

/** Node's own property: the response that currently uses the connection. */
type Busy = Socket & { readonly _httpMessage?: ServerResponse | null }

/** Creates the handler for Fastify's `clientErrorHandler`. */
export function clientErrorHandler ({ metrics, log }: Options): (error: Error & { code?: string }, socket: Socket) => void {
  const sockets = new WeakSet<Socket>()
  const handleClientError = (error: Error & { code?: string }, socket: Socket): void => {
    const code = error.code ?? ''
    // Further data while the connection lingers raises the same error again.
    if (sockets.has(socket)) return
    sockets.add(socket)
    if (LEFT.has(code)) {
      socket.destroy()
      return
    }
    if (TLS.test(code)) {
      handshakeFailed({ metrics, log }, error.message, socket.remoteAddress)
      socket.destroy()
      return
    }
    const rejection = BY_CODE.get(code) ?? (code.startsWith('HPE_') ? MALFORMED : { ...MALFORMED, kind: 'other' })
    metrics.add('client_errors_total', rejection.kind)
    log.info({ kind: rejection.kind, code, client: socket.remoteAddress }, 'a connection without a request')
    const responding = (socket as Busy)._httpMessage ?? null
    // A response that has begun, or that is due for an earlier request, must not be mixed with this response.
    if (!socket.writable || (responding !== null && (responding.headersSent || responding.req.complete))) {
      socket.destroy()
      return
    }
    ignoreErrors(socket)
    socket.end(response(rejection))
    const owner = ownerOf('http', () => { socket.destroy() })
    const timer = setTimeout(guarded(owner, () => { socket.destroy() }), LINGER).unref()
    listenOnce(owner, socket, 'close', () => { clearTimeout(timer) })
  }
  return (error, socket) => { run(ownerOf('http', () => { socket.destroy() }), () => { handleClientError(error, socket) }) }
}

/** Counts and logs a TLS connection that ends before any request. @param client address of the client */
export function handshakeFailed ({ metrics, log }: Options, reason: string, client: string | undefined): void {
  metrics.add('client_errors_total', 'tls_handshake')
  log.info({ kind: 'tls_handshake', reason, client }, 'a TLS connection without a request')
}

/** Counts connections that Node closes before any request, because the number of connections has reached `limits.connections`. */
export function countDropped (server: Server, metrics: Metrics): void {
  listen(ownerOf('http'), server, 'drop', () => { metrics.add('client_errors_total', 'dropped') })
}

function response ({ status, rule, message }: ClientFault): string {
  const body = JSON.stringify({ error: { code: Number.parseInt(status, 10), message } })
  return [
    `HTTP/1.1 ${status}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `Gateway-Decision: ${decisionHeader(rule)}`,
    'Connection: close',
    '',
    body
  ].join('\r\n')
}
