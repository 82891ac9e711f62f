/** Classifies failures between gateway and agent into a closed set: the `kind` label of `upstream_errors_total`. */
import type { Rejection } from '#a2a/errors.js'

export type FailureKind =
  | 'refused'
  | 'dns'
  | 'connect_timeout'
  | 'tls'
  | 'reset'
  | 'headers_timeout'
  | 'body_timeout'
  | 'queue_timeout'
  | 'total_timeout'
  | 'protocol'
  | 'too_large'
  | 'redirect'
  | 'resources'
  | 'other'

const WAITED = {
  queue_timeout: 'no connection became free within upstream.timeouts.queue',
  headers_timeout: 'no response within upstream.timeouts.headers',
  body_timeout: 'no further data of the response within upstream.timeouts.idle',
  total_timeout: 'the response was not complete within upstream.timeouts.total'
}

/** The gateway itself stopped waiting. */
export class GivenUp extends Error {
  readonly kind: keyof typeof WAITED

  constructor (kind: GivenUp['kind']) {
    super(WAITED[kind])
    this.kind = kind
  }
}

const BY_CODE: ReadonlyMap<string, FailureKind> = new Map<string, FailureKind>([
  ['ECONNREFUSED', 'refused'],
  ['EHOSTUNREACH', 'refused'],
  ['ENETUNREACH', 'refused'],
  ['ENOTFOUND', 'dns'],
  ['EAI_AGAIN', 'dns'],
  ['EAI_FAIL', 'dns'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connect_timeout'],
  ['ETIMEDOUT', 'connect_timeout'],
  ['ECONNRESET', 'reset'],
  ['EPIPE', 'reset'],
  ['UND_ERR_SOCKET', 'reset'],
  ['UND_ERR_HEADERS_TIMEOUT', 'headers_timeout'],
  ['UND_ERR_BODY_TIMEOUT', 'body_timeout'],
  ['UND_ERR_HEADERS_OVERFLOW', 'protocol'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'protocol'],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'too_large'],
  // The machine has no descriptor, port or memory left for a connection.
  ['EMFILE', 'resources'],
  ['ENFILE', 'resources'],
  ['ENOBUFS', 'resources'],
  ['ENOMEM', 'resources'],
  ['EADDRNOTAVAIL', 'resources'],
  ['UND_ERR_INVALID_ARG', 'other'],
  ['ERR_HTTP2_ERROR', 'protocol'],
  ['ERR_HTTP2_SESSION_ERROR', 'reset'],
  ['ERR_HTTP2_STREAM_ERROR', 'reset'],
  ['ERR_HTTP2_INVALID_SESSION', 'reset'],
  ['ERR_HTTP2_GOAWAY_SESSION', 'reset']
])

const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH_EXCEEDED|CRL_)/

/** @param error as undici or Node's sockets raise it; the first error decides the kind of an AggregateError (several addresses tried) */
export function failureKind (error: unknown): FailureKind {
  if (error instanceof GivenUp) return error.kind
  let fallback: FailureKind = 'other'
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth++) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
    const kind = BY_CODE.get(code)
    // The cause of a closed socket may contain the reason.
    if (kind === 'reset') fallback = kind
    else if (kind !== undefined) return kind
    if (TLS_CODE.test(code)) return 'tls'
    // undici 7 intends to give its parser's errors an HPE_ code, but omits it.
    if (code.startsWith('HPE_') || cause.name === 'HTTPParserError') return 'protocol'
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  }
  return fallback
}

const SENTENCE: Readonly<Record<FailureKind, string>> = {
  refused: 'The agent could not be reached: connection refused.',
  dns: 'The agent could not be reached: its host name does not resolve.',
  connect_timeout: 'The agent could not be reached: connecting took too long.',
  tls: 'The agent could not be reached: its TLS certificate was not accepted.',
  reset: 'The agent closed the connection before it responded.',
  headers_timeout: 'The agent did not respond in time.',
  body_timeout: 'The agent stopped sending before its response was complete.',
  queue_timeout: 'The agent has too many calls in flight: no connection to the agent became free in time; try again later.',
  total_timeout: 'The agent did not complete its response in time.',
  protocol: 'The agent sent a response that is not HTTP.',
  too_large: "The agent's response is larger than the gateway accepts.",
  redirect:
    "The agent responded with a redirect; the gateway does not follow redirects. The interface URL in the agent's card must be the final address.",
  resources: 'The agent could not be reached: the gateway cannot open another connection at the moment; try again later.',
  other: 'The call to the agent failed.'
}

/** @param retryAfter seconds, for clients of an agent that is only busy */
export function failureRejection (kind: FailureKind, retryAfter: number): Rejection {
  const timeout = kind === 'headers_timeout' || kind === 'body_timeout' || kind === 'connect_timeout' || kind === 'total_timeout'
  const unreachable = kind === 'refused' || kind === 'dns' || kind === 'tls' || kind === 'resources'
  return {
    reason:
      kind === 'queue_timeout' ? 'OVERLOADED' : timeout ? 'UPSTREAM_TIMEOUT' : unreachable ? 'UPSTREAM_UNREACHABLE' : 'UPSTREAM_FAILED',
    message: SENTENCE[kind],
    rule: `gateway/upstream-${kind.replace('_', '-')}`,
    metadata: { kind },
    ...(kind === 'queue_timeout' ? { retryAfter } : {})
  }
}
