/** Resolves the names in push notification URLs (`push.resolve`), and counts the configurations of a task (`push.perTask`). */
import { pushCountOf, settlePush, tooManyConfigs, uncounted } from '#policy/push/count.js'
import type { NamedHost } from '#policy/push/resolve.js'
import { pushUrlDecisions } from '#policy/push/outcomes.js'
import { checkAddresses, hostsToResolve } from '#policy/push/resolve.js'
import type { PushChange, PushCounted } from '#state/store.js'
import { NameResolver } from '#upstream/name-resolver.js'
import type { Result } from '../step.js'
import { after, always } from '../run.js'
import type { Work } from '../work.js'
import type { Exchange } from '../exchange.js'
import { newToken, PushReservation } from '../push-reservation.js'

/** One for the process: look-ups occupy threads of the process. */
const resolver = new NameResolver()

/** Resolves the hosts of the push notification URLs in the call, and checks their addresses. */
export function checkPushUrls (exchange: Exchange): Result | Promise<Result> {
  const { parsed, evaluation: { policy: { push }, decision } } = exchange.work as Work
  if (push === null || decision.rejection !== null) return
  const hosts = hostsToResolve(push, parsed)
  return hosts.length === 0
    ? undefined
    : after(exchange, addressesOf(hosts), (exchange, addresses) => {
      addViolations(exchange.work as Work, checkAddresses(push, hosts, addresses))
    })
}

/** Adds violations to the decision. @param unavailable true when a store that the check needs is unavailable */
function addViolations (work: Work, violations: Parameters<typeof settlePush>[1], unavailable?: boolean): undefined {
  work.evaluation = { ...work.evaluation, decision: settlePush(work.evaluation.decision, violations, unavailable) }
}

async function addressesOf (hosts: readonly NamedHost[]): Promise<ReadonlyMap<string, readonly string[] | null>> {
  const names = [...new Set(hosts.map(({ name }) => name))]
  return new Map(await Promise.all(names.map(async name => [name, await resolver.resolve(name)] as const)))
}

/** Counts the configurations that the call sets or deletes (`push.perTask`). */
export function countPushConfigs (exchange: Exchange): Result | Promise<Result> {
  const work = exchange.work as Work
  const { policy: { push }, decision } = work.evaluation
  if (push === null) return
  const token = newToken()
  const count = push.perTask === null || decision.rejection !== null
    ? null
    : pushCountOf(push, work.parsed, work.route.binding === 'HTTP+JSON' ? work.route.upstreamPath : null, token)
  if (count === null) return recordUrls(exchange, work)
  if ('reason' in count) {
    addViolations(work, [count])
    return recordUrls(exchange, work)
  }
  const { agentName, services: { tasks } } = exchange
  const change = (kind: PushChange['kind'], entries: readonly string[], token: string): PushCounted | Promise<PushCounted> =>
    tasks.pushConfigs({ agent: agentName, taskId: count.taskId, kind, entries, token, max: push.perTask ?? 0 })
  return always(exchange, change(count.kind === 'delete' ? 'mark' : 'reserve', count.entries, token), (exchange, counted) => {
    if (typeof counted !== 'string') exchange.push = new PushReservation(count, counted, token, change)
    else {
      // A delete sets nothing.
      const violation = count.kind === 'delete' ? null : counted === 'full' ? tooManyConfigs(push) : uncounted(push)
      addViolations(exchange.work as Work, violation === null ? [] : [violation], counted === 'unavailable')
    }
    // Not `work` of the step: the reservation would keep the body in memory until the end of the call.
    return recordUrls(exchange, exchange.work as Work)
  })
}

function recordUrls ({ agentName, services: { metrics } }: Exchange, { parsed, evaluation: { decision } }: Work): undefined {
  for (const outcome of pushUrlDecisions(parsed, decision)) metrics.add('push_urls_total', agentName, outcome)
}
