/** The compiled form of policies and a card, which requests use. Immutable. */
import type { ExtendedCardNames } from '#a2a/card/extended-card-names.js'
import type { PartView } from '#a2a/message/message.js'
import type { Operation } from '#a2a/operations.js'
import type { ErrorClass, Mode, OnUnknown, Signal } from '#config/model/model.js'
import type { PauseConfig } from '#config/model/policy-model.js'
import type { Principal } from '#identity/principal.js'
import type { Condition } from './condition.js'
import type { ExtensionAliases } from './identity.js'
import type { CompiledSource, UnusableSchema } from './schema-source.js'
import type { CompiledFreshness } from '../freshness.js'
import type { CompiledOwnership } from '../access/ownership.js'
import type { CompiledPush } from '../push/check.js'
import type { Glob } from '#wire/glob.js'
import type { ValueValidator } from '#wire/json/unread-value.js'
import type { ResultSubject } from '../response/result-subject.js'
import type { Matcher, Selector } from '../selectors/selection.js'
import type { Subject } from '../selectors/subject.js'
import type { CompiledGuard, OwnedData } from '../access/forbidden.js'

export interface CompiledRule {
  readonly id: string
  readonly side: 'request'
  readonly mode: Mode
  /** Null: every place with a message, including methods that no table knows. */
  readonly on: ReadonlySet<Operation | 'all'> | null
  readonly select: Selector
  /** Target of a removal when data breaks the rule: the body, or lines of a header. Null: the rule removes nothing. */
  readonly strips: 'body' | 'headers' | null
  /** Injections that add the data of this rule. An injection that applies to the request counts towards `min`. */
  readonly supply: readonly CompiledInjection[]
  readonly condition: Condition | null
  readonly min: number
  readonly max: number
  readonly schema: CompiledSource | null
  /** Name of the policy server that decides about the selected values; null for none. */
  readonly external: string | null
  readonly freshness: CompiledFreshness | null
  readonly unique: CompiledUnique | null
  readonly errorClass: ErrorClass
  readonly undeclaredClass: ErrorClass
  readonly message: string | null
  readonly reason: string | null
  /** The task that waits for a person, in the place of a rejection; null for none. */
  readonly pause: CompiledPause | null
  /** True when rules for responses depend on whether this rule found something and accepted it. */
  readonly noted: boolean
}

export interface CompiledPause extends Pick<PauseConfig, 'state' | 'text' | 'data' | 'metadata'> {
  /** Selects and validates the evidence; null when the caller alone is the evidence. Its id is that of the rule. */
  readonly evidence: CompiledRule | null
  /** Null: any caller. The result is null when the condition is undecidable. */
  readonly caller: ((caller: Principal | null) => boolean | null) | null
  /** Null: no value declines. */
  readonly declined: Matcher | null
}

/** A rule with `pause`. */
export interface PausingRule { readonly policy: CompiledPolicy, readonly rule: CompiledRule, readonly pause: CompiledPause }

export interface CompiledInjection {
  readonly place: 'message' | 'params'
  /** The name, and other names under which a client may send the same data. */
  readonly names: readonly [string, ...string[]]
  /** Returns the JSON text of the value; null when the caller has no such value. */
  readonly valueOf: (caller: Principal | null) => Buffer | null
  readonly secret: boolean
  /** The property of the caller that a request must have, for messages. Null: the request may go without. */
  readonly needs: string | null
  readonly existing: 'replace' | 'keep' | 'reject'
  readonly condition: Condition | null
}

/** Another extension that must be active too. */
export interface Dependency { readonly name: string, readonly uri: string, readonly counting: readonly string[], readonly exposed: boolean }

export interface CompiledActivation extends OwnedData {
  /** Null: the extension is active as soon as it is requested, and its rules run even when it is not active. */
  readonly signals: ReadonlySet<Signal> | null
  /** Handling of owned data in a request that does not activate the extension. */
  readonly inactive: 'forward' | 'strip' | 'reject'
  readonly requires: readonly Dependency[]
  readonly addsMissing: boolean
  /** Operations on which the required extensions are checked; null = the agent's setting. */
  readonly scope: 'messages' | 'all' | null
}

export interface CompiledPolicy {
  readonly name: string
  /** As the card spells it. */
  readonly uri: string
  /** Every spelling of it. */
  readonly same: readonly string[]
  /** Every URI whose request activates the extension: `same`, and other extensions of the card that the rules apply to. */
  readonly activators: readonly string[]
  readonly activation: CompiledActivation
  readonly mode: Mode
  readonly rules: readonly CompiledRule[]
  readonly inject: readonly CompiledInjection[]
  readonly verbatim: boolean
  /**
   * Rules for responses. Null when the policy defines nothing for responses, including `state` and `correlations`, or when the gateway does
   * not read the agent's responses.
   */
  readonly responses: CompiledResponses | null
  readonly state: CompiledTaskState | null
  readonly correlations: readonly CompiledCorrelation[]
}

/** The part of one policy that applies to responses. */
export interface CompiledResponses {
  /** True when both the policy and the agent's `responses` enforce. Otherwise the gateway only records the results. */
  readonly acts: boolean
  /** True when the policy defines nothing for responses except owned data. */
  readonly silent: boolean
  readonly rules: readonly CompiledResponseRule[]
  /** Selects the data in a response that belongs to the extension. */
  readonly owned: readonly Selector<ResultSubject>[]
  /** True when owned data is removed if the client did not activate the extension. */
  readonly strips: boolean
  readonly redact: readonly CompiledRedaction[]
  readonly attributes: readonly { readonly name: string, readonly from: Selector<ResultSubject> }[]
  readonly metrics: readonly CompiledMetric[]
}

export interface CompiledResponseRule {
  readonly id: string
  /** `enforce`: the gateway rejects the response. `verdict` defines the other effects, when the policy acts. */
  readonly mode: Mode
  readonly verdict: 'reject' | 'warn' | 'strip' | 'annotate'
  readonly side: 'response'
  readonly errorClass: ErrorClass
  readonly undeclaredClass: ErrorClass
  /** Operations and methods of extensions; null for all operations. */
  readonly on: ReadonlySet<string> | null
  /** True when the rule selects from the result of a method, whatever its shape, instead of messages and tasks. */
  readonly ofMethod: boolean
  readonly select: Selector<ResultSubject>
  /** Results that the rule applies to (`select.event`); null for all. */
  readonly event: 'first' | 'terminal' | 'last' | null
  /** False for a result that holds none of the selected places. The rule does not count values in that result. */
  readonly holds: (subject: ResultSubject) => boolean
  /** True when parts that are appended to an artifact may be fragments, false when they may not. Null: only parts without data may. */
  readonly chunked: boolean | null
  readonly condition: Condition<ResultSubject> | null
  readonly min: number
  readonly max: number
  readonly schema: CompiledSource | null
  /** Name of the policy server that decides about the selected values; null for none. */
  readonly external: string | null
  readonly freshness: CompiledFreshness | null
  readonly message: string | null
  readonly reason: string | null
}

/** A member of metadata, or the values below it that pointers select. */
export interface CompiledRedaction { readonly names: readonly Glob[], readonly steps: readonly string[] }

export interface CompiledMetric {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly from: Selector<ResultSubject>
  readonly by: { readonly from: Selector<ResultSubject>, readonly values: ReadonlySet<string> } | null
}

/** Selectors for either side, for data that both requests and responses contain. */
export interface BothSides { readonly request: Selector, readonly response: Selector<ResultSubject> }

export interface CompiledTaskState {
  readonly from: BothSides
  /** Null: the task has one state. */
  readonly key: BothSides | null
  readonly taskStates: ReadonlyMap<string, ReadonlySet<string>>
  readonly transitions: ReadonlyMap<string, ReadonlySet<string>> | null
  readonly monotonic: BothSides | null
  readonly maxVisits: ReadonlyMap<string, number>
  /** Modes for requests and for responses. The mode for responses also depends on the agent's `responses`. */
  readonly mode: { readonly request: Mode, readonly response: Mode }
  readonly onUnknown: OnUnknown
  readonly errorClass: ErrorClass
  readonly message: string | null
  readonly reason: string | null
}

export interface CompiledCorrelation {
  readonly id: string
  readonly remember: CompiledSide
  readonly check: CompiledSide
  readonly relation: 'subset' | 'equalSet' | 'member' | 'sameLength'
  /** Mode of the checked side. */
  readonly mode: Mode
  readonly condition: Condition<Subject> | null
  readonly onUnknown: OnUnknown
  readonly errorClass: ErrorClass
  readonly message: string | null
  readonly reason: string | null
}

export interface CompiledSide {
  readonly on: 'request' | 'response'
  readonly select: BothSides
  /** Pointers, split into steps. A step may be `*`. An empty list selects the values themselves. */
  readonly pick: readonly (readonly string[])[]
  readonly first: boolean
}

export interface CompiledAddition {
  readonly kind: 'method' | 'route'
  /** Name for telemetry, as the policy writes it: `com.example/own`, `GET /commands/{name}`. */
  readonly name: string
  /** Name of the policy. */
  readonly policy: string
  readonly uri: string
  readonly mode: Mode
  readonly needsActive: boolean
  /** Schema of a method's params, or of a route's body. */
  readonly schema: CompiledSource | null
}

/** One extension's claim on data. */
export interface DataClaim {
  readonly claims: (part: PartView) => boolean
  /** Text for the caller: the extension, and how its data is tagged. */
  readonly words: string
}

/** A required extension. `scope` is set when the policy has its own scope. */
export interface RequiredExtension {
  readonly uri: string
  readonly label: string
  readonly mode: Mode
  readonly scope?: 'messages' | 'all'
}

/** One policy's extension in one request. */
export interface PolicyActivity {
  readonly policy: CompiledPolicy
  /** Path of the first data in the request that belongs to the extension, or null. */
  readonly evidence: string | null
  readonly active: boolean
}

/** The requirements of one agent for requests in one protocol version. Immutable. */
export interface AgentPolicy {
  readonly mode: Mode
  /**
   * Mode for problems that make a request unreadable or ambiguous. It is `enforce` as soon as any rule enforces, because a rule evaluates
   * only what it can read.
   */
  readonly readMode: Mode
  readonly enforceOn: 'messages' | 'all'
  readonly unlisted: 'forward' | 'strip' | 'reject'
  readonly unknownMethods: 'reject' | 'forward'
  readonly maxExtensions: number
  readonly declared: readonly string[]
  readonly required: readonly RequiredExtension[]
  /** URIs that the gateway requests on every operation. */
  readonly injected: readonly string[]
  /** The URIs of `injected` that the client's extension header never contains. */
  readonly hidden: ReadonlySet<string>
  /** Every URI of card or policy, with its label for metrics: the policy's name, or the URI. */
  readonly labels: ReadonlyMap<string, string>
  /** Names in extended cards that callers got; null for none. Changes while requests run. */
  readonly seen: ExtendedCardNames | null
  /** Other URIs of the same extensions. */
  readonly names: ExtensionAliases
  /** JSON-RPC methods besides those of A2A, by name. */
  readonly methods: ReadonlyMap<string, readonly CompiledAddition[]>
  /** HTTP routes besides the operations of A2A, by `routeKey`. */
  readonly routes: ReadonlyMap<string, readonly CompiledAddition[]>
  /** Policies with rules for the request, for extensions that the card declares. */
  readonly policies: readonly CompiledPolicy[]
  /** Extensions that only some callers may use (`activation.callers`), whether or not the card declares them. */
  readonly guards: readonly CompiledGuard[]
  /**
   * The activity of all `policies` in a request for no extension, created once. Null when the activity depends on the content of the
   * request.
   */
  readonly idle: readonly PolicyActivity[] | null
  /** Claims on DataParts. Null when unclaimed DataParts are allowed. */
  readonly untagged: readonly DataClaim[] | null
  /** Limits of push notification configurations; null for none. */
  readonly push: CompiledPush | null
  /** `access.tasks`; null when every caller may use every task. */
  readonly ownership: CompiledOwnership | null
  /** True when any rule has `unique`. */
  readonly claims: boolean
  /** True when any rule for requests has `external`. */
  readonly asks: boolean
  /** The rules with `pause`, by `policy/rule`. Null for none. */
  readonly pauses: ReadonlyMap<string, PausingRule> | null
  /** True when any policy can change a request. */
  readonly edits: boolean
  /** Handling of violations in responses. */
  readonly responses: Mode
  /** True when the gateway may have to read responses: a policy applies to them, or clients can request known extensions. */
  readonly reads: boolean
  /** True when a policy evaluates more in responses than the proof that its extension is active. */
  readonly evaluates: boolean
  /**
   * `echo` by URI, in every spelling. For `verify`, the client's header names only extensions that were requested. For `synthesize`, the
   * header also names extensions that are proven active.
   */
  readonly echoes: ReadonlyMap<string, 'verify' | 'synthesize'>
  /** True when policies remember data of tasks, or when conditions need this data. */
  readonly remembers: boolean
  /** `policy/rule` of the request rules that `requestMatched` refers to. */
  readonly noted: ReadonlySet<string>
  readonly keepsVerbatim: boolean
  /** Accepts data that stays unread, in requests and responses. */
  readonly validator: ValueValidator
  readonly unusable: readonly UnusableSchema[]
  readonly warnings: readonly string[]
}

export interface CompiledUnique {
  /** Milliseconds. */
  readonly window: number
  readonly onUnknown: OnUnknown
}
