/** The gateway's own rejections: transport, routing, versions. Each message alone explains how to fix the request. */
import type { CallProblem } from '#a2a/message/call.js'
import type { Rejection } from '#a2a/errors.js'
import type { FieldProblem } from '#a2a/fields.js'
import { GRPC_SERVICES } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'

export const unknownAgent: Rejection = {
  reason: 'ROUTE_NOT_FOUND',
  message: 'No agent is served at this address.',
  rule: 'gateway/no-agent'
}

export const unknownRoute: Rejection = {
  reason: 'ROUTE_NOT_FOUND',
  message: 'This is not an operation of the agent. Its card at /.well-known/agent-card.json lists the addresses of its interfaces.',
  rule: 'gateway/no-route'
}

export const internal: Rejection = {
  reason: 'INTERNAL_ERROR',
  message: 'The gateway could not handle the request.',
  rule: 'gateway/internal'
}

/** A call in flight when the time of `server.drainTimeout` is over. */
export const stopped: Rejection = {
  reason: 'OVERLOADED',
  message: 'The gateway is shutting down and ended the call; call again.',
  rule: 'gateway/stopped'
}

/** A request that waits for a person (`pause`). A2A 1.0 §3.1.1: a task that has ended accepts no message. */
export const pauseEnded: Rejection = {
  reason: 'UNSUPPORTED_OPERATION',
  message: 'The task has ended: the request that it stood for was sent to the agent, declined or canceled. Send a new request.',
  rule: 'gateway/paused-task'
}

export const pausedTask: Rejection = {
  reason: 'UNSUPPORTED_OPERATION',
  message: 'The task is a request that waits at the gateway: send a message with the evidence that its status asks for, get it, or ' +
    'cancel it.',
  rule: 'gateway/paused-task'
}

/** @param form binding and version of the request */
export function pauseForm (form: string): Rejection {
  return {
    reason: 'UNSUPPORTED_OPERATION',
    message: `The request of this task was sent over ${form}; send the message the same way.`,
    rule: 'gateway/paused-task'
  }
}

export const pauseUnavailable: Rejection = {
  reason: 'STATE_UNAVAILABLE',
  message: 'The gateway cannot reach its store, and keeps no request that waits for a person. Try again later.',
  rule: 'gateway/paused-task',
  retryAfter: 1
}

export function badTarget (reason: string): Rejection {
  return { reason: 'BAD_REQUEST_TARGET', message: `The request target is rejected: ${reason}.`, rule: 'gateway/target' }
}

export const ambiguousPath: Rejection = {
  reason: 'BAD_REQUEST_TARGET',
  message: 'The path is ambiguous: an agent could read it as two different operations. Send ":" unencoded, rename the id or tenant, or ' +
    'use JSON-RPC.',
  rule: 'gateway/target'
}

export function duplicateHeader (name: string): Rejection {
  return {
    reason: 'BAD_REQUEST_HEADER',
    message: `The header ${name} is sent more than once; send it once.`,
    rule: 'gateway/duplicate-header'
  }
}

export const badHost: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'The header Host is not a host name or address with an optional port.',
  rule: 'gateway/host'
}

/** The message names no host: `server.hosts` may be internal. */
export const hostNotServed: Rejection = {
  reason: 'HOST_NOT_SERVED',
  message: 'The gateway does not serve the host that the request names; use the URL that you were given for the agent.',
  rule: 'gateway/host-not-served'
}

export const chunksInHttp10: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'HTTP/1.0 has no Transfer-Encoding; send Content-Length, or HTTP/1.1.',
  rule: 'gateway/framing'
}

export const otherHttpVersion: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'This connection carries HTTP/1.1 and HTTP/1.0, and the request line names another version; send HTTP/1.1.',
  rule: 'gateway/framing'
}

export const afterFramingFault: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'The end of an earlier request on this connection is ambiguous; send this request on another connection.',
  rule: 'gateway/framing'
}

export const loop: Rejection = {
  reason: 'LOOP_DETECTED',
  message: 'This gateway has already handled the request: an upstream URL in its configuration points to the gateway itself.',
  rule: 'gateway/loop'
}

export const upgrade: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'Connections cannot be upgraded here; A2A has no WebSocket binding.',
  rule: 'gateway/upgrade'
}

export function unexpectedBody (method: string): Rejection {
  return {
    reason: 'BAD_REQUEST_HEADER',
    message: `A ${method} request has no body; send it without Content-Length and Transfer-Encoding.`,
    rule: 'gateway/unexpected-body'
  }
}

export const notGrpc: Rejection = {
  reason: 'CONTENT_TYPE_NOT_SUPPORTED',
  message: 'This address serves gRPC only: call it with a gRPC client, which sends "content-type: application/grpc".',
  rule: 'gateway/grpc-content-type'
}

export const unknownRpc: Rejection = {
  reason: 'ROUTE_NOT_FOUND',
  message: 'The gateway serves no gRPC method at this path; the services of A2A are lf.a2a.v1.A2AService (1.0) and a2a.v1.A2AService (0.3).',
  rule: 'gateway/no-route'
}

export const noGrpcInterface: Rejection = {
  reason: 'ROUTE_NOT_FOUND',
  message: 'The card of this agent has no gRPC interface that the gateway serves; call one of the interfaces that its card lists.',
  rule: 'gateway/no-grpc-interface'
}

export const authorityConflict: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'The pseudo-header :authority and the header Host differ; send only :authority.',
  rule: 'gateway/host'
}

/** @param name of the metadata, such as `a2a-extensions-bin` */
export function binaryMetadata (name: string): Rejection {
  return {
    reason: 'BAD_REQUEST_HEADER',
    message: `The metadata ${name} has no meaning in A2A; send ${name.slice(0, -4)} as text.`,
    rule: 'gateway/metadata'
  }
}

export function metadataNotAscii (name: string): Rejection {
  return {
    reason: 'BAD_REQUEST_HEADER',
    message: `The metadata ${name} contains bytes outside of printable ASCII; send such values under a name that ends with -bin.`,
    rule: 'gateway/metadata'
  }
}

export const badGrpcTimeout: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'The header grpc-timeout is not 1 to 8 digits with one of the units H, M, S, m, u, n.',
  rule: 'gateway/grpc-timeout'
}

export const deadlineExceeded: Rejection = {
  reason: 'REQUEST_TIMEOUT',
  message: 'The call was not complete within the deadline that its client set (grpc-timeout).',
  rule: 'gateway/deadline'
}

/** @param what is wrong with the messages of the request */
export function badGrpcBody (what: string): Rejection {
  return { reason: 'PARSE_ERROR', message: `The request of the call is not one gRPC message: ${what}.`, rule: 'gateway/grpc-framing' }
}

export const grpcEncoding: CallProblem = {
  reason: 'CONTENT_ENCODING_NOT_SUPPORTED',
  rule: 'content-encoding',
  path: 'header grpc-encoding',
  message: 'The message is compressed with an encoding that the gateway does not read; send it uncompressed, or with "grpc-encoding: gzip".'
}

/** A service name has a version of A2A, which the header must not contradict. */
/** @param versions that the card offers over gRPC */
export function serviceNotOffered (version: Version, versions: readonly Version[]): CallProblem {
  return {
    reason: 'VERSION_NOT_SUPPORTED',
    rule: 'version',
    path: '',
    message: `The agent does not offer A2A ${version} over gRPC; call ${versions.map(version => GRPC_SERVICES[version]).join(' or ')}.`,
    metadata: { supportedVersions: versions.join(',') }
  }
}

export const serviceVersion: CallProblem = {
  reason: 'VERSION_NOT_SUPPORTED',
  rule: 'version-conflict',
  path: 'header A2A-Version',
  message: 'The header A2A-Version and the gRPC service are of different versions; call lf.a2a.v1.A2AService for 1.0, or ' +
    'a2a.v1.A2AService for 0.3.'
}

export function wrongVerb (allow: string): Rejection {
  return { reason: 'METHOD_NOT_ALLOWED', message: `The HTTP method is not allowed here; use ${allow}.`, rule: 'gateway/method', allow }
}

/** @param retryAfter seconds */
export function noCard (agent: string, retryAfter: number): Rejection {
  return {
    reason: 'AGENT_NOT_READY',
    message: `The gateway has no valid AgentCard for the agent "${agent}", so it cannot check this call; try again later.`,
    rule: 'gateway/no-card',
    retryAfter
  }
}

export function onlyGrpc (agent: string): Rejection {
  return {
    reason: 'GRPC_NOT_SERVED',
    message: `The agent "${agent}" offers only gRPC, and the gateway does not serve this agent by gRPC; a retry does not help, ask the ` +
      'operator of the gateway.',
    rule: 'gateway/only-grpc'
  }
}

/**
 * @param header name of the header with credentials, in lower case
 * @param status 401, or the status with which the agent rejects the credentials of the caller
 */
export function cardCredentials (header: string, status: 401 | 403): Rejection {
  return {
    reason: 'CREDENTIALS_REQUIRED',
    message:
      status === 401
        ? `The card of this agent is for callers with credentials; send those that the agent accepts in the header ${header}.`
        : 'The agent does not show its card to a caller with these credentials.',
    rule: 'gateway/card-credentials'
  }
}

export const noView: Rejection = {
  reason: 'CREDENTIALS_REQUIRED',
  message: 'The card of this agent is not for this caller; ask the operator of the gateway for access.',
  rule: 'gateway/card-view'
}

export const noCardAccess: Rejection = {
  reason: 'UPSTREAM_FAILED',
  message: 'The agent did not decide whether the caller may see its card; try again later.',
  rule: 'gateway/card-access'
}

export function tooLarge (bytes: number): Rejection {
  return {
    reason: 'REQUEST_TOO_LARGE',
    message: `The request body is larger than ${bytes} bytes.`,
    rule: 'gateway/body-size',
    metadata: { limitBytes: String(bytes) }
  }
}

export function tooSlow (milliseconds: number): Rejection {
  return {
    reason: 'REQUEST_TIMEOUT',
    message: `The request body did not arrive within ${milliseconds / 1_000} s.`,
    rule: 'gateway/request-timeout'
  }
}

/** @param retryAfter seconds */
export function overloaded (retryAfter: number): Rejection {
  return { reason: 'OVERLOADED', message: 'The gateway is overloaded; try again later.', rule: 'gateway/overloaded', retryAfter }
}

/** @param retryAfter seconds */
export function noMemory (retryAfter: number): Rejection {
  return {
    reason: 'OVERLOADED',
    message: 'The gateway has reached its limit for the bytes of requests and responses; try again later.',
    rule: 'gateway/memory',
    retryAfter
  }
}

/** @param retryAfter seconds */
export function tooManyRequests (limit: number, retryAfter: number): Rejection {
  return {
    reason: 'OVERLOADED',
    message: `The agent has ${limit} calls in flight, which is the limit; try again later.`,
    rule: 'gateway/too-many-requests',
    metadata: { limit: String(limit) },
    retryAfter
  }
}

/** @param retryAfter seconds */
export function tooManyStreams (limit: number, retryAfter: number): Rejection {
  return {
    reason: 'OVERLOADED',
    message: `The agent has ${limit} open streams, which is the limit; end one, or try again later.`,
    rule: 'gateway/too-many-streams',
    metadata: { limit: String(limit) },
    retryAfter
  }
}

/**
 * @param limit id of the limit
 * @param milliseconds until no limit rejects the request
 */
export function rateLimited (limit: string, milliseconds: number): Rejection {
  const retryAfter = wholeSeconds(milliseconds)
  return {
    reason: 'RATE_LIMITED',
    message: `The limit "${limit}" is reached: wait ${retryAfter} s before the next request.`,
    rule: 'gateway/rate-limit',
    metadata: { limit },
    retryAfter
  }
}

/** As {@link rateLimited}, for a budget that is spent. */
export function budgetExhausted (limit: string, milliseconds: number): Rejection {
  const retryAfter = wholeSeconds(milliseconds)
  return {
    reason: 'BUDGET_EXHAUSTED',
    message: `The budget "${limit}" is spent: wait ${retryAfter} s before the next message.`,
    rule: 'gateway/budget',
    metadata: { limit },
    retryAfter
  }
}

/** For a budget of a whole chain of callers: it does not come back. */
export function chainBudgetExhausted (limit: string): Rejection {
  return {
    reason: 'BUDGET_EXHAUSTED',
    message: `The budget "${limit}" of this call, and of the calls that agents make for it, is spent; complete the task without further calls.`,
    rule: 'gateway/budget',
    metadata: { limit }
  }
}

export const budgetHeader: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'The header a2a-budget cannot be read: send at most 8 amounts, such as "tokens=5000, time=30".',
  rule: 'gateway/budget-header'
}

/** @param retryAfter seconds */
export function limitUnavailable (limit: string, retryAfter: number): Rejection {
  return {
    reason: 'OVERLOADED',
    message: `The gateway cannot count requests for the limit "${limit}"; try again later.`,
    rule: 'gateway/limit-unavailable',
    metadata: { limit },
    retryAfter
  }
}

function wholeSeconds (milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1_000))
}

export const contentEncoding: CallProblem = {
  reason: 'CONTENT_ENCODING_NOT_SUPPORTED',
  rule: 'content-encoding',
  path: 'header Content-Encoding',
  message: 'The Content-Encoding is not supported; send "Content-Encoding: gzip", or the body without Content-Encoding.'
}

export const notGzip: CallProblem = {
  reason: 'PARSE_ERROR',
  rule: 'content-encoding',
  path: 'header Content-Encoding',
  message: 'The body is not one complete gzip member, although Content-Encoding is gzip.'
}

export function tooCompressed (ratio: number): Rejection {
  return {
    reason: 'REQUEST_TOO_LARGE',
    message: `The request body has more than ${ratio} times its compressed size; send the body without Content-Encoding.`,
    rule: 'gateway/body-ratio'
  }
}

export function ambiguous ({ path, message }: FieldProblem): CallProblem {
  return { reason: 'INVALID_PARAMS', rule: 'ambiguous-fields', path, message: `${path} ${message}.` }
}

export const versionConflict: CallProblem = {
  reason: 'INVALID_PARAMS',
  rule: 'version-conflict',
  path: 'header A2A-Version',
  message: 'The header A2A-Version and the query parameter A2A-Version differ; send only the header.'
}

export function versionUnknown (versions: readonly Version[]): CallProblem {
  return {
    reason: 'VERSION_NOT_SUPPORTED',
    rule: 'version',
    path: 'header A2A-Version',
    message: `The requested A2A version is not supported here. ${suggestFix(versions)}`,
    metadata: { supportedVersions: versions.join(',') }
  }
}

export function versionNotSpoken (version: Version, stated: boolean, versions: readonly Version[]): CallProblem {
  const what = stated
    ? `The agent does not support A2A ${version} at this address.`
    : 'The agent does not support A2A 0.3 at this address, and a request without the header A2A-Version is A2A 0.3.'
  return {
    reason: 'VERSION_NOT_SUPPORTED',
    rule: 'version',
    path: 'header A2A-Version',
    message: `${what} ${suggestFix(versions)}`,
    metadata: { supportedVersions: versions.join(',') }
  }
}

function suggestFix (versions: readonly Version[]): string {
  return versions.length === 1 && versions[0] === '0.3'
    ? 'The agent supports 0.3: send 0.3 requests, without the header A2A-Version.'
    : `The agent supports ${versions.join(' and ')}: send the header "A2A-Version: ` +
      `${versions.includes('1.0') ? '1.0' : (versions[0] ?? '1.0')}".`
}

/** Over HTTP/2, a request can end with trailers and have no body: a proxy of a mesh does not show such a body to the gateway. */
export const trailersAlone: Rejection = {
  reason: 'BAD_REQUEST_HEADER',
  message: 'The request has trailers and no body; send no trailers.',
  rule: 'gateway/trailers'
}

/** A proxy of a mesh that does not let the gateway see or do what a decision needs. @param what a sentence for its operator */
export function meshUnfit (what: string): Rejection {
  return {
    reason: 'INTERNAL_ERROR', message: `The proxy in front of the agent is not set up for this call: ${what}.`, rule: 'gateway/mesh'
  }
}
