/** Sends a request that the rules accepted to its agent. */
import { tenantOf } from '#a2a/task-id.js'
import { responseQuestionsOf } from '#pipeline/external/response.js'
import { ownershipPlanOf } from '#pipeline/access/ownership.js'
import * as rejections from '#pipeline/rejections.js'
import type { RequestedVersion } from '#pipeline/request.js'
import { echoOf, evaluatorFor, extendedCardOf, forwardedHead, negotiated, rewritesResponse } from '#pipeline/request.js'
import type { OwnerFindings } from '#policy/access/ownership.js'
import type { TaskKey } from '#state/store.js'
import { publicOriginOf } from '../client-address.js'
import type { Exchange } from '../exchange.js'
import type { ShownCard } from '../extended-card.js'
import { shownCard } from '../extended-card.js'
import type { Result } from '../step.js'
import { END } from '../step.js'
import type { Work } from '../work.js'
import { editedBody } from './credentials.js'
import { enter } from '../capacity.js'
import { endPaused } from './pause.js'
import { reject } from '../reply.js'

const WHOLE: ShownCard = { select: null }

/** Sends the request, unless the Host is unusable, the gateway itself has the response, or the agent has no capacity. */
export function send (exchange: Exchange): Result {
  const work = exchange.work as Work
  const { agent, state, route, parsed, task, owners, evaluation, problem } = work
  const publicBase = rewritesResponse(state, parsed) ? publicBaseOf(exchange, work) : null
  if (publicBase === undefined) return reject(exchange, rejections.badHost, 'rejected')
  const shown = publicBase === null || state.views.length === 0 ? WHOLE : shownCard(exchange, work, publicBase)
  if (shown === null || !enter(exchange, agent)) return END
  const { policy } = evaluation
  const { limits } = exchange.snapshot
  const body = work.edited ?? editedBody(work)
  const card = publicBase === null ? null : extendedCardOf(state, route, limits, publicBase, shown.select)
  const tenant = policy.remembers ? tenantOf(parsed, route.tenant) : null
  const keyOf = (taskId: string): TaskKey => ({ agent: agent.name, tenant, taskId })
  const { tasks, audit: { forwarded: follows } } = exchange.services
  exchange.active = evaluation.decision.active
  const ownership = ownershipPlanOf(policy.ownership, parsed, owners as OwnerFindings | undefined)
  const accepted = { agent: agent.name, route, call: parsed, head: exchange.request, caller: exchange.principal, evaluation }
  const json = { depth: limits.jsonDepth, members: limits.jsonMembers }
  const questions = state.external === null || card !== null ? null : responseQuestionsOf(state.external, accepted, work.redactions, json)
  const evaluator =
    card === null
      ? evaluatorFor(route, parsed, evaluation, {
        taskId: task?.taskId ?? null,
        limits,
        tracer: null,
        clock: Date.now,
        follows,
        owned: ownership !== null,
        asks: questions?.mode ?? null,
        recall: taskId => tasks.now(keyOf(taskId))
      })
      : null
  // The response must be readable: it tells what became of a push notification configuration.
  const reads = exchange.push !== null || card !== null || (evaluator !== null && (follows || evaluator.enforces))
  const plan = {
    echo: echoOf(evaluation),
    card,
    evaluation: evaluator === null ? null : { evaluator, limits, ownership, external: questions },
    anyPage: route.extensionRoute !== null
  }
  exchange.forwarding = exchange.transport.send(exchange, {
    work,
    head: forwardedHead(evaluation, exchange.request),
    negotiated: negotiated(route, exchange.asked as RequestedVersion, problem, evaluation, reads),
    body,
    plan,
    remember: (taskId, fields) => tasks.write(keyOf(taskId), fields),
    owners: (names, owner, claim) => tasks.owners(agent.name, names, claim ? owner : null)
  })
  endPaused(exchange, work)
}

/** @returns the agent's URL at the gateway, or undefined when the client's host cannot be part of a URL */
function publicBaseOf ({ request, snapshot: { trusted } }: Exchange, { agent: { publicBase, config } }: Work): string | undefined {
  if (publicBase !== null) return publicBase
  const origin = publicOriginOf(request, trusted)
  return origin === null ? undefined : origin.url + config.path
}
