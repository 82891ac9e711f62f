/** Requests of the console to the thread of the playground, and the thread's responses. The messages survive structured clone. */
import type { PackedCards } from '#a2a/card/packed-cards.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { Diagnostic } from '#config/diagnostics.js'
import type { Config } from '#config/model/model.js'
import type { KeptRequest } from './request-log.js'

/** The agent whose requests are evaluated. */
export interface SandboxAgent {
  readonly name: string
  /** Configuration in force, with this agent alone. */
  readonly config: Config
  /** Its card; null when there is none that can be used. */
  readonly cards: PackedCards | null
}

export type PlaygroundTask =
  /** @param file configuration file in force; null for none */
  | { readonly kind: 'document', readonly agent: SandboxAgent, readonly file: string | null }
  | { readonly kind: 'samples', readonly agent: SandboxAgent }
  | { readonly kind: 'request', readonly request: KeptRequest }
  /** @param request text of the request; '' only checks the policy */
  | { readonly kind: 'explain', readonly agent: SandboxAgent, readonly policy: string, readonly request: string, readonly caller: KeptRequest['caller'] }
  | { readonly kind: 'replay', readonly agent: SandboxAgent, readonly policy: string, readonly requests: readonly KeptRequest[] }

export interface Checked {
  /** Empty: the policy can be used. */
  readonly problems: readonly Diagnostic[]
  readonly warnings: readonly Diagnostic[]
}

export interface Explained extends Checked {
  /** Output of `explain --json` for the request; null when the policy or the request cannot be used. */
  readonly explanation: object | null
  /** Output of `explain`. */
  readonly text: string | null
  /** Why the request is not explained, in words; null when it is, and when the policy cannot be used. */
  readonly problem: string | null
}

/** A request of a replay whose decision differs, or that the changed policy rejects or reports. */
export interface ReplayedRequest {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly operation: string
  readonly binding: Binding
  readonly version: Version
  /** Decision of the policy in force, without the state of tasks. */
  readonly before: 'forward' | 'reject'
  readonly after: 'forward' | 'reject'
  /** The rule of the decision to reject, else the first rule that is only observed. */
  readonly rule: string | null
  readonly reason: string | null
  readonly message: string | null
  readonly violations: readonly { readonly rule: string, readonly mode: 'enforce' | 'observe', readonly path: string, readonly message: string }[]
}

export interface Replay {
  /** Number of requests that were evaluated. */
  readonly evaluated: number
  /** Number of kept requests whose body was too large to keep. */
  readonly withoutBody: number
  /** Time of the oldest evaluated request, ms since the epoch; null without any. */
  readonly since: number | null
  readonly rejected: number
  /** Number of rejected requests that the policy in force forwards. */
  readonly newlyRejected: number
  readonly newlyForwarded: number
  /** Forwarded requests that break a rule in `observe`. */
  readonly observed: number
  /** Newest first; those with a changed decision before the others. */
  readonly requests: readonly ReplayedRequest[]
}

export interface Replayed extends Checked {
  /** Null when the policy cannot be used. */
  readonly replay: Replay | null
  readonly problem: string | null
}

export interface Sample {
  readonly name: string
  /** The decision that the test of the catalogue expects. */
  readonly expected: 'forward' | 'reject'
  /** Name of the policy. */
  readonly policy: string
  /** The request, as an `.http` file. */
  readonly text: string
}

export interface Results {
  readonly document: string
  readonly samples: readonly Sample[]
  readonly request: string
  readonly explain: Explained
  readonly replay: Replayed
}
