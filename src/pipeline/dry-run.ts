/**
 * Takes a whole request and returns everything that the gateway would make of it before it connects to the agent. The offline tools run the
 * steps through this module.
 */
import type { Call } from '#a2a/message/call.js'
import type { Caller, Rejection } from '#a2a/errors.js'
import type { Route } from '#a2a/route.js'
import type { AgentConfig, Limits } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { PASSTHROUGH, UNKNOWN } from '#policy/access/target.js'
import type { Claim, Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Tracer } from '#policy/trace.js'
import { checkTarget, joinPath } from '#wire/target.js'
import type { AccessOutcome } from './access/access.js'
import { admitUnread } from './access/access.js'
import { forOthers } from './access/audience.js'
import type { AgentState } from './agent-snapshot.js'
import { callerOf, dryRunOperation, forwardedOf, undecided } from './dry-run-operation.js'
import { dryRunGrpc } from './grpc/dry-run.js'
import { guard, isPassthrough, isPreflight } from './guard.js'
import * as rejections from './rejections.js'
import type { Answer } from './external/answer.js'
import type { Asking, Settled } from './external/settle.js'
import type { RequestEvaluation } from './request.js'
import { askedVersion, versionProblem } from './request.js'
import { headOf } from './request-head.js'
import type { ResponsePlan } from './response/driver.js'

export interface PlainRequest {
  readonly method: string
  /** Below the agent's path, undecoded: '' or beginning with `/`. */
  readonly path: string
  /** With its leading `?`, or ''. */
  readonly query: string
  /** Flat list: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  /** True for a gRPC call. The body is then its one message, without prefix, and the path is `/service/method`. */
  readonly grpc?: boolean
  /** Null: no body. */
  readonly body: Buffer | null
  /** Time of the exchange, in milliseconds since 1970. */
  readonly now?: number
  /** The authenticated caller. Default: none. */
  readonly caller?: Principal | null
}

/** The request that goes to the agent. */
export interface Forwarded {
  readonly method: string
  /** Path and query at the agent. */
  readonly target: string
  /** Flat list: name, value, name, value; names in lower case. */
  readonly headers: readonly string[]
  readonly body: Buffer | null
}

export interface DryRun {
  /** Kind of the request. The gateway forwards `passthrough` and `preflight` without inspection, and responds to `card` itself. */
  readonly kind: 'operation' | 'card' | 'preflight' | 'passthrough' | 'refused'
  /** Route of the address, as far as the gateway looked it up. */
  readonly route: Route | null
  /** Caller for `writeRejection`. */
  readonly caller: Caller
  /** Call of an operation whose body is available. */
  readonly call: Call | null
  readonly evaluation: RequestEvaluation | null
  /** Decision of the access lists; null without lists, and when they have not decided. */
  readonly access: AccessOutcome | null
  /** Null: not rejected. */
  readonly rejection: Rejection | null
  readonly forwarded: Forwarded | null
  /** The work on the response; null unless an operation is forwarded. For one response. */
  readonly plan: ResponsePlan | null
  /** The questions for policy servers about the request, and what became of them. */
  readonly external: readonly DryAsk[]
  /** The recorded answers, for the response. */
  readonly answers?: DryRunMemory['answers']
}

/** One question; `settled` is null where no answer is recorded. */
export interface DryAsk { readonly asking: Asking, readonly settled: Settled | null }

/** Returns the remembered record of a task; null for none. */
export type Recall = (taskId: string) => TaskRecord | null

/** The state that earlier requests of a dry run left. */
export type TaskOwner = 'caller' | 'other' | 'unknown'

export interface DryRunMemory {
  readonly recall: Recall
  /**
   * Claims the values of an accepted request.
   * @param now time of the request, in milliseconds since 1970, or null
   * @returns the outcome of each claim, in order
   */
  readonly claim: (claims: readonly Claim[], now: number | null) => readonly Claimed[]
  /** To whom tasks and contexts belong (`access.tasks`). Default: the caller. */
  readonly owner?: TaskOwner
  /** Returns the recorded answer to a question; null for none: the question then has no effect. */
  readonly answers?: (asking: Asking) => Answer | null
}

/** Remembers nothing, and has no recorded answers. */
export const NOTHING: DryRunMemory = { recall: () => null, claim: claims => claims.map(() => 'new') }

export interface DryRunAgent {
  readonly config: AgentConfig
  readonly state: AgentState
  /** `server.publicUrl`. Without it, the URLs of an extended card follow the Host of the request. */
  readonly publicUrl?: string | null
}

/**
 * Evaluates one request.
 * @param tracer is notified of each rule's decision, for the request and for the response that `evaluator` evaluates
 */
export function dryRunRequest (
  agent: DryRunAgent,
  request: PlainRequest,
  limits: Limits,
  tracer: Tracer | null = null,
  memory: DryRunMemory = NOTHING
): DryRun {
  if (request.grpc === true) return dryRunGrpc(agent, request, { limits, tracer, memory })
  const { config, state } = agent
  const { method, path, query } = request
  const head = headOf(method, request.rawHeaders)
  const asked = askedVersion(head, query)
  const target = checkTarget(joinPath('', path) + query)
  const unrouted = undecided(null, callerOf(null, null, asked, head))
  if (target !== null) return { ...unrouted, rejection: rejections.badTarget(target) }
  const route = state.router.match(method, path, asked.version)
  const found = undecided(route, callerOf(route, null, asked, head))
  const guarded = guard(head)
  if (guarded !== null) return { ...found, rejection: guarded }
  const principal = request.caller ?? null
  const others = route?.kind === 'card' || isPreflight(head) ? null : forOthers(config, principal)
  if (others !== null) return { ...found, rejection: others }
  if (isPassthrough(config, state.router, path)) {
    const access = isPreflight(head) ? null : admitUnread(state.access, principal, PASSTHROUGH)
    if (access !== null && access.rejection !== null) return { ...unrouted, access, rejection: access.rejection }
    return { ...unrouted, kind: 'passthrough', access, forwarded: forwardedOf(config, request, head, joinPath(basePath(config), path), null) }
  }
  if (route === null) return { ...found, rejection: rejections.unknownRoute }
  if (route.kind === 'card') return { ...found, kind: 'card' }
  if (route.kind === 'preflight') {
    const access = isPreflight(head) ? null : admitUnread(state.access, principal, UNKNOWN)
    if (access !== null && access.rejection !== null) return { ...found, access, rejection: access.rejection }
    return { ...found, kind: 'preflight', access, forwarded: forwardedOf(config, { ...request, body: null }, head, route.upstreamPath, null) }
  }
  if (route.kind === 'ambiguous') return { ...found, rejection: rejections.ambiguousPath }
  if (route.kind === 'verb') return { ...found, rejection: rejections.wrongVerb(route.allow) }
  return dryRunOperation(agent, request, { head, asked, route, problem: versionProblem(route, asked, state) }, { limits, tracer, memory })
}

function basePath (config: AgentConfig): string {
  return new URL(config.upstream.url).pathname.replace(/\/$/, '')
}
