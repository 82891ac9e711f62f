/** The result of `explain` for one request: the shape of `--json`. Format 1: members may be added; no member changes its meaning. */
import type { Binding, Version } from '#a2a/versions.js'
import type { Layer, Mode } from '#config/model/model.js'
import type { JsonObject } from '#wire/json/object.js'
import type { Principal } from '#identity/principal.js'

export interface Explanation {
  readonly request: {
    readonly file: string
    /** Line, from 1. 0 when the file has no meaningful lines. */
    readonly line: number
    /** Number of the request in the file, from 1. */
    readonly number: number
    readonly name: string | null
    readonly method: string
    /** Path and parameter names of the query. Null when the request has no address. */
    readonly target: string | null
    readonly bodyBytes: number
  }
  /** Assumptions that were made. */
  readonly notes: readonly string[]
  readonly agent: {
    readonly name: string
    readonly mode: Mode
    readonly upstream: string
    readonly foundBy: 'address' | 'flag' | 'only'
  } | null
  /** URL or file of the card. */
  readonly card: string | null
  /** Who calls (`--caller`); null for nobody. */
  readonly caller: CallerShown | null
  /** The type of the requested address. */
  readonly kind: 'operation' | 'card' | 'preflight' | 'passthrough' | 'refused'
  readonly binding: Binding | null
  readonly version: Version
  readonly versionWhy: string
  /** The operation, or the method or route of an extension as a policy declares it. */
  readonly operation: string | null
  /** JSON-RPC method of an operation of A2A. */
  readonly method: string | null
  /** Decision of the access lists. `rule` is the id of the entry, or `none`. Null without lists, and when they have not decided. */
  readonly access: { readonly rule: string, readonly decision: 'allow' | 'deny', readonly mode: 'enforce' | 'observe' } | null
  /** The chain of callers behind the request; omitted for an agent without `access.delegation`. `problem`: why the gateway rejects it. */
  readonly delegation?: {
    readonly depth: number
    readonly hops: readonly string[]
    readonly initiator: CallerShown | null
    readonly mode: 'enforce' | 'observe'
    readonly problem: string | null
  }
  /** Null when the request reached no operation. */
  readonly extensions: ExtensionSets | null
  readonly policies: readonly PolicyTrace[]
  /** Violations that no `request` rule of a policy found: those of the gateway's own checks, and of the checks that every extension has. */
  readonly checks: readonly CheckTrace[]
  /** Data that a policy owns and none of the rules that applied looked at. */
  readonly unexamined: readonly { readonly extension: string, readonly path: string }[]
  /** Questions to policy servers about the request; omitted without any. */
  readonly external?: readonly ExternalShown[]
  /** Ids of the limits and budgets in which the request counts, in their order; omitted without any. */
  readonly limits?: readonly string[]
  /** answer: the gateway itself responds, with the agent's card. pause: the request waits for a person. */
  readonly decision: 'forward' | 'reject' | 'answer' | 'pause'
  /** State of the task that waits, and the question; omitted when the request does not wait. */
  readonly pause?: { readonly state: string, readonly text: string }
  /** The deciding rule, as in the header `gateway-decision`. */
  readonly rule: string | null
  readonly reason: string | null
  /** `policy/rule` of each change to the request. Empty when the request is rejected. */
  readonly edited: readonly string[]
  /** True when an active extension requires that the request is forwarded unchanged. */
  readonly verbatim: boolean
  readonly forwarded: ForwardedShown | null
  readonly refusal: RejectionShown | null
  /** Null when no response is recorded, or when the agent does not get the request. */
  readonly answer: ResponseExplanation | null
}

export type CallerShown = Pick<Principal, 'source' | 'subject' | 'client' | 'spiffe' | 'scopes' | 'groups' | 'tenant' | 'claims'>

/** One question to a policy server. `outcome` is that of the recorded answer; null without one. */
export interface ExternalShown {
  readonly rule: string
  readonly use: string
  readonly mode: 'enforce' | 'observe'
  readonly question: JsonObject
  readonly outcome: string | null
  /** The obligation that the gateway cannot fulfil. */
  readonly refused: string | null
  /** The answer; null without one. */
  readonly answer: Readonly<Record<string, unknown>> | null
}

export interface ExtensionSets {
  readonly declared: readonly string[]
  readonly requested: readonly string[]
  readonly listed: readonly string[]
  readonly evidenced: readonly string[]
  readonly active: readonly string[]
  readonly injected: readonly string[]
  readonly missing: readonly string[]
  /** The caller may not use them. */
  readonly forbidden: readonly string[]
}

export interface PolicyTrace {
  readonly name: string
  readonly uri: string | null
  readonly mode: Mode
  /** The layers that contribute to the policy, lowest first. */
  readonly layers: readonly Layer[]
  /** The layer that gave each key. */
  readonly from: Readonly<Record<string, Layer>>
  readonly active: boolean
  /** Path of the first data in the request that belongs to the extension. */
  readonly evidence: string | null
  /** Why the caller may not use the extension (`activation.callers`). Null when the caller may. */
  readonly forbidden: string | null
  /** Why the policy's rules did not evaluate the request. Null when they did. */
  readonly why: string | null
  /** Parts of the policy that change the request: `callers`, `inactive`, `inject` and ids of rules. Empty when the request is rejected. */
  readonly edits: readonly string[]
  readonly rules: readonly RuleTrace[]
}

export interface RuleTrace {
  readonly id: string
  /** observed: the rule is broken, and the violation is only recorded. */
  readonly verdict: 'passed' | 'broken' | 'observed' | 'not applicable'
  /** Reason of `not applicable`. */
  readonly why: string | null
  /** Number of evaluated values. */
  readonly values: number
  readonly violations: readonly { readonly path: string, readonly message: string }[]
}

export interface CheckTrace {
  /** The rule, as in the header `gateway-decision`. */
  readonly rule: string
  readonly verdict: 'broken' | 'observed'
  readonly reason: string
  readonly path: string
  readonly message: string
}

export interface ForwardedShown {
  readonly method: string
  readonly url: string
  readonly headers: readonly {
    readonly name: string
    /** `***` masks a value that may be private to the client. */
    readonly value: string
    /** Change relative to the recorded request. */
    readonly change: 'same' | 'changed' | 'added'
  }[]
  /** Names of recorded headers that are not forwarded. */
  readonly dropped: readonly string[]
  /** Names of headers from which policies remove lines, and of digest headers of a changed body. */
  readonly removed: readonly string[]
  readonly body: {
    /** Size without the secrets that the gateway adds. */
    readonly bytes: number
    readonly unchanged: boolean
    /** True when the gateway adds a secret. `bytes` and `Content-Length` do not reveal its length. */
    readonly secret: boolean
  }
}

/** The rejection as the client receives it, without the headers that every response has (Date, Connection). */
export interface RejectionShown {
  readonly status: number
  readonly phrase: string
  readonly headers: readonly { readonly name: string, readonly value: string }[]
  readonly body: string
  /** The status that a gRPC client gets, decoded; omitted over HTTP. `headers` are then the trailers that it has. */
  readonly grpc?: GrpcStatusShown
}

export interface GrpcStatusShown {
  readonly code: number
  /** Name of the code, such as `INVALID_ARGUMENT`. */
  readonly name: string
  readonly message: string
  /** Details of `google.rpc.Status`, in ProtoJSON; `@type` names the message. */
  readonly details: readonly JsonObject[]
}

// The result of `explain` for the response to a request: member `answer` of `--json`. Format 1: members may be added; no member changes its
// meaning.

export interface ResponseExplanation {
  readonly status: number
  /** Name of the agent's status over gRPC, such as `OK`; omitted over HTTP. */
  readonly grpcStatus?: string
  readonly bodyBytes: number
  /** Number of events of an event stream, up to the rejected event. Null when the response is no event stream. */
  readonly events: number | null
  /** Assumptions about the recording. */
  readonly notes: readonly string[]
  /** True when the body is read. `why` is the reason in both cases. */
  readonly read: boolean
  readonly why: string
  /** Each evaluated message, task or update. */
  readonly results: readonly ResultTrace[]
  /** Questions to policy servers about the response; omitted without any. */
  readonly external?: readonly ExternalShown[]
  /** Every violation that no response rule of a policy found. */
  readonly checks: readonly (CheckTrace & { readonly event: number | null })[]
  /** Null when nothing is known about the activation: the response is not that of an operation, or no policy uses the activation. */
  readonly activation: {
    readonly confirmed: readonly string[]
    readonly absent: readonly string[]
    readonly unexpected: readonly string[]
  } | null
  /** URIs in the header that the client receives. */
  readonly shown: readonly string[]
  /** `policy/rule` of each change to the response, and of each annotation for the client. */
  readonly edited: readonly string[]
  readonly annotations: readonly string[]
  /** Names of span attributes that are set, and of metrics that are measured. */
  readonly attributes: readonly string[]
  readonly measures: readonly {
    readonly policy: string
    readonly metric: string
    readonly by: string
    readonly type: 'counter' | 'gauge'
    readonly times: number
  }[]
  /** State of the task that the gateway would store: names of fields, and how often each is written. */
  readonly remembered: readonly { readonly field: string; readonly times: number }[]
  readonly decision: 'forward' | 'reject'
  readonly rule: string | null
  readonly reason: string | null
  /** Number of the rejected event, from 1. */
  readonly refusedEvent: number | null
  /** The response that the client receives. Null when the client receives the rejection instead. */
  readonly delivered: {
    readonly status: number
    /** Name of the status that a gRPC client gets; omitted over HTTP. `headers` has the trailers too. */
    readonly grpcStatus?: string
    readonly headers: readonly { readonly name: string; readonly value: string; readonly change: 'same' | 'changed' | 'added' }[]
    readonly dropped: readonly string[]
    readonly body: { readonly bytes: number; readonly unchanged: boolean }
  } | null
  /** The whole response that replaces the agent's response. For a stream that has begun: only the last event, as body. */
  readonly refusal: RejectionShown | null
}

export interface ResultTrace {
  /** Number of the event, from 1. Null when the response is no stream. */
  readonly event: number | null
  readonly kind: 'message' | 'task' | 'statusUpdate' | 'artifactUpdate'
  /** Path from the root of the body or of the event's data. */
  readonly path: string
  readonly policies: readonly {
    readonly name: string
    readonly uri: string
    /** Path of the first data in the result that belongs to the extension. */
    readonly evidence: string | null
    /** Why the policy's rules did not evaluate the result. Null when they did. */
    readonly why: string | null
    readonly rules: readonly (RuleTrace & { readonly becomes: 'reject' | 'strip' | 'annotate' | 'nothing' })[]
  }[]
}
