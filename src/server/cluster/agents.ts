/** Builds `/agents` of a gateway with workers: the descriptions of the primary, completed with data that only workers have. */
import type { AgentDescription } from './messages.js'

interface Rejection { readonly at: string }

const KEPT_REJECTIONS = 5

/**
 * @param own descriptions of the primary, which has the cards
 * @param workers descriptions of each worker, or null for a worker that did not respond
 */
export function mergeDescriptions (
  own: readonly AgentDescription[],
  workers: readonly (readonly AgentDescription[] | null)[]
): AgentDescription[] {
  const all = workers.flatMap(one => one ?? [])
  return own.map(agent => {
    const there = all.filter(one => one.name === agent.name)
    const lastRejections = there
      .flatMap(one => one.lastRefusals as Rejection[])
      .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
      .slice(0, KEPT_REJECTIONS)
    return { ...agent, ...loadOf(there), lastRefusals: lastRejections }
  })
}

/** Adds up the load of an agent over all workers. */
function loadOf (there: readonly AgentDescription[]): object {
  const loads = there.flatMap(one =>
    typeof one.load === 'object' && one.load !== null ? [one.load as Readonly<Record<string, number>>] : []
  )
  const [first] = loads
  return first === undefined
    ? {}
    : { load: Object.fromEntries(Object.keys(first).map(key => [key, loads.reduce((sum, one) => sum + (one[key] ?? 0), 0)])) }
}
