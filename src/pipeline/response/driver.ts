/** The interface between the response machine and the front that drives it. */
import type { Rejection } from '#a2a/errors.js'
import type { ActivationReport, ResponseDecision, ResponseEvaluator } from '#policy/response/evaluator.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { EchoPlan } from '../echo.js'
import type { Effects, Notice } from '../external/obligations.js'
import type { Answered, Asking, Settled } from '../external/settle.js'
import type { ExtendedCardPlan } from '../card/extended-card.js'
import type { UnreadableReason } from '../response-problems.js'
import type { CompiledOwnership, TaskCaller } from '#policy/access/ownership.js'
import type { Payload } from '#a2a/payload.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { CompiledExternal } from '../external/plan.js'
import type { CallFacts } from '../external/question.js'
import type { JsonLimits } from '#wire/json/json-result.js'

/** The questions about one response. */
export interface ResponseQuestions {
  readonly facts: CallFacts
  readonly entries: readonly CompiledExternal[]
  /** True for an agent that only observes. */
  readonly observes: boolean
  /** Values to remove from every result, by the answers about the request. */
  readonly redactions: Effects['redactions']
  readonly payload: Payload
  /** Keys from the root of the body to the result. */
  readonly root: JsonPath
  readonly limits: JsonLimits
  /** `enforce` when an answer counts, or values are removed. */
  readonly mode: 'enforce' | 'observe'
}

/** Work on one response. */
export interface OwnershipPlan {
  readonly ownership: CompiledOwnership
  readonly caller: TaskCaller
  readonly operation: 'send' | 'list'
  /** Names of the request that belong to the caller, as `keyOf` writes them. */
  readonly proven: ReadonlySet<string>
  /** True when tasks and contexts without an owner become the caller's. */
  readonly claims: boolean
}

/** Beside forwarding, the work on one response. */
export interface ResponsePlan {
  /** Null leaves the extension headers of the response as they are. */
  readonly echo: EchoPlan | null
  /** The response is an extended card. */
  readonly card: ExtendedCardPlan | null
  /** Null: no rule reads the response. Requires `echo`. */
  readonly evaluation: EvaluationPlan | null
  /** Forward redirects and HTML error pages: the request is not an operation of A2A. */
  readonly anyPage: boolean
}

export interface EvaluationPlan {
  readonly evaluator: ResponseEvaluator
  /** Bytes of a response that is read whole, and of one event. */
  readonly limits: { readonly response: number, readonly event: number }
  /** Null: nothing in the response needs an owner. */
  readonly ownership?: OwnershipPlan | null
  /** Null: no policy server decides about the response. */
  readonly external?: ResponseQuestions | null
}

/** Tasks and contexts to look up. */
export type OwnedNames = readonly { readonly kind: 'task' | 'context', readonly id: string }[]

/** The owner of each name, in order; null for none. `unavailable` when the store cannot tell. */
export type OwnersOf = readonly (string | null)[] | 'unavailable'

/** Forwards only. */
export const FORWARD_UNCHANGED: ResponsePlan = { echo: null, card: null, evaluation: null, anyPage: false }
/** Forwards only, for requests that are not operations of A2A. */
export const FORWARD_ANY_PAGE: ResponsePlan = { echo: null, card: null, evaluation: null, anyPage: true }

/** A response that no A2A client can use: `page` is an HTML error page; the others are kinds of upstream failures. */
export type Unusable = 'redirect' | 'page' | 'protocol' | 'too_large'

/** Effects of the machine, and facts for telemetry. */
export interface ResponseDriver {
  /** @param shown URIs of the extension header among `headers` */
  begin (status: number, headers: string[], stream: boolean, shown: readonly string[]): void
  /** @returns false when the client reads too slowly: the agent pauses */
  write (bytes: Buffer): boolean
  /** The response is forwarded; `rest` are its last bytes. */
  finish (rest: readonly Buffer[]): void
  /** A rejection in place of the response, or as the last event of a stream. The machine reads no more of the agent. */
  reject (rejection: Rejection): void
  /** The gateway's own error in place of the response. @param headers of the agent */
  unusable (why: Unusable, status: number, headers: readonly string[]): void
  /** Stores fields of a task before the client sees the result. @returns a promise, which never rejects, when that takes time */
  remember (taskId: string, fields: TaskRecord): Promise<unknown> | null
  /**
   * Returns the owners of tasks and contexts.
   * @param owner of the caller. With `claim`, it becomes the owner of names without one
   * @returns a promise, which never rejects, when that takes time
   */
  owners (names: OwnedNames, owner: string, claim: boolean): OwnersOf | Promise<OwnersOf>
  /** Asks policy servers. @returns a promise, which never rejects, when that takes time */
  ask (asks: readonly Asking[]): readonly Answered[] | Promise<readonly Answered[]>
  /** Answers with their consequences, for telemetry. */
  answered (settled: readonly Settled[], notices: readonly Notice[]): void
  /** The agent may send more, after a call of `onChunk` that returned false. */
  resume (): void
  /** Reserves memory. @returns false when the process holds as much as it may */
  reserveMemory (bytes: number): boolean
  /** Runs the work together with that of other calls, before more input is read. */
  schedule (kind: 'evaluate' | 'respond', run: () => void): void
  /** The client has disconnected. */
  readonly gone: boolean
  /** The head goes out before any of a stream: the front cannot hold it back. */
  readonly headFirst: boolean
  /** Bytes wait for the client. */
  readonly blocked: boolean
  /** Seconds for Retry-After of a rejection for lack of memory. */
  readonly retryAfter: number
  /** The extension header of a response that is not evaluated. */
  echoed (plan: EchoPlan, echoed: readonly string[]): void
  /** Called once before evaluation. @param report the extensions that the agent confirmed so far */
  evaluating (report: () => ActivationReport): void
  /** Before an event is evaluated. @param event from 1; null for a whole response */
  before (event: number | null): void
  /** @param event from 1; null for a whole response, 0 for the end of a stream */
  evaluated (decision: ResponseDecision, event: number | null): void
  /** The response or an event could not be read. */
  unreadable (reason: UnreadableReason | 'no_memory'): void
  /** Evaluation threw. @returns if it returns, an enforced response is rejected as an internal error */
  fault (error: unknown): void
  /** Ends the call because of a fault of the gateway. */
  abort (error: unknown): void
}

/** Handles the body after the head. */
export interface Body {
  /** @returns false to pause the agent */
  chunk (bytes: Buffer): boolean
  end (): void
  /** @param report ends the call; called once, at once or when all that came before has gone out */
  failed (report: () => void): void
}
