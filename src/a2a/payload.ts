/** The bytes of requests and responses in each binding: how they are read, and how edits of the policies are made in them. */
import type { Bytes } from '../wire/chunked-buffer.js'
import { whole } from '../wire/chunked-buffer.js'
import type { JsonEdit } from '../wire/json/edit.js'
import { editJson } from '../wire/json/edit.js'
import type { JsonLimits, JsonProblem } from '../wire/json/json.js'
import { parseStrict } from '../wire/json/json.js'
import type { InexactNumbers } from '../wire/json/number.js'
import { editProtobuf } from '../wire/protobuf/edit.js'
import { readProtobuf } from '../wire/protobuf/read.js'
import type { MessageTable } from '../wire/protobuf/table.js'
import { grpcMethodFor } from './grpc/methods.js'
import type { GrpcMethod } from './grpc/methods.js'
import type { Operation } from './operations.js'
import type { Binding, Version } from './versions.js'

export type ParsedPayload =
  | {
    readonly ok: true
    readonly value: unknown
    /** Set when a number of a JSON text may differ from its double. */
    readonly inexact?: InexactNumbers
    /** Fields of a protobuf message that A2A does not define, each once, as `Message field 19`. */
    readonly unknown?: readonly string[]
  }
  | { readonly ok: false, readonly problem: JsonProblem }

export interface Payload {
  /** For sentences: `JSON` or `protobuf`. */
  readonly format: 'JSON' | 'protobuf'
  /** @param bytes must not change while the value is used */
  parse (bytes: Bytes, limits: JsonLimits): ParsedPayload
  /** @throws TypeError when a protobuf message has no place for a value */
  edit (bytes: Buffer, edits: readonly JsonEdit[]): Buffer
}

export type PayloadSide = 'request' | 'response'

export const JSON_PAYLOAD: Payload = {
  format: 'JSON',
  parse: (bytes, limits) => parseStrict(bytes, limits),
  edit: editJson
}

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
