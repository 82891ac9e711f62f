/** Explains step by step what the gateway would do with one recorded request. The same functions as in the proxy make the decision. */
import type { Decision } from '#policy/request/decision.js'
import type { Rejection } from '#a2a/errors.js'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import { VERSION_HEADER } from '#a2a/versions.js'
import { guard } from '#pipeline/guard.js'
import { compileLimits } from '#policy/limits/compile.js'
import { additionName } from '#policy/request/methods.js'
import { earlyCharges, lateCharges } from '#pipeline/access/limits.js'
import { headOf } from '#pipeline/request-head.js'
import { dryRunRequest, NO_MEMORY } from '#pipeline/dry-run.js'
import type { DryRun, DryRunMemory } from '#pipeline/dry-run-operation.js'
import { mediaTypeOf } from '#pipeline/caller.js'
import { badTarget, unknownAgent } from '#pipeline/rejections.js'
import { rejectionResponse } from '#pipeline/rejection-response.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { readRequestedVersion } from '#pipeline/request.js'
import type { AgentConfig, Config } from '#config/model/model.js'
import type { Chain } from '#identity/chain.js'
import { CHAIN_HEADER } from '#identity/chain.js'
import type { Principal } from '#identity/principal.js'
import { checkTarget, joinPath, splitTarget } from '#wire/target.js'
import { ExchangeTraces } from './response-trace.js'
import { externalShown } from './external-shown.js'
import { explainResponse } from './explain-response.js'
import type { Explanation, ExtensionSets, RejectionShown } from './explanation.js'
import { grpcHeaders, grpcPlaceOf, grpcRequestOf, isGrpcCall } from './grpc-call.js'
import { grpcStatusShown } from './grpc-status.js'
import { forwardedShown } from './forwarded.js'
import { placeOf, plainRequest, sentHeaders } from '../place.js'
import type { RecordedRequest } from '../recording/recorded-request.js'
import { shownTarget } from '../display.js'
import type { GrpcTarget } from '#a2a/card/map.js'

/** One agent, with the state built from its card. */
export interface KnownAgent {
  readonly state: AgentState
  /** URL or file of the card, for display. */
  readonly card: string
}

export interface ExplainOptions {
  readonly config: Config
  /** Name of the agent. Null: the address of the request decides. */
  readonly agent: string | null
  /** Who calls. Default: nobody that the gateway knows. */
  readonly caller?: Principal | null
  /** The chain of callers behind the requests. Default: none. */
  readonly chain?: Chain | null
  /** Returns recorded answers of policy servers. Default: none. */
  readonly answers?: DryRunMemory['answers'] | undefined
  /** Flat list of headers that replace recorded headers of the same name. */
  readonly headers: readonly string[]
  /**
   * Returns the state of an agent.
   * @throws CannotExplain when the card cannot be loaded
   */
  readonly known: (agent: AgentConfig) => Promise<KnownAgent>
}

/**
 * Explains one recorded request.
 * @param place file and number of the request in the file, for display
 * @throws CannotExplain
 */
export async function explainRequest (
  recorded: RecordedRequest,
  place: { readonly file: string; readonly number: number },
  options: ExplainOptions
): Promise<Explanation> {
  const grpc = isGrpcCall(recorded)
  const headers = grpc ? grpcHeaders(recorded, options.headers) : sentHeaders(recorded, options.headers)
  const request: RecordedRequest = { ...recorded, headers }
  const by = options.caller ?? null
  const notes = [...(grpc ? [] : assumptions(recorded, headers)), ...(by === null && options.config.identity !== null ? [NOBODY] : [])]
  const shown = {
    file: place.file,
    number: place.number,
    line: recorded.line,
    name: recorded.name,
    method: recorded.method,
    target: recorded.target === null ? null : shownTarget(recorded.target),
    bodyBytes: recorded.body.length
  }
  const rejected = recorded.target === null ? null : checkTarget(recorded.target)
  const base = { request: shown, notes, caller: shownCaller(by) }
  if (rejected !== null) return withoutAgent(request, base, badTarget(rejected))
  const agentPlace = (grpc ? grpcPlaceOf : placeOf)(request, options.config.agents, options.agent)
  if (agentPlace === null) return withoutAgent(request, base, guard(headOf(recorded.method, headers)) ?? unknownAgent)

  const { config } = agentPlace
  const { state, card } = await options.known(config)
  const upstream = new URL(config.upstream.url)
  const sent = grpc
    ? grpcRequestOf(request, headers, options.config.limits.body)
    : { request: plainRequest(request, agentPlace.path, state), notes: [] }
  const plain = { ...sent.request, caller: by, chain: options.chain ?? null }
  const traces = new ExchangeTraces(by)
  const memory = { ...NO_MEMORY, answers: options.answers ?? (() => null) }
  const { delegation, limits, server: { publicUrl } } = options.config
  const dryRun = dryRunRequest({ config, state, publicUrl, delegation }, plain, limits, traces, memory)
  const { route, call, evaluation, caller, rejection } = dryRun
  const decision = evaluation?.decision ?? null
  const operation = call?.operation ?? (route?.kind === 'operation' ? route.operation : null)
  const addition =
    route?.kind === 'operation'
      ? additionName(state.policy[route.version], operation === 'Other' ? (call?.method ?? null) : null, route.extensionRoute)
      : null
  const edited = rejection === null ? (decision?.edited ?? []) : []
  return {
    request: { ...shown, target: shown.target ?? joinPath(config.path, plain.path), bodyBytes: plain.body?.length ?? 0 },
    notes: [
      ...notes, ...sent.notes, ...unverified(config, options, headers), ...(decision === null || decision.owner === null ? [] : [OWNER])
    ],
    agent: {
      name: config.name,
      mode: config.mode,
      upstream: joinPath(upstream.origin, upstream.pathname.replace(/\/$/, '')),
      foundBy: agentPlace.foundBy
    },
    card,
    caller: shownCaller(by),
    kind: dryRun.kind,
    binding: route !== null && 'binding' in route ? route.binding : null,
    version: caller.version,
    versionWhy: grpc ? grpcVersionWhy(plain.path) : versionWhy(request, plain.query),
    operation: addition ?? operation,
    method: call === null || call.method === null || call.operation === 'Other' ? null : call.method,
    access: accessShown(dryRun),
    ...delegationShown(dryRun),
    extensions: evaluation === null ? null : setsOf(evaluation),
    policies: evaluation === null ? [] : traces.policies(config, evaluation.policy, edited),
    checks: decision === null ? [] : traces.checks(decision),
    unexamined: decision?.unexamined ?? [],
    ...externalShown(dryRun.external),
    ...limitsShown(dryRun, agentPlace.config.name, options.config),
    ...pauseShown(decision),
    decision: decision?.pause != null ? 'pause' : rejection !== null ? 'reject' : dryRun.kind === 'card' ? 'answer' : 'forward',
    rule: rejection?.rule ?? null,
    reason: rejection === null ? null : (rejection.customReason ?? rejection.reason),
    edited,
    verbatim: rejection === null && decision?.verbatim === true,
    forwarded: forwardedShown(dryRun, config, plain, grpc ? serverOf(state, caller.version) : undefined, delegation !== null),
    refusal: rejection === null || decision?.pause != null ? null : rejectionShown(rejection, caller, recorded.method),
    answer: recorded.response === null ? null : explainResponse(recorded.response, dryRun, config, traces)
  }
}

function serverOf ({ interfaces }: AgentState, version: Version): GrpcTarget | undefined {
  return interfaces.find(mappedInterface => mappedInterface.binding === 'GRPC' && mappedInterface.version === version)?.address
}

/** A recording does not show whose tasks are. */
const OWNER = 'the tasks and contexts of the request are taken for those of the caller (access.tasks)'
const NOBODY =
  'there is no caller: where identity needs one, the gateway rejects the request before it evaluates anything; give one with --caller'

const UNVERIFIED = 'the request has a chain of callers in a2a-delegation, which explain does not verify; give the chain with ' +
  '"delegation" in --caller'

function unverified (config: AgentConfig, { chain = null }: ExplainOptions, headers: readonly string[]): string[] {
  const reads = config.access.delegation !== null && chain === null
  return reads && headOf('', headers).headers[CHAIN_HEADER] !== undefined ? [UNVERIFIED] : []
}

function delegationShown ({ delegation }: DryRun): Pick<Explanation, 'delegation'> {
  if (delegation === null) return {}
  const { depth, hops, initiator, mode, problem } = delegation
  return { delegation: { depth, hops, initiator: shownCaller(initiator), mode, problem } }
}

function pauseShown (decision: Decision | null): Pick<Explanation, 'pause'> {
  if (decision === null || decision.pause === null) return {}
  const { state, text } = decision.pause.question
  return { pause: { state, text } }
}

/** The caller without the kind of the source, which no condition sees. */
function shownCaller (caller: Principal | null): Explanation['caller'] {
  if (caller === null) return null
  const { kind: _, ...shown } = caller
  return shown
}

function accessShown ({ access }: DryRun): Explanation['access'] {
  if (access === null) return null
  const { rule, decision, mode } = access
  return { rule, decision, mode }
}

function setsOf ({ decision, requested }: NonNullable<DryRun['evaluation']>): ExtensionSets {
  const { declared, listed, evidenced, active, injected, missing, forbidden } = decision
  return { declared, requested, listed, evidenced, active, injected, missing, forbidden: forbidden?.uris ?? [] }
}

/** The limits that a running gateway would ask. A request that the rules reject counts only in those of its head. */
function limitsShown ({ route, call, evaluation, rejection }: DryRun, agent: string, config: Config): Pick<Explanation, 'limits'> {
  const limits = compileLimits(config)?.get(agent)
  if (limits === undefined || route?.kind !== 'operation') return {}
  const head = { agent, principal: null, network: '' }
  const accepted = call !== null && evaluation !== null && rejection === null
  const late = accepted ? lateCharges(limits.late, head, { call, route, evaluation }).decisive : []
  const ids = [...new Set([...earlyCharges(limits.early, head), ...late].map(({ limit }) => limit.id))]
  return ids.length === 0 ? {} : { limits: ids }
}

function assumptions (recorded: RecordedRequest, headers: readonly string[]): string[] {
  const notes: string[] = []
  if (recorded.target === null) {
    notes.push(
      "a JSON-RPC envelope alone has neither address nor headers: it is posted to the agent's JSON-RPC interface as application/json; " +
        'add headers with --header'
    )
  }
  const length = headOf('', recorded.headers).headers['content-length']
  if (length !== undefined && length !== headOf('', headers).headers['content-length']) {
    notes.push('the recorded Content-Length differs from the length of the body; the length of the body is sent')
  }
  return notes
}

function grpcVersionWhy (path: string): string {
  const method = grpcMethodOf(path)
  return method === null
    ? 'the service is none of A2A'
    : `the service ${path.slice(1, path.lastIndexOf('/'))} is that of A2A ${method.version}`
}

function versionWhy (recorded: RecordedRequest, query: string): string {
  const head = headOf(recorded.method, recorded.headers)
  const header = head.headers[VERSION_HEADER]
  const { version, stated, problem } = readRequestedVersion(head, query)
  if (problem === 'conflict') return 'the request names two versions'
  if (problem === 'unknown') return 'the request names a version that the gateway does not support'
  if (!stated) return 'the request names no version, which means 0.3'
  return typeof header === 'string' && header.trim() !== ''
    ? `the header A2A-Version is ${version}`
    : `the query parameter A2A-Version is ${version}`
}

/** Explains a rejection before any agent is known. The rejection has the HTTP+JSON form, or that of gRPC. */
function withoutAgent (
  recorded: RecordedRequest,
  shown: Pick<Explanation, 'request' | 'notes' | 'caller'>,
  rejection: Rejection
): Explanation {
  const { query } = splitTarget(recorded.target ?? '')
  const head = headOf(recorded.method, recorded.headers)
  const asked = readRequestedVersion(head, query)
  const form = {
    binding: isGrpcCall(recorded) ? ('GRPC' as const) : ('HTTP+JSON' as const),
    version: asked.version,
    id: 'null',
    eventStream: false,
    statedVersion: asked.stated,
    mediaType: mediaTypeOf(head.headers['content-type'])
  }
  return {
    ...shown,
    agent: null,
    card: null,
    kind: 'refused',
    binding: null,
    version: asked.version,
    versionWhy: versionWhy(recorded, query),
    operation: null,
    method: null,
    access: null,
    extensions: null,
    policies: [],
    checks: [],
    unexamined: [],
    decision: 'reject',
    rule: rejection.rule,
    reason: rejection.reason,
    edited: [],
    verbatim: false,
    forwarded: null,
    refusal: rejectionShown(rejection, form, recorded.method),
    answer: null
  }
}

/** Formats a rejection. Only status 200 has no phrase of its own. */
function rejectionShown (rejection: Rejection, caller: DryRun['caller'], method: string): RejectionShown {
  const { status, phrase, headers, body } = rejectionResponse(rejection, caller)
  const pairs = headers.flatMap((name, i) => i % 2 === 0 ? [{ name, value: headers[i + 1] ?? '' }] : [])
  const grpc = caller.binding === 'GRPC' ? grpcStatusShown(headers) : null
  return {
    status,
    phrase: phrase === '' ? 'OK' : phrase,
    headers: pairs,
    body: method === 'HEAD' ? '' : body.toString(),
    ...(grpc === null ? {} : { grpc })
  }
}
