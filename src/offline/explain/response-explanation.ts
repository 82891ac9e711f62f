/** What `explain` finds out about the answer to a request: member `answer` of `--json`. Format 1: members may be added, none changes its meaning. */
import type { CheckTrace, RejectionShown, RuleTrace } from './explanation.js'

export interface ResponseExplanation {
  readonly status: number
  readonly bodyBytes: number
  /** Of an event stream, up to the one that is refused; null where it is none. */
  readonly events: number | null
  /** What was assumed of the recording. */
  readonly notes: readonly string[]
  /** Whether its body is read, and why or why not. */
  readonly read: boolean
  readonly why: string
  /** Each message, task or update that was looked at. */
  readonly results: readonly ResultTrace[]
  /** Everything that was found and that no response rule of a policy says. */
  readonly checks: readonly (CheckTrace & { readonly event: number | null })[]
  /** Null where nothing is known of it: the answer is none of an operation, or nobody asks. */
  readonly activation: {
    readonly confirmed: readonly string[]
    readonly absent: readonly string[]
    readonly unexpected: readonly string[]
  } | null
  /** URIs of the header that the client gets. */
  readonly shown: readonly string[]
  /** `policy/rule` of what changes the answer, and of what the client is told. */
  readonly edited: readonly string[]
  readonly annotations: readonly string[]
  /** Names of span attributes that are set, of metrics that are measured. */
  readonly attributes: readonly string[]
  readonly measures: readonly { readonly policy: string, readonly metric: string, readonly by: string, readonly type: 'counter' | 'gauge', readonly times: number }[]
  /** What would be remembered of the task: names of fields, and how often each is written. */
  readonly remembered: readonly { readonly field: string, readonly times: number }[]
  readonly decision: 'forward' | 'reject'
  readonly rule: string | null
  readonly reason: string | null
  /** The event that is refused, from 1. */
  readonly refusedEvent: number | null
  /** What the client gets; null where it gets the refusal instead. */
  readonly delivered: {
    readonly status: number
    readonly headers: readonly { readonly name: string, readonly value: string, readonly change: 'same' | 'changed' | 'added' }[]
    readonly dropped: readonly string[]
    readonly body: { readonly bytes: number, readonly unchanged: boolean }
  } | null
  /** The whole answer in its place; or, of a stream that has begun, only the last event as body. */
  readonly refusal: RejectionShown | null
}

export interface ResultTrace {
  /** From 1; null where the answer is no stream. */
  readonly event: number | null
  readonly kind: 'message' | 'task' | 'statusUpdate' | 'artifactUpdate'
  /** From the root of the body or of the event's data. */
  readonly path: string
  readonly policies: readonly {
    readonly name: string
    readonly uri: string
    /** Path of the first thing in the result that is the extension's. */
    readonly evidence: string | null
    /** Why its rules did not look at the result; null where they did. */
    readonly why: string | null
    readonly rules: readonly (RuleTrace & { readonly becomes: 'reject' | 'strip' | 'annotate' | 'nothing' })[]
  }[]
}
