/**
 * Rejections over gRPC: trailers with `google.rpc.Status` (google/rpc/status.proto, error_details.proto). The message and the code of the
 * details equal `grpc-message` and `grpc-status`; the Python SDK throws a ValueError when they differ.
 */
import { GRPC_CODES, codeOfHttpStatus } from '#wire/grpc/codes.js'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import { encodeBinary, encodeGrpcMessage } from '#wire/grpc/status-text.js'
import { byteField, varintField } from '#wire/protobuf/write.js'
import type { Reason, Rejection } from '../errors.js'
import {
  BAD_REQUEST_TYPE, decisionHeader, ERROR_INFO_TYPE, errorReasonsOf, HELP_DESCRIPTION, HELP_TYPE, helpUrlOf, REASONS
} from '../errors.js'

export interface GrpcStatus {
  readonly code: number
  /** Decoded `grpc-message`. */
  readonly message: string
  /** Flat list of lower-case names and values, `grpc-status` first. */
  readonly trailers: string[]
}

/**
 * Codes that gRPC servers use where HTTP has other names. Clients of A2A read NOT_FOUND as a task that is not found. The Go SDK knows
 * INVALID_PARAMS only with the code INVALID_ARGUMENT.
 */
const CODES: Partial<Readonly<Record<Reason, GrpcCodeName>>> = {
  REQUEST_TOO_LARGE: 'RESOURCE_EXHAUSTED',
  ROUTE_NOT_FOUND: 'UNIMPLEMENTED',
  HOST_NOT_SERVED: 'UNIMPLEMENTED',
  METHOD_NOT_FOUND: 'UNIMPLEMENTED',
  CONTENT_ENCODING_NOT_SUPPORTED: 'UNIMPLEMENTED',
  EXTENSION_CONFLICT: 'INVALID_ARGUMENT',
  PUSH_CONFIGS_EXHAUSTED: 'INVALID_ARGUMENT'
}

/** Bytes of all trailers. Clients accept 8 KiB (grpc-core, soft limit), of which `:status` and Content-Type take a part. */
const MAX_TRAILERS = 7_800
/** Bytes that HTTP/2 adds to each field for its limit (RFC 9113 §6.5.2). */
const FIELD = 32
/** Characters of `grpc-message`. The details repeat the message. */
const MAX_MESSAGE = 2_000
/** Characters of `www-authenticate`; a longer one is left out. */
const MAX_CHALLENGE = 1_024
/** Bytes for the notes of omissions in the `metadata` of each `ErrorInfo`, of which there may be two. */
const NOTES = 400
/** Characters of the names in a note. */
const MAX_NAMES = 50
/** Bytes around the entries of BadRequest: its type, tags and lengths. */
const AROUND = 60

/**
 * Returns the status of a rejection. The trailers are smaller than 8 kB: fields of BadRequest are left out from the end, then the link of
 * Help, then the longest metadata; `ErrorInfo.metadata` says so. A long message is clipped.
 * @param httpStatus of an agent's response without a gRPC status: determines the code
 */
export function grpcStatusOf (rejection: Rejection, httpStatus?: number): GrpcStatus {
  const { reason } = rejection
  const code = GRPC_CODES[httpStatus === undefined ? CODES[reason] ?? REASONS[reason].status : codeOfHttpStatus(httpStatus)]
  const message = clipped(rejection.message)
  const others: string[] = ['gateway-decision', decisionHeader(rejection.rule)]
  const { retryAfter, challenge } = rejection
  // gRPC proposal A6: milliseconds that a client with a retry policy waits.
  if (retryAfter !== undefined) others.push('grpc-retry-pushback-ms', String(Math.ceil(retryAfter * 1_000)))
  if (challenge !== undefined && challenge.length <= MAX_CHALLENGE) others.push('www-authenticate', challenge)
  const trailers = ['grpc-status', String(code), 'grpc-message', encodeGrpcMessage(message)]
  const room = MAX_TRAILERS - sizeOf(trailers) - sizeOf(others) - sizeOf([DETAILS, ''])
  trailers.push(DETAILS, encodeBinary(detailsOf(rejection, code, message, Math.floor(room * 3 / 4))), ...others)
  return { code, message, trailers }
}

const DETAILS = 'grpc-status-details-bin'

function sizeOf (fields: readonly string[]): number {
  let size = fields.length / 2 * FIELD
  for (const text of fields) size += text.length
  return size
}

const ELLIPSIS = '...'

/** Shortens a message whose encoded form is too long. */
function clipped (message: string): string {
  let size = encodeGrpcMessage(message).length
  if (size <= MAX_MESSAGE) return message
  const characters: string[] = []
  size = ELLIPSIS.length
  for (const character of message) {
    size += encodeGrpcMessage(character).length
    if (size > MAX_MESSAGE) break
    characters.push(character)
  }
  return characters.join('') + ELLIPSIS
}

/** @param room bytes. @returns `google.rpc.Status` */
function detailsOf (rejection: Rejection, code: number, message: string, room: number): Buffer {
  const head = Buffer.concat([varintField(1, code), byteField(2, message)])
  const metadata: [string, string][] = Object.entries(rejection.metadata ?? {})
  const left = (): number => room - head.length - NOTES - errorInfos(rejection, metadata).length
  const omitted: string[] = []
  while (metadata.length > 0 && left() < 0) omitted.push(withoutLongest(metadata))
  const helpUrl = helpUrlOf(rejection)
  const help = helpUrl === null ? NO_BYTES : helpOf(helpUrl)
  const shown = help.length <= left() ? help : NO_BYTES
  const { fields = [] } = rejection
  const entries: Buffer[] = []
  let free = left() - shown.length - AROUND
  for (const { field, description } of fields) {
    const entry = byteField(1, Buffer.concat([byteField(1, field), byteField(2, description)]))
    free -= entry.length
    if (free < 0) break
    entries.push(entry)
  }
  if (entries.length < fields.length) metadata.push(['omittedFieldViolations', String(fields.length - entries.length)])
  if (help !== shown) metadata.push(['omittedHelp', 'true'])
  if (omitted.length > 0) metadata.push(['omittedMetadata', omitted.join(',').slice(0, MAX_NAMES)])
  const badRequest = entries.length === 0 ? NO_BYTES : byteField(3, any(BAD_REQUEST_TYPE, Buffer.concat(entries)))
  return Buffer.concat([head, errorInfos(rejection, metadata), badRequest, shown])
}

/** Removes the entry with the longest value. @returns its name */
function withoutLongest (metadata: [string, string][]): string {
  let longest = 0
  for (let i = 1; i < metadata.length; i++) {
    if (Buffer.byteLength(metadata[i]?.[1] ?? '') > Buffer.byteLength(metadata[longest]?.[1] ?? '')) longest = i
  }
  return metadata.splice(longest, 1)[0]?.[0] ?? ''
}

function errorInfos (rejection: Rejection, metadata: readonly (readonly [string, string])[]): Buffer {
  const entries = metadata.map(([name, value]) => byteField(3, Buffer.concat([byteField(1, name), byteField(2, value)])))
  const infos = errorReasonsOf(rejection, 'GRPC').map(({ reason, domain }) =>
    byteField(3, any(ERROR_INFO_TYPE, Buffer.concat([byteField(1, reason), byteField(2, domain), ...entries]))))
  return Buffer.concat(infos)
}

function helpOf (url: string): Buffer {
  return byteField(3, any(HELP_TYPE, byteField(1, Buffer.concat([byteField(1, HELP_DESCRIPTION), byteField(2, url)]))))
}

/** `google.protobuf.Any`. */
function any (type: string, value: Buffer): Buffer {
  return Buffer.concat([byteField(1, type), byteField(2, value)])
}

const NO_BYTES = Buffer.alloc(0)
