/** What `explain` finds out about one request: the shape of `--json`. Format 1: members may be added, none changes its meaning. */
import type { Operation } from '../../a2a/operations.js'
import type { Binding, Version } from '../../a2a/versions.js'
import type { Layer, Mode } from '../../config/model/model.js'
import type { ResponseExplanation } from './response-explanation.js'

export interface Explanation {
  readonly request: {
    readonly file: string
    /** From 1; 0 where the file has no lines to speak of. */
    readonly line: number
    /** Place in the file, from 1. */
    readonly number: number
    readonly name: string | null
    readonly method: string
    /** Path and names of the query; null where there is no address. */
    readonly target: string | null
    readonly bodyBytes: number
  }
  /** What was assumed. */
  readonly notes: readonly string[]
  readonly agent: {
    readonly name: string
    readonly mode: Mode
    readonly upstream: string
    readonly foundBy: 'address' | 'flag' | 'only'
  } | null
  /** URL or file of the card. */
  readonly card: string | null
  /** What the address is for. */
  readonly kind: 'operation' | 'card' | 'preflight' | 'passthrough' | 'refused'
  readonly binding: Binding | null
  readonly version: Version
  readonly versionWhy: string
  readonly operation: Operation | null
  /** JSON-RPC method, where A2A or a policy knows it. */
  readonly method: string | null
  /** Null where no operation was reached. */
  readonly extensions: ExtensionSets | null
  readonly policies: readonly PolicyTrace[]
  /** Broken rules that are no policy's `request` rules: the gateway's own checks, and those that come with being an extension. */
  readonly checks: readonly CheckTrace[]
  /** answer: by the gateway itself, with the agent's card. */
  readonly decision: 'forward' | 'reject' | 'answer'
  /** The rule that decided, as in the header `gateway-decision`. */
  readonly rule: string | null
  readonly reason: string | null
  /** `policy/rule` of what changes the request; empty where it is refused. */
  readonly edited: readonly string[]
  /** Whether an extension that is active has the request forwarded as it was sent. */
  readonly verbatim: boolean
  readonly forwarded: ForwardedShown | null
  readonly refusal: RejectionShown | null
  /** Null where no answer is recorded, or the request gets none from the agent. */
  readonly answer: ResponseExplanation | null
}

export interface ExtensionSets {
  readonly declared: readonly string[]
  readonly requested: readonly string[]
  readonly listed: readonly string[]
  readonly evidenced: readonly string[]
  readonly active: readonly string[]
  readonly injected: readonly string[]
  readonly missing: readonly string[]
}

export interface PolicyTrace {
  readonly name: string
  readonly uri: string | null
  readonly mode: Mode
  /** Where it comes from, lowest layer first. */
  readonly layers: readonly Layer[]
  /** By key, the layer that gave it. */
  readonly from: Readonly<Record<string, Layer>>
  readonly active: boolean
  /** Path of the first thing in the request that is the extension's. */
  readonly evidence: string | null
  /** Why its rules did not look at the request; null where they did. */
  readonly why: string | null
  /** What of it changes the request: `inactive`, `inject` and ids of its rules; empty where the request is refused. */
  readonly edits: readonly string[]
  readonly rules: readonly RuleTrace[]
}

export interface RuleTrace {
  readonly id: string
  /** observed: broken, and only noted. */
  readonly verdict: 'passed' | 'broken' | 'observed' | 'not applicable'
  /** Of `not applicable`. */
  readonly why: string | null
  /** Number of values it looked at. */
  readonly values: number
  readonly violations: readonly { readonly path: string, readonly message: string }[]
}

export interface CheckTrace {
  /** As in the header `gateway-decision`. */
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
    /** `***` for what may be the client's own. */
    readonly value: string
    /** Beside the recorded request. */
    readonly change: 'same' | 'changed' | 'added'
  }[]
  /** Names of recorded headers that do not go out. */
  readonly dropped: readonly string[]
  /** Names of headers of which policies take out lines, and of digests of a body that is changed. */
  readonly removed: readonly string[]
  readonly body: {
    /** Without secrets that the gateway adds. */
    readonly bytes: number
    readonly unchanged: boolean
    /** Whether the gateway adds a secret; `bytes` and `Content-Length` do not tell its length. */
    readonly secret: boolean
  }
}

/** As the client gets it, but for the headers that every answer has (Date, Connection). */
export interface RejectionShown {
  readonly status: number
  readonly phrase: string
  readonly headers: readonly { readonly name: string, readonly value: string }[]
  readonly body: string
}
