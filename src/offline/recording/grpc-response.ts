/** The response of an agent over gRPC: messages in frames, and the status in trailers. */
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { encodeGrpcMessage } from '#wire/grpc/status-text.js'
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import { SseSplitter } from '#wire/sse/split.js'
import type { ErrorSpec, JsonMap } from '#a2a/message/wire-spec.js'
import { valueOf } from '#pipeline/response-head.js'
import { encoded } from './grpc-target.js'
import type { RecordedResponse } from './recorded-response.js'

export const GRPC_TYPE = 'application/grpc'
const OK: readonly string[] = ['grpc-status', '0']

/**
 * Builds a response from its messages.
 * @param headers further metadata; flat list
 * @param error sent as status after the messages; undefined for OK
 * @returns the response, or in words which message does not fit
 */
export function grpcResponse (
  method: GrpcMethod,
  messages: readonly unknown[],
  headers: readonly string[],
  error?: ErrorSpec
): RecordedResponse | string {
  const frames: Buffer[] = []
  for (const [i, message] of messages.entries()) {
    const bytes = isObject(message) ? encoded(method.response, message as JsonMap) : 'it is not a JSON object'
    if (typeof bytes === 'string') return `message ${i + 1} of the response: ${bytes}`
    frames.push(grpcFrame(bytes))
  }
  return {
    status: 200,
    headers: ['content-type', GRPC_TYPE, ...headers],
    body: Buffer.concat(frames),
    trailers: error === undefined ? OK : statusOf(error),
    notes: []
  }
}

/** Statuses of A2A's errors, 1.0.1 §5.4; FAILED_PRECONDITION for all others. */
const STATUS: Readonly<Record<number, GrpcCodeName>> = {
  '-32001': 'NOT_FOUND',
  '-32005': 'INVALID_ARGUMENT',
  '-32006': 'INTERNAL',
  '-32600': 'INVALID_ARGUMENT',
  '-32601': 'UNIMPLEMENTED',
  '-32602': 'INVALID_ARGUMENT',
  '-32603': 'INTERNAL',
  '-32700': 'INVALID_ARGUMENT'
}

/** Official agents put the details of an error into ErrorInfo, which no policy reads. */
function statusOf ({ code, message = 'refused' }: ErrorSpec): string[] {
  return ['grpc-status', String(GRPC_CODES[STATUS[code] ?? 'FAILED_PRECONDITION']), 'grpc-message', encodeGrpcMessage(message)]
}

/**
 * Converts a recorded response to one over gRPC. JSON and the data of events become messages; a body of Content-Type application/grpc
 * stays. A header `grpc-status` becomes a trailer.
 * @returns the response, or in words why it is none
 */
export function recordedGrpcResponse (recorded: RecordedResponse, method: GrpcMethod): RecordedResponse | string {
  const trailers: string[] = []
  const headers: string[] = []
  let type = ''
  for (let i = 0; i < recorded.headers.length; i += 2) {
    const [name = '', value = ''] = [recorded.headers[i]?.toLowerCase(), recorded.headers[i + 1]]
    if (name === 'content-type') type = value
    else if (/^grpc-(?:status|message|status-details-bin)$/.test(name)) trailers.push(name, value)
    else if (name !== 'content-length') headers.push(name, value)
  }
  const status = valueOf(trailers, 'grpc-status') !== null ? trailers : [...OK, ...trailers]
  if (type.startsWith(GRPC_TYPE)) return { ...recorded, headers: ['content-type', type, ...headers], trailers: status }
  const messages = messagesOf(recorded.body)
  if (typeof messages === 'string') return messages
  const response = grpcResponse(method, messages, headers)
  return typeof response === 'string' ? response : { ...response, trailers: status, notes: [...recorded.notes.filter(isOfBody), NOTE] }
}

const NOTE = 'the messages of the response are given as JSON; the gateway gets them as protobuf'

/** Notes about HTTP do not hold for gRPC. */
function isOfBody (note: string): boolean {
  return !note.startsWith('the response is only')
}

/** One JSON object, a list of them, or the data of events. */
function messagesOf (body: Buffer): readonly unknown[] | string {
  const text = body.toString().trim()
  if (text === '') return []
  if (!/^[{[]/.test(text)) {
    const splitter = new SseSplitter({ bytes: Infinity, lines: Infinity })
    const events = [...splitter.feed(body), ...splitter.end()].flatMap(piece => piece.kind === 'event' ? [piece.data] : [])
    const parsed = events.map(data => parsedJson(data.toString()))
    return parsed.includes(undefined) ? 'an event of the response is not JSON' : parsed
  }
  const value = parsedJson(text)
  return value === undefined ? 'the body of the response is not JSON' : Array.isArray(value) ? value as unknown[] : [value]
}

function parsedJson (text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
