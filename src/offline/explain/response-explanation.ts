/**
 * The result of `explain` for the response to a request: member `answer` of `--json`. Format 1: members may be added; no member changes its
 * meaning.
 */
import type { CheckTrace, ExternalShown, RejectionShown, RuleTrace } from './explanation.js'

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
  /** Every violation that no response rule of a policy found. */
  readonly checks: readonly (CheckTrace & { readonly event: number | null })[]
  /** Questions to policy servers about the response; omitted without any. */
  readonly external?: readonly ExternalShown[]
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
