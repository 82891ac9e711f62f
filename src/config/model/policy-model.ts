/**
 * Policies as the gateway uses them: the vocabulary of `policy-schema.ts`, `rule-schema.ts` and `response-schema.ts` as types.
 * `TypeOf` does not describe them: policies keep durations as texts, and have the content of schema files in the place of the names.
 */
import type { Operation } from '#a2a/operations.js'
import type { TaskState } from '#a2a/task-state.js'
import type { CallerConfig } from '../schema/caller-schema.js'
import type { SecretConfig } from '../schema/schema-builder.js'
import type { InlineSchema, SchemaRef, SchemaSource } from './schema-model.js'

export type Mode = 'enforce' | 'observe' | 'off'

/** The policy of one extension, as `policy-schema.ts` describes it. docs/reference/policy.md is generated from that schema. */
export interface PolicyConfig {
  /** Documentation for readers; the gateway does not use it. */
  readonly about?: {
    readonly title?: string
    readonly source?: string
    /** YYYY-MM-DD */
    readonly read?: string
    readonly status?: 'stable' | 'draft' | 'vendor'
    readonly summary?: string
    readonly drift?: readonly string[]
    readonly notes?: readonly string[]
  }
  /** A policy has either `uri` or `uriPattern`. */
  readonly uri?: string
  /** Glob over the URIs that the card declares. */
  readonly uriPattern?: string
  /** same = another spelling of the URI; satisfies = another extension that fulfils a requirement for this one. */
  readonly aliases?: readonly { readonly uri: string; readonly relation: 'same' | 'satisfies' }[]
  /** Overrides the agent's mode for this extension, except that an agent in `off` stays off. */
  readonly mode?: Mode
  /** The data in a request that belongs to the extension: its evidence. */
  readonly owns?: {
    readonly metadata?: readonly string[]
    readonly dataKeys?: readonly string[]
    /** Parts whose data has one of these values. */
    readonly data?: readonly DataValueConfig[]
    readonly mediaTypes?: readonly string[]
    readonly headers?: readonly string[]
  }
  readonly inactive?: {
    /** Treatment of owned data when the extension is not active. Default forward. */
    readonly request?: 'forward' | 'strip' | 'reject'
    /** The same for the response to a request that does not activate the extension. Default forward. */
    readonly response?: 'forward' | 'strip'
  }
  readonly activation?: {
    /** The signals that activate the extension in a request. Absent: a request for the extension activates it, and the rules always run. */
    readonly signals?: readonly Signal[]
    /** Overrides the agent's enforceOn. */
    readonly scope?: 'messages' | 'all'
    /** Names of policies whose extensions must also be active. */
    readonly requires?: readonly string[]
    /** Default reject. */
    readonly onMissing?: 'reject' | 'add'
    /** card = follow AgentExtension.required; observe = follow it, and only record violations. Default card. */
    readonly required?: 'card' | 'observe' | 'always' | 'never'
    /** inject = the gateway requests the extension on the client's behalf. Default none. */
    readonly default?: 'none' | 'inject'
    /** Who may use the extension. Default: everybody. */
    readonly callers?: CallerConfig
    /** Treatment of what names the extension, for a caller who may not use it. Default reject. */
    readonly onForbidden?: 'reject' | 'strip'
    readonly equivalent?: 'report' | 'reject'
    /** For an injected extension: true when the client may see the echo. Default false. */
    readonly expose?: boolean
  }
  /** JSON-RPC methods that the extension adds, by name. */
  readonly methods?: Readonly<Record<string, MethodConfig>>
  /** HTTP routes that the extension adds to the operations of A2A. */
  readonly routes?: readonly RouteConfig[]
  readonly card?: CardChecksConfig
  readonly request?: readonly RuleConfig[]
  /** Rules for the agent's responses. */
  readonly response?: readonly ResponseRuleConfig[]
  /** Transitions of a task through the states of the extension. */
  readonly state?: TaskStateConfig
  /** Values that a later message of a task must share with an earlier message. */
  readonly correlate?: readonly CorrelationConfig[]
  /** Values to report from the extension's data. */
  readonly observe?: ObserveConfig
  /** Treatment of the header in which the agent lists the activated extensions. Default passthrough. */
  readonly echo?: 'passthrough' | 'verify' | 'synthesize'
  /** Members that the gateway adds to requests in which the extension is active. */
  readonly inject?: readonly InjectionConfig[]
  /** verbatim = the gateway does not edit, and adds nothing to, a request in which the extension is active. Default normal. */
  readonly integrity?: 'normal' | 'verbatim'
  /** `<metadata key>` or `<metadata key>#<JSON Pointer>`. A step of the pointer may be `*`. */
  readonly redact?: readonly string[]
}

/** Requirements on the agent's card when it declares the extension. */
export interface CardChecksConfig {
  /** Schema of `params` in the card's declaration. */
  readonly params?: InlineSchema | SchemaRef
  /** Schema of the whole card. */
  readonly schema?: InlineSchema | SchemaRef
  /** Default warn. */
  readonly onInvalid?: 'refuse' | 'warn'
}

/** One member that the gateway adds. Has exactly one of `value`, `fromSecret` and `fromCaller`. */
export interface InjectionConfig {
  readonly on?: 'request'
  /** One name, or `$uri`, `$uri/...`. */
  readonly metadata: string
  /** The object whose metadata gets the member. Default message. */
  readonly in?: 'message' | 'params'
  readonly value?: unknown
  readonly fromSecret?: SecretConfig
  /** `subject`, `client`, `tenant`, `source`, or a JSON Pointer into the claims of the caller. */
  readonly fromCaller?: string
  /** For `fromCaller`: true when a request of a caller without the value is rejected. Default false. */
  readonly required?: boolean
  /** Encoding of the secret's text. Default text. */
  readonly as?: 'text' | 'json'
  /** Treatment of a value that the client sent. Default replace. */
  readonly existing?: 'replace' | 'keep' | 'reject'
  readonly when?: ConditionConfig
  readonly unless?: ConditionConfig
}

export interface MethodConfig {
  /** Requirement on the caller: an active extension (the default), a declaration in the card, or nothing. */
  readonly need?: 'active' | 'declared' | 'none'
  /** JSON Schema of `params`: inline, or from a file. */
  readonly params?: InlineSchema | SchemaRef
}

export interface RouteConfig {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below `base`. A segment `{name}` matches any one segment. */
  readonly path: string
  /** The agent's path (default), or the URL of each HTTP+JSON interface of the card. */
  readonly base?: 'agent' | 'interface'
  /** Requirement on the caller, as for a method. */
  readonly need?: 'active' | 'declared' | 'none'
  /** JSON Schema of the body: inline, or from a file. */
  readonly body?: InlineSchema | SchemaRef
}

/** Effect of a rule that needs the state of an unknown task: the rule does not apply (allow), or the rule is broken (reject). */
export type OnUnknown = 'allow' | 'reject'

/** Substates are the values that `from` selects: strings of the extension, at most 128 characters long. */
export interface TaskStateConfig {
  /** Selects from requests and from responses. Skips places that one of them does not have. `event` is not allowed. */
  readonly from: ResponseSelectorConfig
  /** Value that a substate belongs to, such as the id of a tool call. Each key has a state of its own. Pairs with the values of `from`. */
  readonly key?: ResponseSelectorConfig
  /** Task states that each substate may occur with. Substates that are not listed may occur with any task state. */
  readonly taskStates?: Readonly<Record<string, readonly TaskState[]>>
  /**
   * Substates that may follow each substate; `''` is the start, without a substate. Any substate may follow a substate that is not listed.
   */
  readonly transitions?: Readonly<Record<string, readonly string[]>>
  /** A number, or a numeric string, that must not decrease from one message or result of a task to the next. */
  readonly monotonic?: ResponseSelectorConfig
  /** Largest number of times that a task may enter each substate. */
  readonly maxVisits?: Readonly<Record<string, number>>
  /** Default warn. */
  readonly onViolation?: 'warn' | 'reject'
  /** Default allow. */
  readonly onUnknown?: OnUnknown
  readonly error?: RuleErrorConfig
}

/** Compares a value with an earlier value of the same task. Values are compared as JSON. */
export interface CorrelationConfig {
  readonly id: string
  readonly remember: CorrelationSide
  readonly check: CorrelationSide & {
    /**
     * subset = the checked values are a subset of the remembered values; equalSet = both are the same set; member = the checked value is
     * one of the remembered values; sameLength = both have the same length.
     */
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
  /** JSON Pointers into the values; a step may be `*`. Default: the values themselves. */
  readonly pick?: string | readonly string[]
  /** True: use only the values of the first pointer that resolves. */
  readonly first?: boolean
}

export interface ObserveConfig {
  /** Selector of the value for each attribute name. Only scalars are reported. `event` is not allowed here and below. */
  readonly spanAttributes?: Readonly<Record<string, ResponseSelectorConfig>>
  readonly metrics?: readonly ObservedMetricConfig[]
}

export interface ObservedMetricConfig {
  /** Value of the metric label `metric`. */
  readonly name: string
  /** counter = the total of a task, counted once even when the task is read several times; gauge = the last value. */
  readonly type: 'counter' | 'gauge'
  readonly from: ResponseSelectorConfig
  /** Value of the metric label `by`; `other` for values that are not listed. */
  readonly by?: { readonly from: ResponseSelectorConfig, readonly values: readonly string[] }
}

export type Signal = 'header' | 'listed' | 'evidence' | 'always'

export interface RuleConfig {
  readonly id: string
  /** Default: the operations that carry a message, and messages in unknown methods. */
  readonly on?: readonly (Exclude<Operation, 'Extension' | 'Other'> | 'all')[]
  readonly select: SelectorConfig
  readonly when?: ConditionConfig
  readonly unless?: ConditionConfig
  /** True: at least one value, like `count: {min: 1}`. False: the author accepts absence. */
  readonly required?: boolean
  readonly count?: { readonly min?: number, readonly max?: number }
  /** Every selected value must be fresh. */
  readonly notOlderThan?: FreshnessConfig
  /** No selected value may have been accepted before, within a time. */
  readonly unique?: UniqueConfig
  /** JSON Schema that every selected value must satisfy, or the location of the schema in the card. */
  readonly schema?: SchemaSource
  /** Name of the policy server that decides about the selected values. */
  readonly external?: string
  /** warn = the violation is observed, whatever the mode; strip = the gateway removes the violating values. Default reject. */
  readonly verdict?: 'reject' | 'warn' | 'strip'
  /** Applies to conditions on the state of a task that the gateway has not seen. Default allow: the rule does not apply. */
  readonly onUnknown?: OnUnknown
  /** A task that waits for a person, in the place of the error. */
  readonly pause?: PauseConfig
  readonly error?: RuleErrorConfig
}

export interface PauseConfig {
  readonly state: 'input-required' | 'auth-required'
  /** Question to the person. */
  readonly text: string
  readonly data?: unknown
  /** Value in the metadata of the question, under the extension's URI. */
  readonly metadata?: unknown
  readonly evidence: { readonly select?: SelectorConfig, readonly schema?: InlineSchema, readonly caller?: CallerConfig }
  /** Matches a selected value that declines. */
  readonly declined?: InlineSchema
}

/** A rule for responses. The gateway evaluates the rule on each result separately, and on each event of a stream. */
export interface ResponseRuleConfig {
  readonly id: string
  /** Operations, and methods of the policy. Default: all operations whose responses are messages and tasks. */
  readonly on?: readonly (Operation | string)[]
  readonly select: ResponseSelectorConfig
  readonly when?: ConditionConfig
  readonly unless?: ConditionConfig
  /** True: at least one value, like `count: {min: 1}`. */
  readonly required?: boolean
  /** Number of selected values. Applies to results that have at least one of the selected places. */
  readonly count?: { readonly min?: number, readonly max?: number }
  /** Every selected value must be fresh. */
  readonly notOlderThan?: FreshnessConfig
  readonly schema?: SchemaSource
  /** Name of the policy server that decides about the selected values. */
  readonly external?: string
  /** annotate = the gateway forwards the result and notifies the caller. Default warn. */
  readonly verdict?: 'reject' | 'warn' | 'strip' | 'annotate'
  /**
   * True when values that a stream appends to an artifact may be fragments. Violations of such values are only observed. Default: only
   * parts without data may be fragments, and a lower bound may be met by other updates.
   */
  readonly chunked?: boolean
  readonly error?: Pick<RuleErrorConfig, 'message' | 'reason'>
}

/** Has exactly one of its members. */
export interface SelectorConfig {
  readonly part?: PartSelectorConfig
  readonly metadata?: MetadataSelectorConfig
  /** Name of a request header. Each line of the header is a value. */
  readonly header?: string
  /** JSON Pointer into the request object, in the field names of A2A 1.0. */
  readonly pointer?: string
}

/** Selector for responses. Has exactly one of its members. */
export interface ResponseSelectorConfig {
  readonly part?: PartSelectorConfig
  readonly metadata?: MetadataSelectorConfig
  /**
   * Selects the normalised result itself. first = the first result of a call; terminal = each result that ends a task or is a message; last
   * = the last result.
   */
  readonly event?: 'first' | 'terminal' | 'last'
  /** JSON Pointer into the result of an extension method of `on`; a step may be `*`. '' is the result itself. */
  readonly result?: string
}

/** status = the message of a task's status; artifact = new artifacts and additions to artifacts. */
export type ContentPlace = 'message' | 'status' | 'artifact'

/** params = the request itself; part = parts of message, status and artifacts; task = a task; event = an update of a task. */
export type MetadataPlace = ContentPlace | 'params' | 'part' | 'task' | 'event'

export interface MetadataSelectorConfig {
  /** Default message and params; for responses message, status, artifact, task and event. */
  readonly in?: readonly MetadataPlace[]
  /** Glob, `$uri` or `$uri/...`. */
  readonly key: string
  /** JSON Pointer into the value. */
  readonly path?: string
  readonly equals?: string | number | boolean
}

export interface PartSelectorConfig {
  /** Objects whose parts are selected. Default message; for responses all. */
  readonly in?: readonly ContentPlace[]
  /** True: DataParts only. */
  readonly data?: boolean
  /** Media types. A parameter value `*` matches any value and captures the value under the parameter's name. */
  readonly mediaType?: string | readonly string[]
  /** Glob for members of a DataPart's object. Each matching member is a value. */
  readonly dataKey?: string
  /** Only parts whose data has this value. */
  readonly where?: DataValueConfig
  /** JSON Pointer into the data, or into the member that `dataKey` selects. The value there is the selected value. */
  readonly path?: string
  /** JSON Schema that the normalised part must satisfy. */
  readonly match?: InlineSchema
  /** Names for `fromCard`, and JSON Pointers to their values: into the normalised part, or behind `..` into the request or result. */
  readonly captures?: Readonly<Record<string, string>>
  readonly take?: 'first' | 'all'
}

/** The age of a value: at least one of `age`, `ttl` and `expires`. Times are RFC 3339, or seconds since 1970. */
export interface FreshnessConfig {
  /** Duration since `time`. */
  readonly age?: string
  /** JSON Pointer to the time. Default: the value itself. */
  readonly time?: string
  /** JSON Pointer to the lifetime, in seconds. */
  readonly ttl?: string
  /** JSON Pointer to the time of expiry. */
  readonly expires?: string
  /** Duration by which clocks may differ. Default 30s. */
  readonly skew?: string
}

/** Values of one rule of one agent's policy that were accepted before are rejected. */
export interface UniqueConfig {
  /** Duration for which an accepted value is remembered. */
  readonly window: string
  /** Applies while the store cannot tell. Default reject, because a replay could pass otherwise. */
  readonly onUnknown?: OnUnknown
}

/** A scalar in the data of a part, which identifies the part: `{path: /type, equals: engram/op}`. */
export interface DataValueConfig {
  /** JSON Pointer into the data. */
  readonly path: string
  readonly equals: string | number | boolean
}

export interface ConditionConfig {
  readonly taskId?: 'present' | 'absent'
  readonly contextId?: 'present' | 'absent'
  /** True when `message.extensions` must name the extension, false when it must not. */
  readonly listed?: boolean
  /** URI of an extension that must be active in the request. */
  readonly active?: string
  /** State of the task: the last known state, or the state in the response. */
  readonly taskState?: readonly TaskState[]
  /** For responses: id of a request rule of the same policy that found a violation and let the request pass. */
  readonly requestMatched?: string
  /** The caller of the request; of a response, the caller of its request. */
  readonly caller?: CallerConfig
  /** JSON Schema that the normalised request must satisfy. */
  readonly match?: InlineSchema
}

export type ErrorClass = 'invalid' | 'unsupportedContent' | 'conflict' | 'extensionRequired' | 'forbidden'

export interface RuleErrorConfig {
  readonly class?: ErrorClass
  /** Class of the error when `fromCard` resolves to nothing. */
  readonly undeclared?: ErrorClass
  readonly message?: string
  /** ErrorInfo.reason; overrides the reason of the class. */
  readonly reason?: string
}
