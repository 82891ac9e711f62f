/** The first page: whether the gateway is ready, and a summary of each agent with its counts. */
import type { CardChange } from '#a2a/card/additions.js'
import { keyOf, sumBy } from './counts.js'
import { clip, clipAll } from './text.js'
import type { ConsoleAgent, ConsoleSource, Description } from './source.js'

/** Largest number of listed agents. A filter finds the others. */
const LISTED = 300

/** Begins a reason that is about one agent. */
const OF_AGENT = /^agent [a-z0-9-]+: /

/** Returns the status that every page shows. */
export function statusOf (source: ConsoleSource): object {
  const { server, hash } = source.config()
  const { ready, reasons } = source.ready()
  const own = reasons.filter(reason => !OF_AGENT.test(reason))
  return {
    version: source.version,
    hash,
    workers: source.workers(),
    tryIt: server.console.tryIt,
    playground: server.console.playground,
    signOut: server.adminAccess !== null,
    ready,
    // An agent that cannot be reached is no fault of the gateway.
    problems: clipAll(own, 20),
    unavailable: reasons.length - own.length,
    reasons: clipAll(reasons, 20),
    agentCount: source.agents().length,
    traceUrl: server.console.traceUrl
  }
}

/**
 * Returns the agents and their counts.
 * @param wanted part of an agent's name, '' for all
 */
export async function overviewOf (source: ConsoleSource, wanted: string): Promise<object> {
  const [described, metrics] = await Promise.all([source.described(), source.metrics()])
  const byOutcome = sumBy(metrics, 'requests_total', labels => keyOf(labels.agent, labels.outcome))
  const count = (agent: string, outcome: string): number => byOutcome.get(keyOf(agent, outcome)) ?? 0
  const findings = sumBy(metrics, 'violations_total', labels => labels.mode === 'observe' ? keyOf(labels.agent) : null)
  const all = new Map(source.agents().map(agent => [agent.name, agent]))
  const matching = described.filter(description => description.name.includes(wanted))
  const shown = matching.slice(0, LISTED)
  return {
    ...statusOf(source),
    totals: Object.fromEntries(sumBy(metrics, 'requests_total', labels => String(labels.outcome))),
    streams: total(sumBy(metrics, 'streams_active', () => '')),
    active: total(sumBy(metrics, 'requests_active', () => '')),
    matching: matching.length,
    agents: shown.map(description => agentOf(description, all.get(description.name) ?? null, {
      forwarded: count(description.name, 'forwarded'),
      rejected: count(description.name, 'rejected'),
      errors: count(description.name, 'agent_error'),
      agentFailed: count(description.name, 'upstream_error'),
      gatewayFailed: count(description.name, 'gateway_error'),
      aborted: count(description.name, 'client_aborted'),
      observed: findings.get(keyOf(description.name)) ?? 0
    }))
  }
}

function total (sums: ReadonlyMap<string, number>): number {
  return [...sums.values()].reduce((a, b) => a + b, 0)
}

function agentOf (described: Description, agent: ConsoleAgent | null, counts: object): object {
  const { name, url, host, mode, responses, ready, card, interfaces, lastRefusals: lastRejections, load } = described
  const cards = agent?.state?.loaded.byVersion
  return {
    name,
    url,
    host,
    mode,
    responses,
    ready,
    load,
    counts,
    cardName: clip(cards?.['1.0'].card.name ?? '', 100),
    card: cardOf(card as CardStatus),
    interfaces,
    lastRefusals: lastRejections
  }
}

interface CardStatus {
  readonly state: string
  readonly origin: string | null
  readonly ageSeconds: number | null
  readonly etag: unknown
  readonly problem: string | null
  /** Null with `card.changes: apply`. */
  readonly agreement: { readonly held: object | null } | null
  readonly changes: readonly CardChange[]
  readonly warnings: readonly string[]
}

/** Largest number of changes of a card that the page lists. */
const CHANGES = 100

/** Truncates the texts. A card is untrusted, and so are the messages that quote it. */
function cardOf ({ agreement, ...card }: CardStatus): object {
  return {
    ...card,
    waits: agreement?.held != null,
    problem: card.problem === null ? null : clip(card.problem, 500),
    changes: card.changes.slice(0, CHANGES).map(change => ({ ...change, name: clip(change.name, 300) })),
    warnings: clipAll(card.warnings, 20)
  }
}
