/** Input and output of the response evaluator. Pure: the same bytes give the same decision, in the proxy and in every offline tool. */
import type { Rejection } from '#a2a/errors.js'
import type { ResultView } from '#a2a/message/result.js'
import type { Operation } from '#a2a/operations.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import type { JsonEdit } from '#wire/json/edit.js'
import type { AgentPolicy } from '../compile/compiled.js'
import type { Decision } from '../request/decision.js'
import type { TaskRecord } from '../task/memory.js'
import type { Tracer } from '../trace.js'
import type { Violation } from '../violation.js'
import type { AskedRule } from '../asked-rule.js'
import type { ListPlaces } from './list-places.js'
import type { JsonLimits } from '#wire/json/json-result.js'

export interface ResponseContext {
  readonly policy: AgentPolicy
  readonly decision: Decision
  /** URIs as the client requested them. */
  readonly requested: readonly string[]
  readonly operation: Operation
  /** JSON-RPC method of the request if it is no operation of A2A; otherwise null. */
  readonly method: string | null
  readonly binding: Binding
  readonly version: Version
  /** JSON-RPC id of the request as a value; null when there is none. */
  readonly id: string | number | null
  /** Task that the request names. Null when it names none: then the first task in the response is its own. */
  readonly taskId: string | null
  readonly limits: JsonLimits
  readonly tracer: Tracer | null
  /** Time of an evaluation, in milliseconds since 1970. */
  readonly clock?: () => number | null
  /** Returns the current record of a task if it is available immediately; otherwise null. */
  readonly recall?: (taskId: string) => TaskRecord | null
  /** True to read every result, for {@link ResponseDecision.results}, also when no policy needs it. */
  readonly follows?: boolean
  /** True when the tasks and contexts of the response need an owner before the client sees them (`access.tasks`). */
  readonly owned?: boolean
  /**
   * Set when a policy server decides about the response: `enforce` when its decision counts. Results are then read, and events wait for
   * their answers.
   */
  readonly asks?: 'enforce' | 'observe' | null
}

/** Decision on one whole response, or on one event. */
export interface ResponseDecision {
  /** Null: forward. */
  readonly rejection: Rejection | null
  readonly violations: readonly Violation[]
  /** Edits of the evaluated JSON; none when it is rejected. */
  readonly edits: readonly JsonEdit[]
  /** Offsets of the nulls of a protobuf message that `withExplicitNulls` has to write before the edits. */
  readonly nulls?: readonly number[]
  /** `policy/rule` of each edit, each once. */
  readonly edited: readonly string[]
  /** `policy/rule` of broken rules that are reported to the caller. */
  readonly annotations: readonly string[]
  readonly attributes: readonly ObservedAttribute[]
  readonly measures: readonly Measure[]
  /** Rules whose values a policy server decides about. */
  readonly asked?: readonly AskedRule[]
  /** The body in the place of the evaluated one; its edits refer to it. Absent: the body as it came. */
  readonly changed?: Buffer
  /** Places of the list, for ListTasks with `access.tasks`. `results` are its tasks, in order. */
  readonly list?: ListPlaces
  /**
   * The results that were read, in order; also of a rejected response. An event that repeats an earlier one may have the results of the
   * earlier one, which differ in nothing that is shown here.
   */
  readonly results: readonly ResultSummary[]
  /** Fields of the request's task that must be remembered before anyone sees the response; null for none. */
  readonly remember: { readonly taskId: string, readonly fields: TaskRecord } | null
}

const NONE: readonly never[] = []

/** The decision that changes and records nothing. */
export const FORWARD: ResponseDecision = {
  rejection: null,
  violations: NONE,
  edits: NONE,
  edited: NONE,
  annotations: NONE,
  attributes: NONE,
  measures: NONE,
  results: NONE,
  remember: null
}

/** Members of a result that telemetry records. */
export type ResultSummary = Pick<ResultView, 'kind' | 'taskId' | 'contextId' | 'state'>

/** An attribute for the span: scalars only, shortened like every attribute. */
export interface ObservedAttribute { readonly name: string, readonly value: string | number | boolean }

/** A value for the metrics. Every label comes from the configuration. */
export interface Measure {
  readonly extension: string
  readonly metric: string
  readonly type: 'counter' | 'gauge'
  /** '' when the metric has no division. */
  readonly by: string
  /** counter: the amount to add, not negative. */
  readonly value: number
}

/** The known activation of extensions after a response. */
export interface ActivationReport {
  /**
   * URIs that the agent was requested to activate, with proof of activation: the header, `extensions[]`, or data that the extension owns.
   */
  readonly confirmed: readonly string[]
  readonly absent: readonly string[]
  /** URIs that are present although neither client nor gateway requested them. */
  readonly unexpected: readonly string[]
}

/** Evaluates one response: a JSON body, or an event stream event by event. */
export interface ResponseEvaluator {
  /**
   * True when bytes have to wait for their decision: something is enforced, something must be remembered before the client continues, or
   * the header waits for proof. Otherwise the gateway forwards bytes as they arrive, and only records the decision.
   */
  readonly buffersBody: boolean
  /** True when something is enforced. Unreadable responses are then rejected. */
  readonly enforces: boolean
  /** True when the header of the response waits for the first result: `echo: synthesize`. */
  readonly buffersHead: boolean
  /**
   * True when the body can contain relevant data. False when only the activation of extensions is open and the header has already shown it.
   */
  readonly readsBody: boolean
  /** True when no policy needs the response, and faults of the response are therefore not reported. */
  readonly quiet: boolean
  /** Takes the URIs of the agent's extension header, in either spelling. Called once, before any other method. */
  echoed (uris: readonly string[]): void
  /** The extensions for the client's header, in the client's spelling, as known now. */
  shown (): readonly string[]
  /** @param bytes the whole body, or the data of one event */
  evaluate (bytes: Bytes, stream: boolean): ResponseDecision
  /** Handles the regular end of an event stream: evaluates what only the last event shows. */
  end (): ResponseDecision | null
  activationReport (): ActivationReport
}
