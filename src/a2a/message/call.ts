/**
 * Reads one request body into a call: strict JSON or protobuf, envelope, operation and message view, in the order of the reference
 * §10.1. The function is pure: the same bytes give the same call, for the proxy and for every offline tool.
 */
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { findName } from '#wire/json/duplicate.js'
import { isBackslashName } from '#wire/json/exact-reader.js'
import { parseValidated } from '#wire/json/json.js'
import type { InexactNumbers } from '#wire/json/number.js'
import type { ValueValidator } from '#wire/json/unread-value.js'
import { isJsonContentType } from '#wire/media-type.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { whole, withContiguous } from '#wire/chunked-buffer.js'
import { withExplicitNulls } from '#wire/protobuf/nulls.js'
import type { Reason } from '../errors.js'
import type { RequestView } from './message.js'
import { viewRequest } from './message.js'
import type { Operation } from '../operations.js'
import { carriesMessage, operationOfMethod } from '../operations.js'
import { grpcMethodFor } from '../grpc/methods.js'
import { payloadOf } from '../payload.js'
import type { Binding, Version } from '../versions.js'
import type { JsonLimits } from '#wire/json/json-result.js'
import { memberSpan } from '#wire/json/span.js'
import type { FieldProblem } from '../fields.js'
import { Fields } from '../fields.js'
import { RPC_REQUEST } from '../members.js'

export interface CallProblem {
  readonly reason: Reason
  /** Name of the gateway's own rule: `json`, `protobuf`, `envelope`, `method`, `content-type`, `version`, `backslash-name`. */
  readonly rule: string
  /** Path from the root of the request, or `header <name>`. */
  readonly path: string
  /** One or more sentences that can be read without context. */
  readonly message: string
  readonly metadata?: Readonly<Record<string, string>>
}

/** The request object as the client wrote it: `params` of JSON-RPC, the body of HTTP+JSON. */
export interface RawRequest { readonly object: JsonObject, readonly path: string }

/** All data read from a request before any decision. */
export interface Call {
  readonly version: Version
  readonly operation: Operation
  /** JSON-RPC method, when it could be read. */
  readonly method: string | null
  /** Raw JSON-RPC id token, `null` when there is none. Computed on demand: only rejections need it. */
  readonly id: () => string
  /** The id as a value, for the span; null when there is none. */
  readonly idValue: string | number | null
  /** Null when there is no body, or when the body could not be read. */
  readonly request: RawRequest | null
  /** The body of an extension's route, any JSON; undefined when there is none, and for operations of A2A. */
  readonly extensionBody: unknown
  /** Set for requests that carry a message. */
  readonly view: RequestView | null
  /** Numbers of the body that differ from their doubles; null for none. */
  readonly inexact: InexactNumbers | null
  /** Protobuf fields of the request that A2A does not define, as `Message field 19`. None for JSON, in which they are members. */
  readonly unknown: readonly string[]
  /** The message to forward in the place of a protobuf message with nulls that agents read differently. Null for none. */
  readonly explicit: Buffer | null
  /**
   * Set when the body has a member name that hides other names from agents on V8 13.6 (`isBackslashName`). The configuration decides
   * whether this is a problem of the call. Null over gRPC: an agent decodes protobuf without `JSON.parse`.
   */
  readonly backslashName: CallProblem | null
  /** First problem of the body itself. When set, the other fields hold the data that could be read. */
  readonly problem: CallProblem | null
}

export interface CallInput {
  readonly bytes: Bytes
  readonly binding: Binding
  readonly version: Version
  readonly contentType: string | undefined
  /** Operation of the HTTP+JSON route or of the gRPC method; null for JSON-RPC, because the body names the operation. */
  readonly restOperation: Operation | null
  readonly limits: JsonLimits
  /** Accepts data of parts that stays unread. Default: none. */
  readonly validator?: ValueValidator | null
}

const NO_ID = (): string => 'null'
const NONE: readonly never[] = []

export function readCall (input: CallInput): Call {
  if (input.binding === 'JSONRPC') return readRpcCall(input)
  const operation = input.restOperation ?? 'Other'
  return input.binding === 'GRPC' ? readGrpcCall(input, operation) : readRestCall(input, operation)
}

function readRpcCall (input: CallInput): Call {
  const { bytes, version } = input
  const typeProblem = contentTypeProblem(input)
  if (typeProblem !== null) return blank(version, 'Other', typeProblem)
  const parsed = parseValidated(bytes, input.limits, input.validator ?? null)
  if (!parsed.ok) {
    return blank(version, 'Other', {
      reason: 'PARSE_ERROR',
      rule: 'json',
      path: '',
      message: `The body is not acceptable JSON: ${parsed.problem.message}.`
    })
  }
  const id = (): string => idToken(bytes, parsed.value)
  const read = readEnvelope(parsed.value)
  if (!read.ok) {
    const { reason, path, message } = read.problem
    return {
      version,
      operation: 'Other',
      method: null,
      id,
      idValue: null,
      request: null,
      extensionBody: undefined,
      view: null,
      inexact: null,
      unknown: NONE,
      explicit: null,
      backslashName: null,
      problem: { reason, rule: 'envelope', path, message }
    }
  }
  const { envelope } = read
  const operation = operationOfMethod(envelope.method, version)
  const view = (operation === null || carriesMessage(operation)) && envelope.params !== null
    ? viewRequest(envelope.params, 'params', version, 'JSONRPC', operation === null)
    : null
  return {
    version,
    operation: operation ?? 'Other',
    method: envelope.method,
    id,
    idValue: envelope.id,
    request: envelope.params === null ? null : { object: envelope.params, path: 'params' },
    extensionBody: undefined,
    view,
    inexact: parsed.inexact ?? null,
    unknown: NONE,
    explicit: null,
    backslashName: parsed.backslashName === true ? backslashNameProblem(bytes) : null,
    problem: operation === null ? unknownMethod(envelope.method, version) : null
  }
}

function unknownMethod (method: string, version: Version): CallProblem {
  const other: Version = version === '1.0' ? '0.3' : '1.0'
  const path = 'method'
  if (operationOfMethod(method, other) !== null) {
    // Spec 1.0 §3.6: an absent or empty A2A-Version means 0.3, so a 1.0 method without the header is a version error (decision 6).
    return other === '1.0'
      ? {
          reason: 'VERSION_NOT_SUPPORTED',
          rule: 'version',
          path: 'header A2A-Version',
          message:
            'The method belongs to A2A 1.0, but a request without the header A2A-Version is A2A 0.3. Send the header "A2A-Version: 1.0".'
        }
      : {
          reason: 'METHOD_NOT_FOUND',
          rule: 'method',
          path,
          message:
            'The method belongs to A2A 0.3, but the header A2A-Version of the request is 1.0. Use the 1.0 method name, or send no ' +
              'A2A-Version header.'
        }
  }
  return { reason: 'METHOD_NOT_FOUND', rule: 'unknown-method', path, message: `The method is not an operation of A2A ${version}.` }
}

function readRestCall (input: CallInput, operation: Operation): Call {
  const { bytes } = input
  if (bytes.length === 0) {
    return carriesMessage(operation)
      ? blank(input.version, operation, {
        reason: 'PARSE_ERROR',
        rule: 'json',
        path: '',
        message: 'The body is empty; send the message as a JSON object.'
      })
      : blank(input.version, operation, null)
  }
  const typeProblem = contentTypeProblem(input)
  if (typeProblem !== null) return blank(input.version, operation, typeProblem)
  const parsed = parseValidated(bytes, input.limits, input.validator ?? null)
  if (!parsed.ok) {
    return blank(input.version, operation, {
      reason: 'PARSE_ERROR',
      rule: 'json',
      path: '',
      message: `The body is not acceptable JSON: ${parsed.problem.message}.`
    })
  }
  if (operation === 'Extension') {
    return readExtensionBody(input.version, parsed.value, {
      inexact: parsed.inexact ?? null,
      backslashName: parsed.backslashName === true ? backslashNameProblem(bytes) : null
    })
  }
  // The Go SDK sends `null` when there is no data to send.
  if (parsed.value === null && !carriesMessage(operation)) return blank(input.version, operation, null)
  if (!isObject(parsed.value)) {
    return blank(input.version, operation, {
      reason: 'INVALID_REQUEST',
      rule: 'envelope',
      path: '',
      message: 'The body must be one JSON object.'
    })
  }
  const body: JsonObject = parsed.value
  const view = carriesMessage(operation) ? viewRequest(body, '', input.version, 'HTTP+JSON') : null
  return {
    version: input.version,
    operation,
    method: null,
    id: NO_ID,
    idValue: null,
    request: { object: body, path: '' },
    extensionBody: undefined,
    view,
    inexact: parsed.inexact ?? null,
    unknown: NONE,
    explicit: null,
    backslashName: parsed.backslashName === true ? backslashNameProblem(bytes) : null,
    problem: null
  }
}

/** Reads the request message of a gRPC method: ProtoJSON, as the body of HTTP+JSON, with every parameter of the path as a member. */
function readGrpcCall ({ bytes, version, limits }: CallInput, operation: Operation): Call {
  if (grpcMethodFor(operation, version) === null) return blank(version, operation, unknownRpc)
  const parsed = payloadOf('GRPC', version, operation, 'request').parse(bytes, limits)
  if (!parsed.ok) {
    return blank(version, operation, {
      reason: 'PARSE_ERROR',
      rule: 'protobuf',
      path: '',
      message: `The request message is not acceptable protobuf: ${parsed.problem.message}.`
    })
  }
  const object = parsed.value as JsonObject
  const view = carriesMessage(operation) ? viewRequest(object, '', version, 'GRPC') : null
  return {
    version,
    operation,
    method: null,
    id: NO_ID,
    idValue: null,
    request: { object, path: '' },
    extensionBody: undefined,
    view,
    inexact: null,
    unknown: parsed.unknown ?? NONE,
    explicit: parsed.nulls === undefined ? null : withExplicitNulls(whole(bytes), parsed.nulls),
    backslashName: null,
    problem: null
  }
}

const unknownRpc: CallProblem = {
  reason: 'METHOD_NOT_FOUND',
  rule: 'unknown-method',
  path: '',
  message: 'The gRPC method is not an operation of A2A.'
}

/**
 * Reads the body of an extension's route. The extension defines the body. When the body holds a message, the message is read like every
 * other message.
 */
function readExtensionBody (version: Version, body: unknown, findings: Pick<Call, 'inexact' | 'backslashName'>): Call {
  const call = { ...blank(version, 'Extension', null), extensionBody: body, ...findings }
  return isObject(body) ? { ...call, request: { object: body, path: '' }, view: viewRequest(body, '', version, 'HTTP+JSON', true) } : call
}

function blank (version: Version, operation: Operation, problem: CallProblem | null): Call {
  return {
    version,
    operation,
    method: null,
    id: NO_ID,
    idValue: null,
    request: null,
    extensionBody: undefined,
    view: null,
    inexact: null,
    unknown: NONE,
    explicit: null,
    backslashName: null,
    problem
  }
}

function backslashNameProblem (bytes: Bytes): CallProblem {
  const namePlace = findName(whole(bytes), isBackslashName)
  const name = namePlace === null ? 'A member' : `The member "${namePlace.name}" in ${namePlace.place}`
  return {
    reason: 'INVALID_PARAMS',
    rule: 'backslash-name',
    path: '',
    message: `${name} has a name with a backslash that reads like the beginning of an escape. Such a name can hide members of later ` +
      'requests from an agent on Node 24. Use a name without a backslash.'
  }
}

function contentTypeProblem (input: CallInput): CallProblem | null {
  const rest = input.binding === 'HTTP+JSON'
  if (isJsonContentType(input.contentType, rest)) return null
  return {
    reason: 'CONTENT_TYPE_NOT_SUPPORTED',
    rule: 'content-type',
    path: 'header Content-Type',
    message: `The header Content-Type must be ${rest ? 'application/a2a+json or ' : ''}application/json, in UTF-8.`
  }
}

/*
 * The JSON-RPC 2.0 envelope of a request, validated according to the reference table "JSON-RPC corners". Batches, ids of other types, wrong
 * versions and case variants are rejected before `params` is read.
 */

export interface RpcEnvelope {
  readonly method: string
  /** Absent and null params are both null. */
  readonly params: JsonObject | null
  readonly id: string | number | null
}

export interface EnvelopeProblem {
  readonly reason: 'INVALID_REQUEST' | 'INVALID_PARAMS'
  readonly path: string
  readonly message: string
}

type EnvelopeResult =
  { readonly ok: true; readonly envelope: RpcEnvelope } | { readonly ok: false; readonly problem: EnvelopeProblem }

function bad (path: string, message: string, reason: EnvelopeProblem['reason'] = 'INVALID_REQUEST'): EnvelopeResult {
  return { ok: false, problem: { reason, path, message } }
}

export function readEnvelope (value: unknown): EnvelopeResult {
  if (Array.isArray(value)) return bad('', 'Batch requests are not supported by A2A; send one JSON-RPC object per HTTP request.')
  if (!isObject(value)) return bad('', 'The body must be one JSON-RPC 2.0 object with "jsonrpc", "id", "method" and "params".')
  const problems: FieldProblem[] = []
  Fields.read(value, RPC_REQUEST, '', problems)
  if (problems.length > 0) return worst(problems)
  if (own(value, 'jsonrpc') !== '2.0') return bad('jsonrpc', 'The member "jsonrpc" must be the string "2.0".')
  const method = own(value, 'method')
  if (typeof method !== 'string' || method === '') return bad('method', 'The member "method" must be a non-empty string.')
  const params = own(value, 'params')
  const id = own(value, 'id') as string | number | null | undefined
  return { ok: true, envelope: { method, params: isObject(params) ? params : null, id: id ?? null } }
}

/**
 * Rejects an envelope for its gravest problem, so that the error code does not depend on the order of the members. An ambiguous envelope
 * has no certain reading. Params of the wrong type are the only problem that leaves the envelope itself valid (JSON-RPC 2.0 §5.1).
 */
function worst (problems: readonly FieldProblem[]): EnvelopeResult {
  const ambiguous = problems.find(({ message }) => !message.startsWith('must be '))
  if (ambiguous !== undefined) return bad(ambiguous.path, `Ambiguous envelope: the member ${ambiguous.path} ${ambiguous.message}.`)
  const typed = problems.find(({ path }) => path !== 'params') ?? problems[0] as FieldProblem
  const { path, message } = typed
  return bad(path, `The member "${path}" ${message}.`, path === 'params' ? 'INVALID_PARAMS' : 'INVALID_REQUEST')
}

/**
 * Returns the `id` of a parsed body as the raw token that the client wrote, so that an integer beyond 2^53 keeps its digits. Returns `null`
 * when the id is absent or is neither string nor number (JSON-RPC 2.0 §5).
 */
export function idToken (bytes: Bytes, value: unknown): string {
  if (!isObject(value)) return 'null'
  const id = own(value, 'id')
  if (typeof id !== 'string' && typeof id !== 'number') return 'null'
  return withContiguous(bytes, whole => {
    const span = memberSpan(whole, ['id'])
    return span === null ? 'null' : whole.toString('utf8', span.start, span.end)
  })
}
