/** Messages of ext_proc: `envoy.service.ext_proc.v3.ExternalProcessor`. */
import { integer, readFields, run } from './fields.js'
import type { HeaderChanges } from './headers.js'
import { textIn } from './metadata.js'
import { readHeaderMap, writeLines, writeMutation } from './headers.js'

export const PROCESS = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

/** `ProcessingMode.BodySendMode`: the mode in which Envoy sends a body. */
export const BODY_MODES = { NONE: 0, STREAMED: 1, BUFFERED: 2, BUFFERED_PARTIAL: 3, FULL_DUPLEX_STREAMED: 4 } as const
export type BodyMode = typeof BODY_MODES[keyof typeof BODY_MODES]

/** `protocol_config`, in the first message of a stream. */
export interface Protocol {
  readonly request: number
  readonly response: number
  /** Envoy sends the body before it has the response to the headers. */
  readonly eager: boolean
}

/** `ProcessingRequest`. */
export interface ProcessingMessage {
  readonly part: 'headers' | 'body' | 'trailers'
  readonly of: 'request' | 'response'
  /** Headers or trailers: flat list of names in lower case and values, with pseudo-headers. */
  readonly lines: string[]
  /** Body. */
  readonly bytes: Buffer
  /** Nothing follows this part. */
  readonly last: boolean
  /** Envoy ignores what the gateway sends. */
  readonly observed: boolean
  /** Null after the first message, and from an Envoy before 1.33. */
  readonly protocol: Protocol | null
  /** The name of the agent that metadata or attributes have. */
  readonly agent: string | undefined
  /** `Metadata` of the call, which filters of Envoy have written; null without. */
  readonly metadata: Buffer | null
}

/** Namespace and key of the agent's name in dynamic metadata. */
export const METADATA = { namespace: 'a2a-gateway', key: 'agent' } as const
/** Namespace and key in attributes, which agentgateway can compute. */
const ATTRIBUTE = { namespace: 'envoy.filters.http.ext_proc', key: 'a2a-agent' } as const

const NO_BYTES = Buffer.alloc(0)

/** @returns null for a message with a part that this release does not know. @throws EnvoyFault */
export function readProcessing (message: Buffer): ProcessingMessage | null {
  let part: { part: ProcessingMessage['part'], of: ProcessingMessage['of'], lines: string[], bytes: Buffer, last: boolean } | null = null
  let observed = false
  let protocol: Protocol | null = null
  let agent: string | undefined
  let attribute: string | undefined
  let metadata: Buffer | null = null
  readFields(message, ({ number, bytes, value }) => {
    const of = number % 2 === 0 ? 'request' : 'response'
    switch (number) {
      case 2: case 3: part = { part: 'headers', of, bytes: NO_BYTES, ...headersOf(bytes) }; break
      case 4: case 5: part = { part: 'body', of, lines: [], ...bodyOf(bytes) }; break
      case 6: case 7: part = { part: 'trailers', of, lines: headersOf(bytes).lines, bytes: NO_BYTES, last: true }; break
      case 8:
        agent = textIn(bytes, 1, METADATA.namespace, METADATA.key)
        metadata = bytes
        break
      // Each field is one namespace.
      case 9: attribute = textIn(run(1, bytes), 1, ATTRIBUTE.namespace, ATTRIBUTE.key) ?? attribute; break
      case 10: observed = value !== 0; break
      case 11: protocol = protocolOf(bytes); break
    }
  })
  // TypeScript does not see the assignments of the callback.
  const messagePart = part as Omit<ProcessingMessage, 'observed' | 'protocol' | 'agent' | 'metadata'> | null
  return messagePart === null ? null : { ...messagePart, observed, protocol, agent: agent ?? attribute, metadata }
}

function headersOf (bytes: Buffer): { lines: string[], last: boolean } {
  let lines: string[] = []
  let last = false
  readFields(bytes, ({ number, bytes, value }) => {
    if (number === 1) lines = readHeaderMap(bytes)
    else if (number === 3) last = value !== 0
  })
  return { lines, last }
}

function bodyOf (message: Buffer): { bytes: Buffer, last: boolean } {
  let body: Buffer = NO_BYTES
  let last = false
  readFields(message, ({ number, bytes, value }) => {
    if (number === 1) body = bytes
    else if (number === 2 || number === 3) last ||= value !== 0
  })
  return { bytes: body, last }
}

function protocolOf (message: Buffer): Protocol {
  const protocol = { request: 0, response: 0, eager: false }
  readFields(message, ({ number, value }) => {
    if (number === 1) protocol.request = value
    else if (number === 2) protocol.response = value
    else if (number === 3) protocol.eager = value !== 0
  })
  return protocol
}

/**
 * `ProcessingMode`: what Envoy sends for the rest of the call. Where `allow_mode_override` is not set, Envoy ignores it. Envoy sends the
 * headers of the response and the trailers of the request: without a body in BUFFERED, the trailers are all that it shows.
 */
export interface ModeOverride {
  readonly request: BodyMode
  readonly response: BodyMode
  /** Send the trailers of the response. */
  readonly trailers: boolean
}

/** `HeaderSendMode.SEND`. */
const SEND = 1

function writeOverride (override: ModeOverride | null): Buffer[] {
  if (override === null) return []
  const { request, response, trailers } = override
  return [run(9, integer(2, SEND), integer(3, request), integer(4, response), integer(5, SEND), ...(trailers ? [integer(6, SEND)] : []))]
}

/** Change of a body: none, other bytes, or a piece of a body in the mode FULL_DUPLEX_STREAMED. */
export type BodyChange = null | Buffer | { readonly streamed: Buffer, readonly last: boolean }

export interface Reply {
  readonly changes: HeaderChanges
  readonly body: BodyChange
  readonly override: ModeOverride | null
}

/** Nothing changes. */
export const UNCHANGED: Reply = { changes: { set: [], remove: [] }, body: null, override: null }

/** Numbers of the replies in `ProcessingResponse`. */
const REPLIES = {
  request: { headers: 1, body: 3, trailers: 5 },
  response: { headers: 2, body: 4, trailers: 6 }
} as const

/** `ProcessingResponse` to a part. */
export function writeReply (of: ProcessingMessage['of'], part: ProcessingMessage['part'], { changes, body, override }: Reply): Buffer {
  const number = REPLIES[of][part]
  const mutation = writeMutation(part === 'trailers' ? 1 : 2, changes)
  const reply = part === 'trailers' ? run(number, ...mutation) : run(number, run(1, ...mutation, ...writeBody(body)))
  return Buffer.concat([reply, ...writeOverride(override)])
}

/** `BodyMutation`. */
function writeBody (body: BodyChange): Buffer[] {
  if (body === null) return []
  if (!Buffer.isBuffer(body)) return [run(3, run(3, run(1, body.streamed), integer(2, body.last ? 1 : 0)))]
  return [run(3, body.length === 0 ? integer(2, 1) : run(1, body))]
}

/** A response to the client in place of what the agent would send. */
export interface Immediate {
  readonly status: number
  /** Flat list. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Null unless the client speaks gRPC. */
  readonly grpcStatus: number | null
  /** Shown by Envoy as `%RESPONSE_CODE_DETAILS%`. */
  readonly details: string
}

export function writeImmediate ({ status, headers, body, grpcStatus, details }: Immediate): Buffer {
  return run(
    7,
    run(1, integer(1, status)),
    run(2, ...writeLines(1, headers, 'raw_value')),
    run(3, body),
    grpcStatus === null ? NO_BYTES : run(4, integer(1, grpcStatus)),
    run(5, details)
  )
}
