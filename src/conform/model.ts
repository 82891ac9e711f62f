/**
 * The data of the conformance suite for proxies: cases, what the scripted agent sends, and what was seen on the wire. A case is data only.
 * Names follow ACTS, the declarative corpus of the A2A project (a2aproject/A2A pull requests 1882 and 2227), where ACTS has a name:
 * `id`, `name`, `level`, `spec_ref`, `transport`, `operation`, `raw`.
 */

export const GROUPS = ['transparent', 'discovery', 'negotiation', 'errors', 'safety', 'observability', 'enforcing'] as const
export type Group = (typeof GROUPS)[number]

export const LEVELS = ['must', 'should', 'may'] as const
export type Level = (typeof LEVELS)[number]

/** Bindings, by the names of ACTS. `card`: a request for the card, which belongs to no binding. */
export const TRANSPORTS = ['jsonrpc', 'rest', 'grpc', 'card'] as const
export type Transport = (typeof TRANSPORTS)[number]

export const VERSIONS = ['1.0', '0.3'] as const
export type Version = (typeof VERSIONS)[number]

/** A header or metadata line: name and value. */
export type Line = readonly [name: string, value: string]

/**
 * The mark of a call in requests and scripts. The runner replaces each mark with the name of the call, which has the same length, so that
 * lengths in bytes stay right.
 */
export const CALL = 'conform-call-00000000'

/** An HTTP request, line by line. `Host`, and the framing of the body, come from the runner. */
export interface HttpRequest {
  readonly kind: 'http'
  readonly method: string
  /** Target below the URL of the interface, or below the URL of the agent for a card. */
  readonly target: string
  readonly headers: readonly Line[]
  /** The exact text of the body. Null: the request has none. */
  readonly body: string | null
  /** How the body is sent. `gzip`: compressed, with its length. Default: `length`. */
  readonly framing?: 'length' | 'chunked' | 'gzip'
  /** All bytes of the request, instead of the other members. `{host}` and `{path}` stand for authority and path of the interface. */
  readonly raw?: string
  /** The client disconnects when it has this number of pieces of the response. */
  readonly leaveAfter?: number
  /** Further requests on the same connection, each after the response before it. */
  readonly repeat?: number
}

/** A gRPC call. */
export interface GrpcRequest {
  readonly kind: 'grpc'
  /** `/package.Service/Method`. */
  readonly path: string
  readonly metadata: readonly Line[]
  /** Messages in base64, without their prefixes. */
  readonly messages: readonly string[]
  /** The prefix of each message says that the message is compressed. */
  readonly compressed?: boolean
  readonly leaveAfter?: number
}

export type CaseRequest = HttpRequest | GrpcRequest

/** What the scripted agent sends for one call. */
export interface Script {
  /** HTTP: status line. gRPC: 200. */
  readonly status?: number
  readonly headers?: readonly Line[]
  /** Pieces of the body as text; gRPC: messages in base64. */
  readonly pieces?: readonly string[]
  /** The agent sends each piece after the first only when the client has the piece before it. */
  readonly gated?: boolean
  /** Milliseconds before each piece after the first. */
  readonly pause?: number
  /** Framing of an HTTP response. Default: `length`, or `chunked` with more than one piece. */
  readonly framing?: 'length' | 'chunked' | 'close' | 'gzip'
  /** `reset`: the connection breaks after the last piece. `hang`: nothing comes after the last piece. Default: a complete response. */
  readonly end?: 'complete' | 'reset' | 'hang'
  /** `reset`: the connection breaks before a response. `early`: the response begins before the request is complete. */
  readonly begin?: 'reset' | 'early'
  /** gRPC: the trailers, with `grpc-status`. */
  readonly trailers?: readonly Line[]
}

/** The shape of an error in the binding of the caller. */
export interface ErrorShape {
  readonly check: 'error'
  /** Codes of JSON-RPC, any of them. Empty: any code. */
  readonly codes?: readonly number[]
  /** HTTP statuses of HTTP+JSON, any of them. */
  readonly statuses?: readonly number[]
  /** Codes of gRPC, any of them. */
  readonly grpc?: readonly number[]
  /** The response contains each of these texts. */
  readonly mentions?: readonly string[]
  /** The id of the request may be unknown to the party that rejects the request. */
  readonly anyId?: boolean
}

export type Check =
  | ErrorShape
  /** Number of requests that the agent got for the call through the proxy: at least and at most. */
  | { readonly check: 'calls', readonly least: number, readonly most: number }
  /** The agent got the same through the proxy as directly. */
  | { readonly check: 'request', readonly part: 'method' | 'target' | 'body' | 'messages' }
  | { readonly check: 'request-header', readonly name: string, readonly as: HeaderRule, readonly value?: string }
  /** The client got the same through the proxy as directly, or one of `is`. */
  | { readonly check: 'status', readonly is?: readonly number[] }
  | { readonly check: 'body', readonly as: 'bytes' | 'events' | 'json' }
  | { readonly check: 'messages' }
  | { readonly check: 'response-header', readonly name: string, readonly as: HeaderRule, readonly value?: string }
  | { readonly check: 'trailer', readonly name: string, readonly as: HeaderRule, readonly value?: string }
  | { readonly check: 'not-html' }
  /** Each gated piece reached the client before the agent sent the next one. */
  | { readonly check: 'timely' }
  /** The agent saw that the client had left. */
  | { readonly check: 'cancelled' }
  /** `broken`: the client can see that the response is incomplete. */
  | { readonly check: 'end', readonly is: 'complete' | 'broken' }
  /** Nobody fetched an address that a card or a message names. */
  | { readonly check: 'no-fetch' }
  | { readonly check: 'card', readonly rule: CardRule }
  /** The trace of the caller goes on. */
  | { readonly check: 'trace' }
  /** One of the lists holds as a whole. */
  | { readonly check: 'either', readonly of: readonly (readonly Check[])[] }

/**
 * `lines`: the same lines as directly, in their order. `members`: the same members of a comma-separated list. `same`: the same value, lines
 * joined with a comma. `absent`, `present`. `is`: equal to `value`. `has`: contains `value`. `not`: does not contain `value`.
 */
export type HeaderRule = 'lines' | 'members' | 'same' | 'absent' | 'present' | 'is' | 'has' | 'not'

export const CARD_RULES = [
  'valid', 'addresses', 'reachable', 'order', 'members', 'signature', 'validator', 'not-modified', 'host', 'forwarded-host', 'private',
  'extended', 'same-everywhere'
] as const
export type CardRule = (typeof CARD_RULES)[number]

/** What a proxy may claim in `proxy.yaml`: see run/declaration.ts. */
export type Claim = 'rewritesCards' | 'ownErrors' | 'readsVersion' | 'compression' | 'tracing' | 'enforcesExtensions' | 'bodyOf1MiB'

export interface Case {
  readonly id: string
  readonly name: string
  readonly group: Group
  readonly level: Level
  /** The section of a specification or an RFC, or the statement of the profile. */
  readonly spec_ref: string
  /** The number of the statement in the register of docs/contributing/conformance.md. */
  readonly register?: string
  readonly transport: Transport
  readonly version: Version
  /** The operation, by its name in ACTS. */
  readonly operation: string
  readonly request: CaseRequest
  /** What the agent sends. Default: the response of its operation. */
  readonly agent?: Script
  readonly expect: readonly Check[]
  /** The proxy must declare these; otherwise the case is not claimed. */
  readonly claims?: readonly Claim[]
  /** False: there is no comparison, so the request goes through the proxy only. */
  readonly direct?: boolean
}

/** A request as the agent got it. */
export interface Receipt {
  readonly method: string
  readonly target: string
  readonly headers: readonly Line[]
  /** Base64. gRPC: the messages with their prefixes. */
  readonly body: string
  /** The client was gone before the end of the response. */
  readonly left: boolean
  /** The request was complete. */
  readonly complete: boolean
}

/** A response as the client got it. */
export interface Exchange {
  /** 0: no response. */
  readonly status: number
  readonly headers: readonly Line[]
  readonly trailers: readonly Line[]
  readonly body: Buffer
  readonly end: 'complete' | 'broken' | 'timeout' | 'left'
  /** Numbers of the gated pieces that came late. */
  readonly late: readonly number[]
  /** Why there is no response. */
  readonly problem: string | null
}
