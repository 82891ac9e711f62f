/** What is asked of the review of an agent's answer, and what it says. Pure: the same bytes give the same verdict, for the proxy and for every offline tool. */
import type { Rejection } from '../../a2a/errors.js'
import type { Operation } from '../../a2a/operations.js'
import type { Binding, Version } from '../../a2a/versions.js'
import type { JsonEdit } from '../../wire/json/edit.js'
import type { JsonLimits } from '../../wire/json/json.js'
import type { AgentPolicy } from '../compile/compiled.js'
import type { Decision } from '../request/decision.js'
import type { TaskRecord } from '../task/memory.js'
import type { Tracer } from '../trace.js'
import type { Violation } from '../violation.js'

export interface ResponseContext {
  readonly policy: AgentPolicy
  readonly decision: Decision
  /** URIs as the client asked for them. */
  readonly requested: readonly string[]
  readonly operation: Operation
  readonly binding: Binding
  readonly version: Version
  /** JSON-RPC id of the request as a value; null where there is none. */
  readonly id: string | number | null
  /** Of the task that the request names; null where it names none: then the first task answered is its own. */
  readonly taskId: string | null
  readonly limits: JsonLimits
  readonly tracer: Tracer | null
  /** What is known of a task by now, where that can be told at once; null where it cannot. */
  readonly recall?: (taskId: string) => TaskRecord | null
}

/** What becomes of one whole answer, or of one event. */
export interface ResponseDecision {
  /** Null: forward. */
  readonly rejection: Rejection | null
  readonly violations: readonly Violation[]
  /** Of the JSON that was judged; none where it is refused. */
  readonly edits: readonly JsonEdit[]
  /** `policy/rule` of each edit, each once. */
  readonly edited: readonly string[]
  /** `policy/rule` of broken rules that the caller is to be told of. */
  readonly annotations: readonly string[]
  readonly attributes: readonly ObservedAttribute[]
  readonly measures: readonly Measure[]
  /** What is to be remembered of the request's task before anyone sees the answer; null for nothing. */
  readonly remember: { readonly taskId: string, readonly fields: TaskRecord } | null
}

/** For the span: scalars only, cut like every attribute. */
export interface ObservedAttribute { readonly name: string, readonly value: string | number | boolean }

/** For the metrics; every label is from the configuration. */
export interface Measure {
  readonly extension: string
  readonly metric: string
  readonly type: 'counter' | 'gauge'
  /** '' where the metric is not divided. */
  readonly by: string
  /** counter: what is added, not negative. */
  readonly value: number
}

/** What is known of an extension's activation once an answer is over. */
export interface ActivationReport {
  /** URIs that the agent was asked for, with proof that it heeded: the header, `extensions[]`, data that the extension owns. */
  readonly confirmed: readonly string[]
  readonly absent: readonly string[]
  /** Neither asked for by client nor gateway, and there all the same. */
  readonly unexpected: readonly string[]
}

/** Reviews one answer: a JSON body, or an event stream one event after the other. */
export interface ResponseEvaluator {
  /**
   * Whether bytes have to wait for their verdict: something is enforced, has to be remembered before the client can go on, or the header waits
   * for proof. Otherwise they are forwarded as they come, and the verdict is only recorded.
   */
  readonly holds: boolean
  /** Whether something is enforced: then what cannot be read is refused. */
  readonly enforces: boolean
  /** Whether the header of the answer waits for the first result: `echo: synthesize`. */
  readonly holdsHead: boolean
  /** Whether the body can tell anything; false once nothing is open but the activation of extensions, and the header has told that. */
  readonly reads: boolean
  /** The agent's header, either spelling, as lists of URIs. Called once, before anything else. */
  echoed (uris: readonly string[]): void
  /** The extensions that the client's header is to name, in its own spelling, by what is known now. */
  shown (): readonly string[]
  /** @param bytes the whole body, or the data of one event */
  evaluate (bytes: Buffer, stream: boolean): ResponseDecision
  /** A clean end of an event stream: what only the last event shows. */
  end (): ResponseDecision | null
  activationReport (): ActivationReport
}
