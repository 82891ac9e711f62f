/** What the steps have read and decided about a request, up to the request for the agent. Data only. */
import type { Rejection } from '#a2a/errors.js'
import type { Call, CallProblem } from '#a2a/message/call.js'
import type { Agent } from '#agents/agent.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import type { Encoding } from '#pipeline/content-encoding.js'
import type { Effects } from '#pipeline/external/obligations.js'
import type { RequestHead } from '#pipeline/request-head.js'
import type { ResponseDriver, ResponsePlan } from '#pipeline/response/driver.js'
import type { Negotiated } from '#pipeline/upstream-headers.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { TaskKey } from '#state/store.js'
import type { FrontName, Outcome } from '#telemetry/metrics/metrics.js'
import type { Forwarding } from '#upstream/forward.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import type { Exchange } from './exchange.js'
import type { OperationRoute } from '#a2a/route.js'
import type { RequestEvaluation } from '#pipeline/request-evaluation.js'

const NO_BYTES = Buffer.alloc(0)
/** A field of which the step that sets it has not run. The order of the steps is fixed (`steps.ts`), so no step reads such a field. */
const UNSET = null as never

/**
 * A request for an operation. The exchange drops it when the steps are over, because the bodies of calls that wait for their agents would
 * fill the memory.
 */
export class Work {
  readonly agent: Agent
  readonly state: AgentState
  readonly route: OperationRoute
  readonly problem: CallProblem | null
  /** Query with its leading `?`, or ''. */
  readonly query: string
  /** The body as sent. Over gRPC: the message with its prefix. */
  sent: Bytes = NO_BYTES
  /** The decoded body. */
  bytes: Bytes = NO_BYTES
  /** How `sent` is encoded; null for a body that needs no decoding. */
  encoding: Encoding | null = null
  encodingProblem: CallProblem | null = null
  parsed: Call = UNSET
  /** The task that the request names; null when no task state is kept. */
  task: TaskKey | null = null
  /** The stored state of the task. */
  record: TaskRecord | null = null
  /** To whom the tasks and contexts of the request belong; undefined without `access.tasks`. A promise until the owners are loaded. */
  owners: OwnerFindings | undefined | Promise<OwnerFindings> = undefined
  /** Seconds that reading took. */
  seconds = 0
  evaluation: RequestEvaluation = UNSET
  /** The decoded body as policy servers have changed it; null for the body as it came. */
  changed: Buffer | null = null
  /** Set when the request has waited as this task, for a person who has agreed that it breaks these rules. */
  resumed: { readonly task: TaskKey, readonly approved: ReadonlySet<string> } | null = null
  /** Values that the answers of policy servers remove from each result of the response. */
  redactions: Effects['redactions'] = []
  /** The body for the agent with the edits of the policies; null before it is made. */
  edited: Bytes | null = null

  constructor (agent: Agent, state: AgentState, route: OperationRoute, problem: CallProblem | null, query: string) {
    this.agent = agent
    this.state = state
    this.route = route
    this.problem = problem
    this.query = query
  }
}

/** A request that no rule sees. */
export interface UninspectedRequest {
  readonly agent: Agent
  /** Path and query at the agent. */
  readonly target: string
  /** Null where the request still arrives. */
  readonly body: Bytes | null
}

/** Sets the request for an operation. */
export function keepWork (exchange: Exchange, work: Work): void {
  exchange.work = work
}

/** Sets the request that no rule sees. */
export function keepUnread (exchange: Exchange, request: UninspectedRequest): void {
  exchange.unread = request
}

/** Drops the request with its bodies: the steps need them no more. */
export function dropRequest (exchange: Exchange): void {
  exchange.work = null
  exchange.unread = null
}

/** The request for the agent, and the plan for its response. */
export interface Outgoing {
  readonly work: Work
  /** With the headers of the policies, without those that they remove. */
  readonly head: RequestHead
  readonly negotiated: Negotiated | null
  /** As sent, or with the edits of the policies. */
  readonly body: Bytes
  readonly plan: ResponsePlan
  readonly remember: ResponseDriver['remember']
  readonly owners: ResponseDriver['owners']
}

/** Carries the request of one call to its agent. The front that received the call makes it. */
export interface Transport {
  /** The label of telemetry. */
  readonly front: FrontName
  /** Sends a request that the rules accepted. */
  send (exchange: Exchange, outgoing: Outgoing): Forwarding
  /** Why the front cannot carry a request that no rule sees; null when it can. */
  unfit (exchange: Exchange): { readonly rejection: Rejection, readonly outcome: Outcome } | null
  /** Sends a request that no rule sees. */
  forwardUninspected (exchange: Exchange, unread: UninspectedRequest): Forwarding
}
