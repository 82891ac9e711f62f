/** The status of a gRPC response as its client sees it. */
import { grpcCodeName } from '#wire/grpc/code-names.js'
import type { JsonObject } from '#wire/json/object.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { bytes, int32, list, map, message, MessageTable, text } from '#wire/protobuf/table.js'
import type { GrpcStatusShown } from './explanation.js'

/** google/rpc/status.proto, error_details.proto. */
const ANY = new MessageTable('Any', { '@type': text(1), value: bytes(2) })
const STATUS = new MessageTable('Status', { code: int32(1), message: text(2), details: list(message(3, ANY)) })
const ERROR_INFO = new MessageTable('ErrorInfo', { reason: text(1), domain: text(2), metadata: map(text(3)) })
const FIELD_VIOLATION = new MessageTable('FieldViolation', { field: text(1), description: text(2) })
const BAD_REQUEST = new MessageTable('BadRequest', { fieldViolations: list(message(1, FIELD_VIOLATION)) })
const LINK = new MessageTable('Link', { description: text(1), url: text(2) })
const HELP = new MessageTable('Help', { links: list(message(1, LINK)) })

const TYPES: ReadonlyMap<string, MessageTable> = new Map(
  [ERROR_INFO, BAD_REQUEST, HELP].map(table => [`type.googleapis.com/google.rpc.${table.name}`, table])
)

const LIMITS = { depth: Infinity, members: Infinity }

/** @param trailers flat list, of the gateway. Null when they have no status */
export function grpcStatusShown (trailers: readonly string[]): GrpcStatusShown | null {
  const value = (name: string): string | undefined => {
    const at = trailers.findIndex((trailer, i) => i % 2 === 0 && trailer === name)
    return at === -1 ? undefined : trailers[at + 1]
  }
  const code = value('grpc-status')
  if (code === undefined) return null
  return {
    code: Number(code),
    name: grpcCodeName(Number(code)),
    message: decodeURIComponent((value('grpc-message') ?? '').replace(/%(?![0-9A-Fa-f]{2})/g, '%25')),
    details: detailsOf(value('grpc-status-details-bin'))
  }
}

function detailsOf (encoded: string | undefined): JsonObject[] {
  if (encoded === undefined) return []
  const status = readProtobuf(Buffer.from(encoded, 'base64'), STATUS, LIMITS)
  if (!status.ok) return []
  return (status.value.details as readonly JsonObject[] | undefined ?? []).map(detail => {
    const type = detail['@type'] as string
    const table = TYPES.get(type)
    const read = table === undefined ? null : readProtobuf(Buffer.from(detail.value as string, 'base64'), table, LIMITS)
    return read?.ok === true ? { '@type': type, ...read.value } : detail
  })
}
