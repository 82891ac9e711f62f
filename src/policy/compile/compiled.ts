/** What policies and a card are compiled into: the shapes that a request looks up. Immutable. */
import type { PartView } from '../../a2a/message/message.js'
import type { Operation } from '../../a2a/operations.js'
import type { ErrorClass, Mode, OnUnknown, Signal } from '../../config/model/model.js'
import type { Condition } from './condition.js'
import type { ExtensionAliases } from './identity.js'
import type { CompiledSource, UnusableSchema } from './schema-source.js'
import type { Glob } from './glob.js'
import type { ResultSubject } from '../response/result-subject.js'
import type { Selector } from '../selectors/kit.js'
import type { Subject } from '../selectors/subject.js'

export interface CompiledRule {
  readonly id: string
  readonly side: 'request'
  readonly mode: Mode
  /** Null: wherever a message is, also in methods that no table knows. */
  readonly on: ReadonlySet<Operation | 'all'> | null
  readonly select: Selector
  /** What breaks the rule is to be removed: from the body, or lines of a header. */
  readonly strips: 'body' | 'headers' | null
  /** What the platform adds of it, any of which counts towards `min` where it is added. */
  readonly supply: readonly CompiledInjection[]
  readonly condition: Condition | null
  readonly min: number
  readonly max: number
  readonly schema: CompiledSource | null
  readonly errorClass: ErrorClass
  readonly undeclaredClass: ErrorClass
  readonly message: string | null
  readonly reason: string | null
  /** Whether rules for answers ask if it found something and let it pass. */
  readonly noted: boolean
}

export interface CompiledInjection {
  readonly place: 'message' | 'params'
  /** The name, and others under which a client may send the same. */
  readonly names: readonly [string, ...string[]]
  /** JSON text. */
  readonly value: Buffer
  readonly secret: boolean
  readonly existing: 'replace' | 'keep' | 'reject'
  readonly condition: Condition | null
}

/** Another extension that must be active too. */
export interface Dependency { readonly name: string, readonly uri: string, readonly counting: readonly string[], readonly exposed: boolean }

export interface CompiledActivation {
  /** Null: as soon as it is asked for; its rules run whether or not it is. */
  readonly signals: ReadonlySet<Signal> | null
  /** What belongs to the extension. */
  readonly owned: readonly Selector[]
  /** What becomes of it in a request that does not activate the extension. */
  readonly inactive: 'forward' | 'strip' | 'reject'
  /** Of `owned`, those that select headers. */
  readonly ownedHeaders: ReadonlySet<Selector>
  readonly requires: readonly Dependency[]
  readonly addsMissing: boolean
  /** Operations on which what it requires is checked; null = the agent's. */
  readonly scope: 'messages' | 'all' | null
}

export interface CompiledPolicy {
  readonly name: string
  /** As the card spells it. */
  readonly uri: string
  /** Every spelling of it. */
  readonly same: readonly string[]
  readonly activation: CompiledActivation
  readonly mode: Mode
  readonly rules: readonly CompiledRule[]
  readonly inject: readonly CompiledInjection[]
  readonly verbatim: boolean
  /** What it says of answers; null where that is nothing, `state` and `correlations` included, or the agent's answers are not read. */
  readonly responses: CompiledResponses | null
  readonly state: CompiledTaskState | null
  readonly correlations: readonly CompiledCorrelation[]
}

/** What one policy says of answers. */
export interface CompiledResponses {
  /** Whether what it says is done: both the policy and the agent's `responses` enforce. Otherwise it is only recorded. */
  readonly acts: boolean
  /** Whether it says nothing but what the extension owns. */
  readonly silent: boolean
  readonly rules: readonly CompiledResponseRule[]
  /** What belongs to the extension in an answer. */
  readonly owned: readonly Selector<ResultSubject>[]
  /** Whether that is removed where the client did not activate the extension. */
  readonly strips: boolean
  readonly redact: readonly CompiledRedaction[]
  readonly attributes: readonly { readonly name: string, readonly from: Selector<ResultSubject> }[]
  readonly metrics: readonly CompiledMetric[]
}

export interface CompiledResponseRule {
  readonly id: string
  /** enforce: the answer is refused. What else becomes of it says `verdict`, where the policy acts. */
  readonly mode: Mode
  readonly verdict: 'reject' | 'warn' | 'strip' | 'annotate'
  readonly side: 'response'
  readonly errorClass: ErrorClass
  readonly undeclaredClass: ErrorClass
  readonly on: ReadonlySet<Operation> | null
  readonly select: Selector<ResultSubject>
  /** Of `select.event`: the results that are meant; null for all. */
  readonly event: 'first' | 'terminal' | 'last' | null
  /** Of results that hold none of these places, nothing is counted. */
  readonly holds: (subject: ResultSubject) => boolean
  readonly chunked: boolean
  readonly condition: Condition<ResultSubject> | null
  readonly min: number
  readonly max: number
  readonly schema: CompiledSource | null
  readonly message: string | null
  readonly reason: string | null
}

/** A member of metadata, or what pointers lead to in it. */
export interface CompiledRedaction { readonly names: readonly Glob[], readonly steps: readonly string[] }

export interface CompiledMetric {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly from: Selector<ResultSubject>
  readonly by: { readonly from: Selector<ResultSubject>, readonly values: ReadonlySet<string> } | null
}

/** Selectors over either side, for what requests and answers both move. */
export interface BothSides { readonly request: Selector, readonly response: Selector<ResultSubject> }

export interface CompiledTaskState {
  readonly from: BothSides
  readonly taskStates: ReadonlyMap<string, ReadonlySet<string>>
  readonly transitions: ReadonlyMap<string, ReadonlySet<string>> | null
  readonly monotonic: BothSides | null
  readonly maxVisits: ReadonlyMap<string, number>
  /** On requests, and on answers, whose mode is the agent's `responses` as well. */
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
  /** Of the checked side. */
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
  /** Pointers, split into steps, of which `*` is one; none: the values themselves. */
  readonly pick: readonly (readonly string[])[]
  readonly first: boolean
}

export interface CompiledAddition {
  readonly kind: 'method' | 'route'
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
  /** For the caller: the extension, and how its data is tagged. */
  readonly words: string
}

/** `scope` where the policy has one of its own. */
export interface RequiredExtension { readonly uri: string, readonly label: string, readonly mode: Mode, readonly scope?: 'messages' | 'all' }

/** One policy's extension in one request. */
export interface PolicyActivity {
  readonly policy: CompiledPolicy
  /** Path of the first thing in the request that is the extension's, or null. */
  readonly evidence: string | null
  readonly active: boolean
}

/** What one agent, spoken to in one protocol version, demands of a request. Immutable. */
export interface AgentPolicy {
  readonly mode: Mode
  /** Of what makes a request unreadable or ambiguous: enforced as soon as anything is, for a rule judges what it could read. */
  readonly readMode: Mode
  readonly enforceOn: 'messages' | 'all'
  readonly unlisted: 'forward' | 'strip' | 'reject'
  readonly unknownMethods: 'reject' | 'forward'
  readonly maxExtensions: number
  readonly declared: readonly string[]
  readonly required: readonly RequiredExtension[]
  /** URIs that the gateway asks for on every operation. */
  readonly injected: readonly string[]
  /** Those of `injected` whose echo the client never sees. */
  readonly hidden: ReadonlySet<string>
  /** Every URI of card or policy, with its label for metrics: the policy's name, else the URI. */
  readonly labels: ReadonlyMap<string, string>
  /** Other URIs of the same extensions. */
  readonly names: ExtensionAliases
  /** JSON-RPC methods beside those of A2A, by name. */
  readonly methods: ReadonlyMap<string, readonly CompiledAddition[]>
  /** HTTP routes beside the operations of A2A, as `routeKey` names them. */
  readonly routes: ReadonlyMap<string, readonly CompiledAddition[]>
  /** Policies with rules for the request, on the card's extensions. */
  readonly policies: readonly CompiledPolicy[]
  /** All of `policies` in a request that asks for no extension, made once; null where that takes a look at the request. */
  readonly idle: readonly PolicyActivity[] | null
  /** What claims DataParts; null where those that nothing claims are allowed. */
  readonly untagged: readonly DataClaim[] | null
  /** Whether any of them can change a request; whether any can forbid it. */
  readonly edits: boolean
  /** What becomes of what is found wrong with answers. */
  readonly responses: Mode
  /** Whether answers can have to be read: a policy says something of them, or extensions can be asked for that anybody knows. */
  readonly reads: boolean
  /** Whether a policy says something of answers beyond what proves its extension active. */
  readonly evaluates: boolean
  /** By URI, every spelling: the extensions of which the client's header names only those that it asked for, or those that are proven as well. */
  readonly echoes: ReadonlyMap<string, 'verify' | 'synthesize'>
  /** Whether anything is remembered of tasks, by policies, or needed by conditions. */
  readonly remembers: boolean
  /** `policy/rule` of the request rules that `requestMatched` asks for. */
  readonly noted: ReadonlySet<string>
  readonly keepsVerbatim: boolean
  readonly unusable: readonly UnusableSchema[]
  readonly warnings: readonly string[]
}
