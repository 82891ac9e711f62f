/**
 * The result view: one shape for the responses of agents in both generations and bindings. Rules read only this view. Paths name the
 * agent's own fields.
 */
import type { JsonObject } from '#wire/json/object.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { FieldProblem, Fields } from '../fields.js'
import type { ContentView } from './message.js'
import type { TaskState } from '../task-state.js'

export type ResultKind = 'message' | 'task' | 'statusUpdate' | 'artifactUpdate'

/** One Message, Task or update: the result of a call, an event of a stream, or a task of a list. */
export interface ResultView {
  readonly kind: ResultKind
  /** The object itself, without the member that wraps it. */
  readonly fields: Fields
  /** Path from the root of the response: `result.task`, `result.tasks[2]`, or '' for the body itself. */
  readonly path: string
  /** Keys from the root of the body to the object. */
  readonly steps: JsonPath
  readonly taskId: string | null
  readonly contextId: string | null
  /** State of a task or status update; null when none is stated. */
  readonly state: TaskState | null
  /** The Message itself, whatever its role. */
  readonly message: ContentView | null
  /** `status.message` of a task or status update; null when its role is the client's. */
  readonly status: ContentView | null
  /** The artifacts of a task, or the single artifact of an artifact update. */
  readonly artifacts: readonly ContentView[]
  /** True when an artifact update appends to an artifact that was sent before. */
  readonly append: boolean
  /** The messages of a task's history, of all authors. They are redacted but never evaluated. */
  readonly history: readonly ContentView[]
  /** The messages of the history whose role is not the client's. */
  readonly past: readonly ContentView[]
  /** Members of the history that clients might read differently; complete after the history was read. */
  readonly pastProblems: readonly FieldProblem[]
  /**
   * Roles, states and members that A2A does not define. Clients ignore them, or keep them without a meaning. Found on demand, without
   * parts and history.
   */
  readonly unknown: readonly FieldProblem[]
}

/** The content of a response body, or of the data of one event. */
export interface ResponseView {
  /** Several for a list of tasks. None for an error, and for operations whose responses hold neither messages nor tasks. */
  readonly results: readonly ResultView[]
  /** True for an error of JSON-RPC or HTTP+JSON in the place of a result. */
  readonly isError: boolean
  /**
   * Reason why the body is no response to the request, as a predicate of its path. In JSON-RPC the reason may be the envelope or the id.
   */
  readonly fault: { readonly path: string, readonly message: string } | null
  /** Members that clients might read differently. */
  readonly problems: readonly FieldProblem[]
  /** The result of a method that is no operation, whatever its shape. */
  readonly methodResult?: ValuePlace
  /** Set when a result of 1.0 lacks the member that wraps it: some clients read it, official clients do not. */
  readonly unwrapped: FieldProblem | null
}

/** A value in the body of a response: its path, and the keys from the root of the body. */
export interface ValuePlace { readonly value: unknown, readonly path: string, readonly steps: JsonPath }

/** Input of `match` schemas and `select.event`; docs/reference/rules.md describes it. */
export type NormalisedResult = JsonObject
