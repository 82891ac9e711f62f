/**
 * Decides about calls that agents send on behalf of others (`access.delegation`). The chain of callers has three witnesses: the header that
 * gateways sign, the actors in the caller's token, and `Via`. Each can only add to the depth. RFC 8693 §4.1 forbids that prior actors count
 * for access; here they reject only, and never allow.
 */
import type { Reason, Rejection } from '#a2a/errors.js'
import type { AgentDelegationConfig, PresenterConfig } from '#config/model/model.js'
import { actorDepth, actorsOf } from '#identity/actors.js'
import type { Chain, ChainBudgets, ChainProblem } from '#identity/chain.js'
import type { Principal } from '#identity/principal.js'
import { GATEWAY, violation } from '#policy/violation.js'
import type { Violation } from '#policy/violation.js'
import { compileGlob } from '#wire/glob.js'
import type { AccessOutcome } from './access.js'
import { mergedBudgets, TIME } from './chain-budgets.js'

/** A verified chain, nothing, or the reason why a header is no chain. `unavailable`: the keys of its gateway cannot be fetched. */
export type ReadChain = Chain | null | { readonly problem: ChainProblem | 'unavailable' }

export type DelegationProblem =
  | ChainProblem
  | 'unavailable'
  | 'presenter'
  | 'missing'
  | 'depth'
  | 'loop'
  | 'target'
  | 'initiator'
  | 'length'
  | 'time'

export interface DelegationRequest {
  readonly config: AgentDelegationConfig
  readonly mode: 'enforce' | 'observe'
  /** Name of this gateway in chains; null without `delegation`. */
  readonly gateway: string | null
  readonly agent: string
  readonly caller: Principal | null
  readonly chain: ReadChain
  /** The header `Via`, all lines joined. */
  readonly via: string | undefined
  /** Makes the id of a chain that begins here. */
  readonly newId: () => string
  /** Amounts that the caller names in `a2a-budget`. */
  readonly asked: ReadonlyMap<string, number>
  /** Milliseconds since the epoch. */
  readonly now: number
  /** True for a caller who must send a chain. */
  readonly isAgent: boolean
  /** True when the agent accepts calls without a caller. */
  readonly anonymous: boolean
}

export interface Delegation {
  readonly mode: 'enforce' | 'observe'
  /** Agents between the initiator and this agent. */
  readonly depth: number
  readonly id: string
  /** Amounts of the signed chain, and those that the caller names besides. */
  readonly received: ChainBudgets
  readonly asked: ReadonlyMap<string, number>
  /** What is left for the agent. */
  readonly budgets: ChainBudgets
  /** End of the time for the call, milliseconds since the epoch; null for none. */
  readonly deadline: number | null
  /** Agents that the signed chain names. */
  readonly hops: readonly string[]
  /** The caller who began the chain: without a signed chain, the direct caller. */
  readonly initiator: Principal | null
  /** The initiator, if the access lists must allow this caller too; undefined when the access of the direct caller is enough. */
  readonly authorize: Principal | null | undefined
  readonly problem: DelegationProblem | null
  /** Null: the call may go on. */
  readonly rejection: Rejection | null
  /** Empty without a problem. */
  readonly violations: readonly Violation[]
  /** The chain that the agent gets; null for none. */
  readonly next: Chain | null
}

/** Decides from the head of a request, and makes the chain for the agent. */
export function delegate (request: DelegationRequest): Delegation {
  const { config, mode, gateway, agent, caller, chain: read } = request
  const chain = read !== null && 'problem' in read ? null : read
  const depth = Math.max(chain?.depth ?? 0, caller === null ? 0 : actorDepth(caller), gatewaysIn(request.via))
  const deadline = deadlineOf(request, chain)
  const problem = problemOf(request, read, depth) ?? (deadline !== null && deadline <= request.now ? 'time' : null)
  const budgets = mergedBudgets(chain?.budgets ?? {}, request.asked)
  const chainId = chain?.id ?? request.newId()
  const id = `${gateway ?? ''}/${agent}`
  const hops = chain?.hops ?? NONE
  const initiator = chain === null ? caller : chain.initiator
  // A chain that cannot be trusted must not become a trusted one, also where problems are only observed.
  const isUntrusted = (read !== null && 'problem' in read) || problem === 'presenter' || problem === 'missing'
  return {
    mode,
    depth,
    id: chainId,
    received: chain?.budgets ?? {},
    asked: request.asked,
    budgets,
    deadline,
    hops,
    initiator,
    authorize: chain !== null && config.initiator === 'authorize' ? initiator : undefined,
    ...outcomeOf(problem, mode),
    next: gateway === null || config.as === null || isUntrusted
      ? null
      : {
          id: chainId,
          initiator,
          hops: [...hops, id],
          depth: depth + 1,
          mayReach: [...chain?.mayReach ?? [], ...config.mayReach === null ? [] : [config.mayReach]],
          presenter: config.as,
          budgets,
          deadline
        }
  }
}

const NONE: readonly never[] = []

function problemOf (
  { config, gateway, agent, caller, isAgent, anonymous }: DelegationRequest,
  chain: ReadChain,
  depth: number
): DelegationProblem | null {
  if (chain !== null && 'problem' in chain) return chain.problem
  if (chain !== null && !isPresenter(caller, chain.presenter)) return 'presenter'
  if (chain === null && isAgent && (caller === null || actorDepth(caller) === 0)) return 'missing'
  if (depth > config.maxDepth) return 'depth'
  if (isLoop(config, caller) || chain?.hops.includes(`${gateway ?? ''}/${agent}`) === true) return 'loop'
  if (chain?.mayReach.every(list => list.some(pattern => reaches(pattern, gateway ?? '', agent))) === false) return 'target'
  return chain !== null && chain.initiator === null && !anonymous && config.initiator === 'authorize' ? 'initiator' : null
}

/** The earliest end of the time: of the chain, of the caller's header, of the configuration. */
function deadlineOf ({ config: { maxTime }, asked, now }: DelegationRequest, chain: Chain | null): number | null {
  const time = asked.get(TIME)
  const ends = [chain?.deadline ?? null, time === undefined ? null : now + time * 1_000, maxTime === null ? null : now + maxTime]
  return ends.reduce((end, other) => end === null || other === null ? end ?? other : Math.min(end, other), null)
}

/** True when the caller is the one to whom a gateway has given the chain. */
function isPresenter (caller: Principal | null, { source, subject, client, spiffe }: PresenterConfig): boolean {
  if (caller === null) return false
  // The current actor of a delegated token presents it; its subject is the initiator.
  const [actor = null] = actorsOf(caller)
  return (source === undefined || caller.sources.includes(source)) &&
    (subject === undefined || subject === caller.subject || subject === actor) &&
    (client === undefined || client === caller.client) &&
    (spiffe === undefined || spiffe === caller.spiffe)
}

/** The agent itself is among those who act for the caller. */
function isLoop ({ as }: AgentDelegationConfig, caller: Principal | null): boolean {
  if (as === null || caller === null) return false
  const actors = actorsOf(caller)
  return [as.subject, as.client, as.spiffe].some(name => name !== undefined && actors.includes(name))
}

const PSEUDONYM = /\ba2a-gateway-[0-9a-f]{12}\b/g

/** Number of gateways in `Via`. Nobody signs it, so it only shows what nobody hides. */
function gatewaysIn (via: string | undefined): number {
  return via === undefined ? 0 : new Set(via.match(PSEUDONYM)).size
}

function reaches (pattern: string, gateway: string, agent: string): boolean {
  return compileGlob(pattern).test(pattern.includes('/') ? `${gateway}/${agent}` : agent)
}

const RULE = 'delegation'

const INVALID: Reason = 'DELEGATION_INVALID'
const FORBIDDEN: Reason = 'DELEGATION_NOT_ALLOWED'
const MESSAGES: Readonly<Record<DelegationProblem, readonly [Reason, string]>> = {
  malformed: [
    INVALID,
    'The header a2a-delegation is not a chain of callers of this trust domain; send the header that your agent received, once and ' +
      'unchanged.'
  ],
  signature: [INVALID, 'The signature of the header a2a-delegation is not valid; send the header that your agent received, unchanged.'],
  unknown_key: [
    INVALID, 'The header a2a-delegation is signed with a key that is not trusted here; ask the operator of the gateway to add the key.'
  ],
  expired: [
    INVALID, 'The header a2a-delegation has expired, or is not valid yet; send the header of the call that your agent works on now.'
  ],
  presenter: [
    INVALID,
    'The header a2a-delegation belongs to another agent; send the header that your agent received, with the credentials of your agent.'
  ],
  missing: [
    INVALID,
    'The caller is an agent and does not say for whom it calls; send the header a2a-delegation of the call that your agent works on.'
  ],
  unavailable: [
    'IDENTITY_UNAVAILABLE',
    'The gateway cannot verify the header a2a-delegation now, because the keys of another gateway cannot be fetched; send the request ' +
      'again later.'
  ],
  depth: [FORBIDDEN, 'Too many agents stand between this agent and the caller who initiated the call; call the agent more directly.'],
  loop: [FORBIDDEN, 'The call has already passed through this agent; do not call an agent that waits for you.'],
  target: [FORBIDDEN, 'An agent that passed the call on may not reach this agent; ask the operator of the gateway for access.'],
  time: [FORBIDDEN, 'The time for the call of the initiator is over; ask the initiator to call again.'],
  length: [
    FORBIDDEN,
    'The chain of callers does not fit into a header of 8 KiB; call the agent more directly, or with credentials that name fewer groups.'
  ],
  initiator: [FORBIDDEN, 'The caller who initiated the call may not send this request; ask the operator of the gateway for access.']
}

function outcomeOf (problem: DelegationProblem | null, mode: Delegation['mode']): Pick<Delegation, 'problem' | 'rejection' | 'violations'> {
  if (problem === null) return { problem, rejection: null, violations: NONE }
  const [reason, message] = MESSAGES[problem]
  const path = problem === 'initiator' ? '' : 'header a2a-delegation'
  const rejection = { reason, message, rule: `${GATEWAY}/${RULE}`, metadata: { rule: RULE, problem } }
  return {
    problem,
    rejection: mode === 'observe' ? null : rejection,
    violations: [violation({ mode, reason, extension: GATEWAY, rule: RULE, path, message, isStandalone: true })]
  }
}

/** The decision of the access lists on the initiator. @returns null when they allow the request, or cannot decide yet */
export function rejectedInitiator (outcome: AccessOutcome | null): Pick<Delegation, 'problem' | 'rejection' | 'violations'> | null {
  return outcome === null || outcome.decision === 'allow' ? null : outcomeOf('initiator', outcome.mode)
}

/** The rejection of a call whose chain does not fit into a header. */
export function tooLong (mode: Delegation['mode']): Pick<Delegation, 'problem' | 'rejection' | 'violations'> {
  return outcomeOf('length', mode)
}
