/** The result view: one shape for what agents answer in both generations and bindings. Rules see only this; paths name the agent's own fields. */
import type { JsonPath } from '../../wire/json/edit.js'
import type { FieldProblem, Fields, JsonObject } from '../fields.js'
import type { ContentView } from './message.js'
import type { TaskState } from '../task-state.js'

export type ResultKind = 'message' | 'task' | 'statusUpdate' | 'artifactUpdate'

/** One Message, Task or update: what a call answers, an event of a stream, or a task of a list. */
export interface ResultView {
  readonly kind: ResultKind
  /** The object itself, without the member that wraps it. */
  readonly fields: Fields
  /** From the root of the answer: `result.task`, `result.tasks[2]`, or '' for the body itself. */
  readonly path: string
  /** Keys from the root of the body to the object. */
  readonly steps: JsonPath
  readonly taskId: string | null
  readonly contextId: string | null
  /** Of a task or status update; null where none is told. */
  readonly state: TaskState | null
  /** The Message itself, whatever role it says. */
  readonly message: ContentView | null
  /** `status.message` of a task or status update, unless the client wrote it, by its role. */
  readonly status: ContentView | null
  /** Of a task, or the one of an artifact update. */
  readonly artifacts: readonly ContentView[]
  /** Whether an artifact update adds to an artifact that was sent before. */
  readonly append: boolean
  /** The messages of a task's history, whoever wrote them: never judged, only redacted. */
  readonly history: readonly ContentView[]
  /** Those of them that the client did not write, by their role. */
  readonly past: readonly ContentView[]
  /** Members of the history that clients might read differently; known once it was read. */
  readonly pastProblems: readonly FieldProblem[]
}

/** What the body of an answer, or the data of one event, holds. */
export interface ResponseView {
  /** Several for a list of tasks, none for an error and for operations that answer with neither messages nor tasks. */
  readonly results: readonly ResultView[]
  /** An error of JSON-RPC or HTTP+JSON in place of a result. */
  readonly isError: boolean
  /** What makes it no answer to the request, as a predicate of its path; JSON-RPC: the envelope, the id. */
  readonly fault: { readonly path: string, readonly message: string } | null
  /** Members that clients might read differently. */
  readonly problems: readonly FieldProblem[]
}

/** For `match` schemas and `select.event`; docs/how-it-decides.md describes it. */
export type NormalisedResult = JsonObject
