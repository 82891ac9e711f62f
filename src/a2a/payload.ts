/** The bytes of requests and responses in each binding: how they are read, and how edits of the policies are made in them. */
import type { Bytes } from '#wire/chunked-buffer.js'
import { whole } from '#wire/chunked-buffer.js'
import type { JsonEdit } from '#wire/json/edit.js'
import { editJson } from '#wire/json/edit.js'
import { parseValidated, parseStrict } from '#wire/json/json.js'
import type { InexactNumbers } from '#wire/json/number.js'
import type { ValueValidator } from '#wire/json/unread-value.js'
import type { StringSpan } from '#wire/json/template.js'
import { JsonTemplate } from '#wire/json/template.js'
import { editProtobuf } from '#wire/protobuf/edit.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { ProtobufTemplate } from '#wire/protobuf/template.js'
import { readProtobufUnread } from '#wire/protobuf/unread.js'
import { grpcMethodFor } from './grpc/methods.js'
import type { GrpcMethod } from './grpc/methods.js'
import type { Operation } from './operations.js'
import type { Binding, Version } from './versions.js'
import type { JsonLimits, JsonProblem } from '#wire/json/json-result.js'

export type ParsedPayload =
  | {
    readonly ok: true
    readonly value: unknown
    /** Set when a number of a JSON text may differ from its double. */
    readonly inexact?: InexactNumbers
    /** Set when a member name of a JSON text hides other names from readers on V8 13.6 (`isBackslashName`). */
    readonly backslashName?: true
    /** Fields of a protobuf message that A2A does not define, each once, as `Message field 19`. */
    readonly unknown?: readonly string[]
    /** Offsets of the nulls of a protobuf message that `withExplicitNulls` has to write. */
    readonly nulls?: readonly number[]
  }
  | { readonly ok: false, readonly problem: JsonProblem }

export interface Payload {
  /** For sentences: `JSON` or `protobuf`. */
  readonly format: 'JSON' | 'protobuf'
  /**
   * @param bytes must not change while the value is used
   * @param validator accepts values of JSON that stay unread; null for none
   */
  parse (bytes: Bytes, limits: JsonLimits, validator?: ValueValidator | null): ParsedPayload
  /** @throws TypeError when a protobuf message has no place for a value */
  edit (bytes: Buffer, edits: readonly JsonEdit[]): Buffer
  /** Parses, and leaves all strings unread: `unreadStrings` finds those that nobody has read. */
  parseUnread (bytes: Buffer, limits: JsonLimits): ParsedPayload
  /**
   * @param bytes a payload that parses, which must not change
   * @param free strings that may differ
   */
  template (bytes: Buffer, free: readonly StringSpan[]): Template
}

/** Recognises payloads that differ from another one in free strings only. */
export interface Template {
  matches (bytes: Buffer): boolean
}

export type PayloadSide = 'request' | 'response'

export const JSON_PAYLOAD: Payload = {
  format: 'JSON',
  parse: (bytes, limits, validator = null) => parseValidated(bytes, limits, validator),
  edit: editJson,
  parseUnread: (bytes, limits) => parseStrict(bytes, limits, EACH),
  template: (bytes, free) => new JsonTemplate(bytes, free)
}

/** Makes the parser leave every string unread, whatever its length. */
const EACH = -1

class ProtobufPayload implements Payload {
  readonly format = 'protobuf'
  private readonly table: MessageTable
  private readonly lenient: boolean

  constructor (table: MessageTable, lenient: boolean) {
    this.table = table
    this.lenient = lenient
  }

  parse (bytes: Bytes, limits: JsonLimits): ParsedPayload {
    return readProtobuf(whole(bytes), this.table, limits, this.lenient)
  }

  edit (bytes: Buffer, edits: readonly JsonEdit[]): Buffer {
    return editProtobuf(bytes, this.table, edits)
  }

  parseUnread (bytes: Buffer, limits: JsonLimits): ParsedPayload {
    return readProtobufUnread(bytes, this.table, limits, this.lenient)
  }

  template (bytes: Buffer, free: readonly StringSpan[]): Template {
    return new ProtobufTemplate(bytes, free)
  }
}

/** Requests are read strictly. In responses, clients ignore unknown fields, and an agent may be newer than the gateway. */
const REQUESTS = new Map<GrpcMethod, Payload>()
const RESPONSES = new Map<GrpcMethod, Payload>()

/**
 * Returns the payload of an operation. A call over gRPC has a method of `grpcMethodFor`.
 * @param side of the call. JSON is the same on both sides
 * @throws Error for an operation that the version does not have over gRPC: the listener has rejected such a call
 */
export function payloadOf (binding: Binding, version: Version, operation: Operation, side: PayloadSide): Payload {
  if (binding !== 'GRPC') return JSON_PAYLOAD
  const method = grpcMethodFor(operation, version)
  if (method === null) throw new Error(`A2A ${version} has no gRPC method for ${operation}`)
  const payloads = side === 'request' ? REQUESTS : RESPONSES
  let payload = payloads.get(method)
  if (payload === undefined) payloads.set(method, payload = new ProtobufPayload(method[side], side === 'response'))
  return payload
}
