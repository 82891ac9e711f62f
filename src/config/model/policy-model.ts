/** Policies as the gateway uses them: the vocabulary of `policy-schema.ts`, `rule-schema.ts` and `answer-schema.ts` as types. */
import type { Operation } from '../../a2a/operations.js'
import type { TaskState } from '../../a2a/task-state.js'

export type Mode = 'enforce' | 'observe' | 'off'

/** One extension's policy, as `policy-schema.ts` describes it; docs/policy-reference.md is made from that. */
export interface PolicyConfig {
  /** For people; nothing depends on it. */
  readonly about?: { readonly title?: string, readonly source?: string, readonly summary?: string, readonly drift?: readonly string[], readonly notes?: readonly string[] }
  /** Either this or `uriPattern`. */
  readonly uri?: string
  /** Glob over the URIs that the card declares. */
  readonly uriPattern?: string
  /** same = another spelling; satisfies = another extension that counts where this one is required. */
  readonly aliases?: readonly { readonly uri: string, readonly relation: 'same' | 'satisfies' }[]
  /** Wins over the agent's mode for this extension, except that an agent in `off` stays off. */
  readonly mode?: Mode
  /** What in a request belongs to the extension: its evidence. */
  readonly owns?: {
    readonly metadata?: readonly string[]
    readonly dataKeys?: readonly string[]
    readonly mediaTypes?: readonly string[]
    readonly headers?: readonly string[]
  }
  readonly inactive?: {
    /** What becomes of owned data without activation. Default forward. */
    readonly request?: 'forward' | 'strip' | 'reject'
    /** The same of an answer to a request that does not activate it. Default forward. */
    readonly response?: 'forward' | 'strip'
  }
  readonly activation?: {
    /** What makes the extension active in a request. Absent: asking for it does, and rules run in any case. */
    readonly signals?: readonly Signal[]
    /** Overrides the agent's enforceOn. */
    readonly scope?: 'messages' | 'all'
    /** Names of policies whose extensions must be active too. */
    readonly requires?: readonly string[]
    /** Default reject. */
    readonly onMissing?: 'reject' | 'add'
    /** card = follow AgentExtension.required. Default card. */
    readonly required?: 'card' | 'always' | 'never'
    /** inject = the gateway asks for the extension on the client's behalf. Default none. */
    readonly default?: 'none' | 'inject'
    /** When injected: may the client see the echo? Default false. */
    readonly expose?: boolean
  }
  /** JSON-RPC methods that the extension adds, by name. */
  readonly methods?: Readonly<Record<string, MethodConfig>>
  /** HTTP routes that the extension adds beside the operations of A2A. */
  readonly routes?: readonly RouteConfig[]
  readonly card?: CardChecksConfig
  readonly request?: readonly RuleConfig[]
  /** Rules for what the agent answers. */
  readonly response?: readonly ResponseRuleConfig[]
  /** How a task moves through the extension's own states. */
  readonly state?: TaskStateConfig
  /** What a later message of a task must have in common with an earlier one. */
  readonly correlate?: readonly CorrelationConfig[]
  /** Values to report from the extension's data. */
  readonly observe?: ObserveConfig
  /** What becomes of the header in which the agent says what it activated. Default passthrough. */
  readonly echo?: 'passthrough' | 'verify' | 'synthesize'
  /** Members that the platform adds to requests in which the extension is active. */
  readonly inject?: readonly InjectionConfig[]
  /** verbatim = a request in which the extension is active is neither edited nor added to. Default normal. */
  readonly integrity?: 'normal' | 'verbatim'
  /** `<metadata key>` or `<metadata key>#<JSON Pointer>`, in which a step may be `*`. */
  readonly redact?: readonly string[]
}

/** What the agent's card must hold where it declares the extension. */
export interface CardChecksConfig {
  /** Of `params` of the card's declaration. */
  readonly params?: InlineSchema | SchemaRef
  /** Of the whole card. */
  readonly schema?: InlineSchema | SchemaRef
  /** Default warn. */
  readonly onInvalid?: 'refuse' | 'warn'
}

/** Exactly one of `value` and `fromSecret`. */
export interface InjectionConfig {
  readonly on?: 'request'
  /** One name, or `$uri`, `$uri/...`. */
  readonly metadata: string
  /** Whose metadata. Default message. */
  readonly in?: 'message' | 'params'
  readonly value?: unknown
  readonly fromSecret?: SecretConfig
  /** What a secret's text is. Default text. */
  readonly as?: 'text' | 'json'
  /** What becomes of the client's own. Default replace. */
  readonly existing?: 'replace' | 'keep' | 'reject'
  readonly when?: ConditionConfig
  readonly unless?: ConditionConfig
}

/** Where a secret is, never what it says: exactly one of its members. `file` is absolute. */
export interface SecretConfig { readonly file?: string, readonly env?: string }

export interface MethodConfig {
  /** What the caller needs: the extension active (the default), the card to declare it, nothing. */
  readonly need?: 'active' | 'declared' | 'none'
  /** JSON Schema of `params`: inline, or from a file. */
  readonly params?: InlineSchema | SchemaRef
}

export interface RouteConfig {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the agent's path; a segment `{name}` stands for any one segment. */
  readonly path: string
  /** As of a method. */
  readonly need?: 'active' | 'declared' | 'none'
  /** JSON Schema of the body: inline, or from a file. */
  readonly body?: InlineSchema | SchemaRef
}

/** What a rule does that needs memory of a task that is not there: nothing, or as if it were broken. */
export type OnUnknown = 'allow' | 'reject'

/** Substates are what `from` selects: strings of the extension's own, of at most 128 characters. */
export interface TaskStateConfig {
  /** Of requests and answers alike; places that one of them does not have are passed over. No `event`. */
  readonly from: ResponseSelectorConfig
  /** By substate, the task states it may come with. Substates not listed may come with any. */
  readonly taskStates?: Readonly<Record<string, readonly TaskState[]>>
  /** By substate, those that may follow; `''` for none yet. After one that is not listed anything may follow. */
  readonly transitions?: Readonly<Record<string, readonly string[]>>
  /** A number, or a string that is one, that does not fall from one message or result of a task to the next. */
  readonly monotonic?: ResponseSelectorConfig
  /** How often a task may enter a substate. */
  readonly maxVisits?: Readonly<Record<string, number>>
  /** Default warn. */
  readonly onViolation?: 'warn' | 'reject'
  /** Default allow. */
  readonly onUnknown?: OnUnknown
  readonly error?: RuleErrorConfig
}

/** Values are compared as JSON. */
export interface CorrelationConfig {
  readonly id: string
  readonly remember: CorrelationSide
  readonly check: CorrelationSide & {
    /** What is checked is part of what is remembered, the same set, one of it; or the two are of the same length. */
    readonly relation: 'subset' | 'equalSet' | 'member' | 'sameLength'
  }
  readonly when?: ConditionConfig
  readonly unless?: ConditionConfig
  /** Default reject. */
  readonly verdict?: 'reject' | 'warn'
  /** Default allow. */
  readonly onUnknown?: OnUnknown
  readonly error?: RuleErrorConfig
}

export interface CorrelationSide {
  readonly on: 'request' | 'response'
  readonly select: ResponseSelectorConfig
  /** JSON Pointers into the values, in which a step may be `*`. Default: the values themselves. */
  readonly pick?: string | readonly string[]
  /** Only what the first of the pointers that leads anywhere finds. */
  readonly first?: boolean
}

export interface ObserveConfig {
  /** By name of the attribute, where its value is; scalars only. No `event` here and below. */
  readonly spanAttributes?: Readonly<Record<string, ResponseSelectorConfig>>
  readonly metrics?: readonly ObservedMetricConfig[]
}

export interface ObservedMetricConfig {
  /** Value of the label `metric`. */
  readonly name: string
  /** counter = what a task adds up to, counted once however often it is read; gauge = the last value. */
  readonly type: 'counter' | 'gauge'
  readonly from: ResponseSelectorConfig
  /** Value of the label `by`; `other` for values that are not listed. */
  readonly by?: { readonly from: ResponseSelectorConfig, readonly values: readonly string[] }
}

export type Signal = 'header' | 'listed' | 'evidence' | 'always'

export interface RuleConfig {
  readonly id: string
  /** Default: the operations that carry a message, and messages in methods that no table knows. */
  readonly on?: readonly (Operation | 'all')[]
  readonly select: SelectorConfig
  readonly when?: ConditionConfig
  readonly unless?: ConditionConfig
  readonly count?: { readonly min?: number, readonly max?: number }
  /** JSON Schema that every selected value must satisfy, or where to find it in the card. */
  readonly schema?: SchemaSource
  /** warn = observed, whatever the mode; strip = what breaks the rule is removed. Default reject. */
  readonly verdict?: 'reject' | 'warn' | 'strip'
  /** For conditions on the state of a task that the gateway has not seen. Default allow: the rule does not apply. */
  readonly onUnknown?: OnUnknown
  readonly error?: RuleErrorConfig
}

/** A rule for answers: it looks at each result by itself, at each event of a stream. */
export interface ResponseRuleConfig {
  readonly id: string
  /** Default: all operations that answer with messages and tasks. */
  readonly on?: readonly Operation[]
  readonly select: ResponseSelectorConfig
  readonly when?: ConditionConfig
  readonly unless?: ConditionConfig
  /** Of results that have one of the places that are selected from. */
  readonly count?: { readonly min?: number, readonly max?: number }
  readonly schema?: SchemaSource
  /** annotate = forwarded, and the caller is told. Default warn. */
  readonly verdict?: 'reject' | 'warn' | 'strip' | 'annotate'
  /** Whether parts that are appended to an artifact may be pieces: what breaks the rule there is only observed. Default true for rules on parts and those with a lower bound. */
  readonly chunked?: boolean
  readonly error?: Pick<RuleErrorConfig, 'message' | 'reason'>
}

export type InlineSchema = Readonly<Record<string, unknown>> | boolean

/** Exactly one of its members. */
export interface SelectorConfig {
  readonly part?: PartSelectorConfig
  readonly metadata?: MetadataSelectorConfig
  /** Name of a request header; each of its lines is a value. */
  readonly header?: string
  /** JSON Pointer into the request object, in the field names of A2A 1.0. */
  readonly pointer?: string
}

/** Of answers: exactly one of its members. */
export interface ResponseSelectorConfig {
  readonly part?: PartSelectorConfig
  readonly metadata?: MetadataSelectorConfig
  /** The result itself, normalised: the first of a call, each that ends a task or is a message, the last. */
  readonly event?: 'first' | 'terminal' | 'last'
}

/** status = the message of a task's status, artifact = artifacts, new or added to. */
export type ContentPlace = 'message' | 'status' | 'artifact'

/** params = of the request itself; part = of parts of message, status and artifacts; task, event = of a task, of an update of one. */
export type MetadataPlace = ContentPlace | 'params' | 'part' | 'task' | 'event'

export interface MetadataSelectorConfig {
  /** Default message; of answers message, status, artifact, task and event. */
  readonly in?: readonly MetadataPlace[]
  /** Glob, `$uri` or `$uri/...`. */
  readonly key: string
  /** JSON Pointer into the value. */
  readonly path?: string
  readonly equals?: string | number | boolean
}

export interface PartSelectorConfig {
  /** Whose parts. Default message; of answers all. */
  readonly in?: readonly ContentPlace[]
  /** true: DataParts only. */
  readonly data?: boolean
  /** Media types; a parameter value `*` matches any value and captures it under the parameter's name. */
  readonly mediaType?: string | readonly string[]
  /** Glob: members of a DataPart's object, each of which is a value. */
  readonly dataKey?: string
  /** JSON Schema over the part, normalised. */
  readonly match?: InlineSchema
  readonly take?: 'first' | 'all'
}

export interface ConditionConfig {
  readonly taskId?: 'present' | 'absent'
  readonly contextId?: 'present' | 'absent'
  /** Whether `message.extensions` names the extension. */
  readonly listed?: boolean
  /** State of the task: the last one seen, or the one an answer tells. */
  readonly taskState?: readonly TaskState[]
  /** Of answers: a request rule of the same policy that found something and let it pass. */
  readonly requestMatched?: string
  /** JSON Schema over the request, normalised. */
  readonly match?: InlineSchema
}

/**
 * An inline JSON Schema; one from a file; or an object whose only key is
 * - `fromCard`: JSON Pointer templates into the raw AgentCard, of which the first that resolves is used. In a template `{self}` is the
 *   index of the extension in `capabilities.extensions`, and `{name}` the value captured by a `name=*` media type parameter;
 * - `enumFromCard`: one such template, in which `*` stands for every item or member: the value is one of those it leads to.
 */
export type SchemaSource = { readonly fromCard: readonly string[] } | { readonly enumFromCard: string } | SchemaRef | InlineSchema

/** A schema from a file: in the configuration `{file: path}` or `{ref: URI}`, here with what was read. */
export interface SchemaRef {
  /** URI in the set, with a JSON Pointer as its fragment or without. */
  readonly ref: string
  readonly set: SchemaSet
}

/** Schemas read together, which may refer to each other. */
export interface SchemaSet {
  /** Null: by the `$schema` of each. */
  readonly draft: '2020-12' | '2019-09' | 'draft-07' | null
  /** By URI. `file` as a message names it. */
  readonly documents: ReadonlyMap<string, { readonly file: string, readonly schema: unknown }>
}

export type ErrorClass = 'invalid' | 'unsupportedContent' | 'conflict' | 'extensionRequired' | 'forbidden'

export interface RuleErrorConfig {
  readonly class?: ErrorClass
  /** Class used when `fromCard` resolves to nothing. */
  readonly undeclared?: ErrorClass
  readonly message?: string
  /** ErrorInfo.reason, overriding that of the class. */
  readonly reason?: string
}
