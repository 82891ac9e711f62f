/** `/agents` of a gateway with workers: as the primary knows the agents, with what only workers know. */
import type { AgentDescription } from './messages.js'

interface Rejection { readonly at: string }

const KEPT_REJECTIONS = 5

/**
 * @param own of the primary, which has the cards
 * @param workers of each worker, or null of one that did not answer
 */
export function mergeDescriptions (own: readonly AgentDescription[], workers: readonly (readonly AgentDescription[] | null)[]): AgentDescription[] {
  const all = workers.flatMap(one => one ?? [])
  return own.map(agent => {
    const there = all.filter(one => one.name === agent.name)
    const lastRejections = there.flatMap(one => one.lastRefusals as Rejection[]).toSorted((a, b) => a.at < b.at ? 1 : a.at > b.at ? -1 : 0).slice(0, KEPT_REJECTIONS)
    return { ...agent, ...loadOf(there), lastRefusals: lastRejections }
  })
}

/** What an agent has under way is what it has in all workers together. */
function loadOf (there: readonly AgentDescription[]): object {
  const loads = there.flatMap(one => typeof one.load === 'object' && one.load !== null ? [one.load as Readonly<Record<string, number>>] : [])
  const [first] = loads
  return first === undefined ? {} : { load: Object.fromEntries(Object.keys(first).map(key => [key, loads.reduce((sum, one) => sum + (one[key] ?? 0), 0)])) }
}
