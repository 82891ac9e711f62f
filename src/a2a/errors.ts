/**
 * Rejections on the wire: one table of reasons, and one writer per binding and version.
 * Codes: A2A 1.0.1 §5.4; JSON-RPC shape §9.5; HTTP+JSON shape §11.6; 0.3: spec 0.3.0 §8, which has no code for a missing extension
 * (decision 5: -32008 there too) and no HTTP table.
 */
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import type { Binding, Version } from './versions.js'
import { A2A_MEDIA_TYPE } from './versions.js'

export type Reason =
  | 'EXTENSION_SUPPORT_REQUIRED'
  | 'EXTENSION_NOT_ALLOWED'
  | 'EXTENSION_DATA_INVALID'
  | 'CONTENT_TYPE_NOT_SUPPORTED'
  | 'EXTENSION_CONFLICT'
  | 'EXTENSION_DEPENDENCY_MISSING'
  | 'DELEGATION_INVALID'
  | 'DELEGATION_NOT_ALLOWED'
  | 'EXTERNAL_DECISION_DENIED'
  | 'EXTERNAL_DECISION_UNAVAILABLE'
  | 'PUSH_URL_NOT_ALLOWED'
  | 'PUSH_CONFIGS_EXHAUSTED'
  | 'TASK_NOT_FOUND'
  | 'UNSUPPORTED_OPERATION'
  | 'VERSION_NOT_SUPPORTED'
  | 'INVALID_AGENT_RESPONSE'
  | 'PARSE_ERROR'
  | 'INVALID_REQUEST'
  | 'INVALID_PARAMS'
  | 'METHOD_NOT_FOUND'
  | 'ROUTE_NOT_FOUND'
  | 'HOST_NOT_SERVED'
  | 'METHOD_NOT_ALLOWED'
  | 'CREDENTIALS_REQUIRED'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'IDENTITY_UNAVAILABLE'
  | 'RATE_LIMITED'
  | 'BUDGET_EXHAUSTED'
  | 'REQUEST_TOO_LARGE'
  | 'REQUEST_TIMEOUT'
  | 'BAD_REQUEST_TARGET'
  | 'BAD_REQUEST_HEADER'
  | 'CONTENT_ENCODING_NOT_SUPPORTED'
  | 'LOOP_DETECTED'
  | 'AGENT_NOT_READY'
  | 'GRPC_NOT_SERVED'
  | 'STATE_UNAVAILABLE'
  | 'OVERLOADED'
  | 'UPSTREAM_UNREACHABLE'
  | 'UPSTREAM_FAILED'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_CREDENTIALS_UNAVAILABLE'
  | 'INTERNAL_ERROR'

interface ReasonEntry {
  readonly rpc: number
  readonly http: number
  /** Name of the google.rpc.Code; `error.status` in HTTP+JSON 1.0. */
  readonly status: GrpcCodeName
  /** Infrastructure rejections keep their HTTP status in JSON-RPC too; protocol errors use status 200. */
  readonly infrastructure: boolean
  /**
   * The reason of A2A by which clients know the error: `self` for a reason that A2A or its SDKs define. Null if A2A has no error that fits.
   * Official clients throw an error of their own type only for a reason that they know; JavaScript throws INTERNAL_ERROR for the others,
   * which invites retries of a request that cannot succeed.
   */
  readonly protocol: ProtocolReason | 'self' | null
}

/** The errors of A2A that stand for reasons of the gateway. Each fits the HTTP status and the gRPC code of its reasons. */
type ProtocolReason = 'INVALID_PARAMS' | 'UNSUPPORTED_OPERATION'

function entry (
  rpc: number, http: number, status: GrpcCodeName, protocol: ReasonEntry['protocol'] = null, infrastructure = false
): ReasonEntry {
  return { rpc, http, status, infrastructure, protocol }
}

const infra = (http: number, status: GrpcCodeName, rpc = -32603, protocol: ReasonEntry['protocol'] = null): ReasonEntry =>
  entry(rpc, http, status, protocol, true)

export const REASONS: Readonly<Record<Reason, ReasonEntry>> = {
  EXTENSION_SUPPORT_REQUIRED: entry(-32008, 400, 'FAILED_PRECONDITION', 'self'),
  EXTENSION_NOT_ALLOWED: entry(-32004, 403, 'PERMISSION_DENIED', 'UNSUPPORTED_OPERATION'),
  EXTENSION_DATA_INVALID: entry(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  CONTENT_TYPE_NOT_SUPPORTED: entry(-32005, 400, 'INVALID_ARGUMENT', 'self'),
  EXTENSION_CONFLICT: entry(-32602, 400, 'FAILED_PRECONDITION', 'INVALID_PARAMS'),
  EXTENSION_DEPENDENCY_MISSING: entry(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  EXTERNAL_DECISION_DENIED: entry(-32004, 403, 'PERMISSION_DENIED', 'UNSUPPORTED_OPERATION'),
  EXTERNAL_DECISION_UNAVAILABLE: infra(503, 'UNAVAILABLE'),
  PUSH_URL_NOT_ALLOWED: entry(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  PUSH_CONFIGS_EXHAUSTED: entry(-32602, 400, 'FAILED_PRECONDITION', 'INVALID_PARAMS'),
  TASK_NOT_FOUND: entry(-32001, 404, 'NOT_FOUND', 'self'),
  UNSUPPORTED_OPERATION: entry(-32004, 400, 'FAILED_PRECONDITION', 'self'),
  VERSION_NOT_SUPPORTED: entry(-32009, 400, 'FAILED_PRECONDITION', 'self'),
  INVALID_AGENT_RESPONSE: entry(-32006, 500, 'INTERNAL', 'self'),
  PARSE_ERROR: entry(-32700, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  INVALID_REQUEST: entry(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'),
  INVALID_PARAMS: entry(-32602, 400, 'INVALID_ARGUMENT', 'self'),
  METHOD_NOT_FOUND: entry(-32601, 404, 'NOT_FOUND'),
  ROUTE_NOT_FOUND: infra(404, 'NOT_FOUND', -32601),
  HOST_NOT_SERVED: infra(421, 'NOT_FOUND', -32600),
  CREDENTIALS_REQUIRED: infra(401, 'UNAUTHENTICATED', -32600),
  // The only codes of an official SDK for these errors: Go (jsonrpc.go).
  UNAUTHENTICATED: infra(401, 'UNAUTHENTICATED', -31401),
  PERMISSION_DENIED: infra(403, 'PERMISSION_DENIED', -31403),
  DELEGATION_INVALID: infra(403, 'PERMISSION_DENIED', -31403),
  DELEGATION_NOT_ALLOWED: infra(403, 'PERMISSION_DENIED', -31403),
  IDENTITY_UNAVAILABLE: infra(503, 'UNAVAILABLE'),
  RATE_LIMITED: infra(429, 'RESOURCE_EXHAUSTED'),
  BUDGET_EXHAUSTED: infra(429, 'RESOURCE_EXHAUSTED'),
  METHOD_NOT_ALLOWED: infra(405, 'UNIMPLEMENTED', -32600),
  REQUEST_TOO_LARGE: infra(413, 'OUT_OF_RANGE'),
  REQUEST_TIMEOUT: infra(408, 'DEADLINE_EXCEEDED'),
  BAD_REQUEST_TARGET: infra(400, 'INVALID_ARGUMENT', -32600, 'INVALID_PARAMS'),
  BAD_REQUEST_HEADER: infra(400, 'INVALID_ARGUMENT', -32600, 'INVALID_PARAMS'),
  CONTENT_ENCODING_NOT_SUPPORTED: infra(415, 'INVALID_ARGUMENT', -32600),
  LOOP_DETECTED: infra(508, 'FAILED_PRECONDITION'),
  AGENT_NOT_READY: infra(503, 'UNAVAILABLE'),
  GRPC_NOT_SERVED: infra(501, 'UNIMPLEMENTED'),
  STATE_UNAVAILABLE: infra(503, 'UNAVAILABLE'),
  OVERLOADED: infra(503, 'UNAVAILABLE'),
  UPSTREAM_UNREACHABLE: infra(502, 'UNAVAILABLE'),
  UPSTREAM_FAILED: infra(502, 'UNAVAILABLE'),
  UPSTREAM_TIMEOUT: infra(504, 'DEADLINE_EXCEEDED'),
  UPSTREAM_CREDENTIALS_UNAVAILABLE: infra(502, 'UNAVAILABLE'),
  INTERNAL_ERROR: infra(500, 'INTERNAL')
}

export const PROTOCOL_DOMAIN = 'a2a-protocol.org'
export const GATEWAY_DOMAIN = 'a2a-extension-gateway'

export interface FieldViolation {
  /** Path from the root of the request, with the client's own field names: `params.message.parts[0].data.total`. */
  readonly field: string
  readonly description: string
}

/** One rejection, independent of binding and version. */
export interface Rejection {
  readonly reason: Reason
  /** Contains enough information to fix the request for a caller that reads only the message. Never holds values of the client's data. */
  readonly message: string
  /** `<extension>/<rule>`, or `gateway/<what>`: names the rejecting rule in the `gateway-decision` header. */
  readonly rule: string
  /** `ErrorInfo.metadata`. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly fields?: readonly FieldViolation[]
  /** URI of the violated extension; becomes a `google.rpc.Help` link when it is an http(s) URL. */
  readonly helpUri?: string
  /** `allow` is the value of `Allow` for status 405. `retryAfter` is the seconds of `Retry-After` for status 503 or 429. */
  readonly allow?: string
  readonly retryAfter?: number
  /** Value of `WWW-Authenticate`, for status 403: the scopes that a token needs (RFC 6750 §3.1). */
  readonly challenge?: string
  /** The gateway's reason in `ErrorInfo` when a policy names its own. The table entry of `reason` still determines the codes. */
  readonly customReason?: string
}

export interface WireError {
  readonly status: number
  /**
   * The message as reason phrase (RFC 9112 §4); '' for status 200. On other statuses the Go and Python SDKs show the reason phrase and
   * nothing of the body (measured).
   */
  readonly phrase: string
  readonly contentType: string
  readonly body: Buffer
}

/** The known properties of the caller at the time of the rejection. */
export interface Caller {
  readonly binding: Binding
  readonly version: Version
  /** Raw JSON token of the JSON-RPC id as the client wrote it, with all digits; `null` when unknown. */
  readonly id: string
  /**
   * True for the caller of a JSON-RPC stream: the rejection is the stream's only event. Measured: with plain JSON the Go SDKs see a stream
   * without events and without an error, and JavaScript 0.3 and Python 0.3 lose the message. The SDKs of all languages and generations read
   * a single event.
   */
  readonly eventStream: boolean
  /**
   * True when the request states its version. 0.3 callers that do not state it use SDKs that read `error.data` only as an object (Go 0.3).
   */
  readonly statedVersion: boolean
  /** HTTP+JSON 1.0: the media type of the request determines the media type of the response. */
  readonly mediaType: string | null
}

/** Head of every rejection over gRPC. The rejection itself is in the trailers (`grpcStatusOf`). */
const GRPC_HEAD: WireError = { status: 200, phrase: '', contentType: 'application/grpc', body: Buffer.alloc(0) }

/**
 * Writes a rejection in the caller's binding and version.
 * @param status HTTP status when it differs from the status of the reason: the status of an agent's error page
 */
export function writeRejection (rejection: Rejection, caller: Caller, status?: number): WireError {
  if (caller.binding === 'GRPC') return GRPC_HEAD
  const row = REASONS[rejection.reason]
  const http = status ?? row.http
  const details = detailsOf(rejection, caller.binding)
  const { message } = rejection
  if (caller.binding === 'JSONRPC') {
    const data = caller.version === '0.3' && !caller.statedVersion ? { error: message, details } : details
    const response = `{"jsonrpc":"2.0","id":${caller.id},"error":${JSON.stringify({ code: row.rpc, message, data })}}`
    if (row.infrastructure) return wireError(http, 'application/json', message, response)
    return caller.eventStream
      ? wireError(200, 'text/event-stream', message, `data: ${response}\n\n`)
      : wireError(200, 'application/json', message, response)
  }
  const error = { code: http, status: row.status, message, details }
  if (caller.version === '0.3') {
    // No specification defines this shape. The JavaScript SDK reads `code`, `message` and `data`, Python reads `type`, and Go reads
    // `error`.
    const body = { code: row.rpc, message, type: ERROR_NAMES[row.rpc], error, data: details }
    return wireError(http, 'application/json', message, JSON.stringify(body))
  }
  return wireError(http, caller.mediaType === 'application/json' ? 'application/json' : A2A_MEDIA_TYPE, message, JSON.stringify({ error }))
}

function wireError (status: number, contentType: string, message: string, body: string): WireError {
  return { status, phrase: status === 200 ? '' : phraseOf(message), contentType, body: Buffer.from(body) }
}

const MAX_PHRASE = 400

/** Converts a message to visible ASCII and spaces. */
function phraseOf (message: string): string {
  const text = message.replace(/[^\x20-\x7e]/g, '?')
  return text.length > MAX_PHRASE ? `${text.slice(0, MAX_PHRASE - 3)}...` : text
}

/** Names of the errors of A2A 1.0.1 §5.4 and JSON-RPC 2.0 §5.1. */
const ERROR_NAMES: Readonly<Record<number, string>> = {
  '-31401': 'UnauthenticatedError',
  '-31403': 'PermissionDeniedError',
  '-32700': 'JSONParseError',
  '-32600': 'InvalidRequestError',
  '-32601': 'MethodNotFoundError',
  '-32602': 'InvalidParamsError',
  '-32603': 'InternalError',
  '-32001': 'TaskNotFoundError',
  '-32004': 'UnsupportedOperationError',
  '-32005': 'ContentTypeNotSupportedError',
  '-32006': 'InvalidAgentResponseError',
  '-32008': 'ExtensionSupportRequiredError',
  '-32009': 'VersionNotSupportedError'
}

function detailsOf (rejection: Rejection, binding: Binding): object[] {
  const { metadata, fields } = rejection
  const details: object[] = errorReasonsOf(rejection, binding).map(({ reason, domain }) =>
    ({ '@type': ERROR_INFO_TYPE, reason, domain, ...(metadata === undefined ? {} : { metadata }) }))
  if (fields !== undefined && fields.length > 0) details.push({ '@type': BAD_REQUEST_TYPE, fieldViolations: fields })
  const url = helpUrlOf(rejection)
  if (url !== null) details.push({ '@type': HELP_TYPE, links: [{ description: HELP_DESCRIPTION, url }] })
  return details
}

export const ERROR_INFO_TYPE = 'type.googleapis.com/google.rpc.ErrorInfo'
export const BAD_REQUEST_TYPE = 'type.googleapis.com/google.rpc.BadRequest'
export const HELP_TYPE = 'type.googleapis.com/google.rpc.Help'
export const HELP_DESCRIPTION = 'Specification of the extension'

/** Reason and domain of one `ErrorInfo`. */
export interface ErrorReason { readonly reason: string, readonly domain: string }

/**
 * Returns the reasons of a rejection, one for each `ErrorInfo`: the reason of A2A, if an error of A2A fits, and the gateway's own, more
 * precise reason. The order is that in which the SDKs of JavaScript, Python and Go find the reason of A2A (measured): Python reads the
 * first `ErrorInfo` over HTTP+JSON, Go the last one over gRPC. In JSON-RPC, a reason of A2A never stands beside the code of another error.
 */
export function errorReasonsOf ({ reason, customReason }: Rejection, binding: Binding): readonly ErrorReason[] {
  const { rpc, protocol } = REASONS[reason]
  const fitting = protocol === 'self' ? reason : protocol
  const own = customReason ?? reason
  // A policy may name the reason of another error of A2A: clients throw that error.
  if (own === fitting || (Object.hasOwn(REASONS, own) && REASONS[own as Reason].protocol === 'self')) {
    return [{ reason: own, domain: own === fitting ? PROTOCOL_DOMAIN : GATEWAY_DOMAIN }]
  }
  const ours = { reason: own, domain: GATEWAY_DOMAIN }
  if (fitting === null || (binding === 'JSONRPC' && REASONS[fitting].rpc !== rpc)) return [ours]
  const theirs = { reason: fitting, domain: PROTOCOL_DOMAIN }
  return binding === 'GRPC' ? [ours, theirs] : [theirs, ours]
}

/** URL of the Help link; null for none. */
export function helpUrlOf ({ helpUri }: Rejection): string | null {
  return helpUri !== undefined && /^https?:\/\//.test(helpUri) ? helpUri : null
}

/** Characters of a rule, and of its encoded form: gRPC clients accept 8 kB of trailers. */
const MAX_RULE = 512
const MAX_ENCODED = 1_024

/**
 * Returns the value of the `gateway-decision` header: a token and one parameter with a quoted string (RFC 9110 §5.6.6). Characters that are
 * not allowed in a quoted string are percent-encoded. A long rule is clipped, because a card may have a very long URI.
 */
export function decisionHeader (rule: string, decision: 'reject' | 'warn' | 'pause' = 'reject'): string {
  let safe = ''
  for (const byte of Buffer.from(rule.length > MAX_RULE ? `${rule.slice(0, MAX_RULE)}...` : rule)) {
    if (safe.length >= MAX_ENCODED) break
    const quotable = byte > 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
    safe += quotable ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
  }
  return `${decision};rule="${safe}"`
}
