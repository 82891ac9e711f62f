/**
 * Puts the agents that sources have found into the value of a configuration file, where they are checked as if the file listed them. An
 * agent that fails a check is left out; it never makes the file invalid. The templates of the sources are checked with an agent each.
 */
import { digest } from './digest.js'
import type { PathProblem } from './diagnostics.js'
import type { AgentOrigin } from './model/model.js'
import { DEFAULT_POLICIES } from './schema/schema.js'
import { items, mapping } from './yaml/values.js'
import type { Mapping } from './yaml/values.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { isAtOrBelow, loosePath } from '#wire/target.js'
import { parseUrl } from '#wire/url.js'

/** An agent that a source has found and admitted. */
export interface DiscoveredAgent {
  /** Name of the entry: 1 to 63 of a-z, 0-9 and `-`. */
  readonly name: string
  readonly identifier: string
  /** As in {@link AgentOrigin}. */
  readonly published: string | null
  /** `upstream.url`. */
  readonly upstream: string
  /** `card.url`; null: at the usual place, or in a file. */
  readonly card: string | null
  /** `card.file`, for a card that the source itself has; null: none. */
  readonly cardFile: string | null
  /** Policies besides those of the template. */
  readonly extensions: readonly string[]
}

/** Agents by name of their source. */
export type Discovered = ReadonlyMap<string, readonly DiscoveredAgent[]>

/** An agent that is not in force because of the rest of the configuration. */
export interface LeftOut {
  readonly source: string
  readonly identifier: string
  /** One sentence. */
  readonly problem: string
}

interface Added {
  readonly source: string
  readonly agent: DiscoveredAgent
  readonly origin: AgentOrigin
}

export class Expansion {
  /** The value with the agents of the sources behind those of the file, and the agents that check the templates at the end. */
  readonly value: unknown
  readonly leftOut: LeftOut[] = []
  readonly #own: number
  readonly #added: Added[] = []
  /** Index in `agentSources` of each agent that checks a template. */
  readonly #probes: number[] = []

  /** @param dropped positions among the found agents, as {@link Expansion.dropped} returns them */
  constructor (value: unknown, discovered: Discovered, dropped: ReadonlyMap<string, string>) {
    const sources = items(mapping(value).agentSources)
    const own = items(mapping(value).agents)
    this.#own = own.length
    if (!isObject(value) || sources.length === 0) {
      this.value = value
      return
    }
    const file = own.map(mapping)
    const paths = file.map(({ path }) => path).filter(path => typeof path === 'string' && path !== '/')
    const directory = mapping(mapping(value.server).console).public
    const upstreams = new Map<string, { readonly url: URL, readonly source: string | null }[]>()
    const occupy = (text: unknown, source: string | null): void => {
      const url = typeof text === 'string' ? parseUrl(text) : null
      if (url !== null) upstreams.set(url.origin, [...upstreams.get(url.origin) ?? [], { url, source }])
    }
    for (const agent of file) occupy(mapping(agent.upstream).url, null)
    const agents: unknown[] = []
    sources.map(mapping).forEach(source => {
      const name = String(source.name)
      for (const candidate of discovered.get(name) ?? []) {
        const leaveOut = (problem: string): void => { this.leftOut.push({ source: name, identifier: candidate.identifier, problem }) }
        const reason = dropped.get(keyOf(name, candidate.identifier))
        if (reason !== undefined) {
          leaveOut(reason)
          continue
        }
        const agent = agentFrom(source, candidate)
        const { path } = agent
        const taken = typeof path === 'string' && (path === directory || paths.some(other => isAtOrBelow(path, other as string)))
        const upstream = parseUrl(candidate.upstream)
        const neighbour = upstreams.get(upstream?.origin ?? '')?.find(other =>
          other.source !== name && loosePath(other.url.pathname) !== loosePath(upstream?.pathname ?? '') &&
          isAtOrBelow(loosePath(upstream?.pathname ?? ''), loosePath(other.url.pathname)))
        if (taken) leaveOut('its path belongs to an agent of the file, or to the directory')
        else if (neighbour !== undefined) leaveOut('its address lies below the address of another agent, whose paths it would take')
        else {
          occupy(candidate.upstream, name)
          agents.push(agent)
          this.#added.push({ source: name, agent: candidate, origin: originOf(name, source, candidate) })
        }
      }
    })
    const probes = sources.map(mapping).map((source, i) => {
      this.#probes.push(i)
      // No entry has this name.
      const name = `p-${digest([i, source.name]).slice(0, 40)}`
      return agentFrom(
        source, { name, identifier: '', published: null, upstream: `https://${name}/`, card: null, cardFile: null, extensions: [] }
      )
    })
    this.value = { ...value, agents: [...own, ...agents, ...probes] }
  }

  /** The sources of the agents that a valid value contains, by name of the agent. */
  origins (value: unknown): ReadonlyMap<string, AgentOrigin> {
    const agents = items(mapping(value).agents)
    return new Map(this.#added.map(({ origin }, i) => [String(mapping(agents[this.#own + i]).name), origin]))
  }

  /** Returns the value without the agents that check the templates. */
  withoutProbes (value: unknown): unknown {
    if (this.#probes.length === 0 || !isObject(value)) return value
    return { ...value, agents: items(value.agents).slice(0, this.#own + this.#added.length) }
  }

  /**
   * Splits problems: those of the file, with problems of a template at the template, and those of found agents.
   * @returns `dropped`: problems of agents, for the next expansion
   */
  sort (problems: readonly PathProblem[]): { readonly own: PathProblem[], readonly dropped: ReadonlyMap<string, string> } {
    const dropped = new Map<string, string>()
    const own: PathProblem[] = []
    for (const problem of problems) {
      const [key, index, ...rest] = problem.path
      const at = key === 'agents' && typeof index === 'number' ? index - this.#own : -1
      const added = this.#added[at]
      const probe = at < this.#added.length ? undefined : this.#probes[at - this.#added.length]
      if (added !== undefined) {
        const agentKey = keyOf(added.source, added.agent.identifier)
        if (!dropped.has(agentKey)) dropped.set(agentKey, problem.message.replaceAll(/agents\[\d+\]\.?/g, ''))
      } else if (probe !== undefined) own.push(atTemplate(problem, probe, index as number, rest))
      else own.push(problem)
    }
    return { own, dropped }
  }
}

function atTemplate (problem: PathProblem, source: number, index: number, rest: PathProblem['path']): PathProblem {
  const message = problem.message.replaceAll(`agents[${index}]`, `agentSources[${source}].agent`)
  return { ...problem, path: ['agentSources', source, 'agent', ...rest], message }
}

function keyOf (source: string, identifier: string): string {
  return JSON.stringify([source, identifier])
}

function originOf (name: string, source: Mapping, { identifier, published }: DiscoveredAgent): AgentOrigin {
  const cluster = isObject(source.kubernetes)
  const allowed = items(source.allowPrivate).filter(network => typeof network === 'string')
  return { source: name, kind: cluster ? 'kubernetes' : 'catalog', identifier, published, allowPrivate: cluster ? null : allowed }
}

/** Returns the agent as a file would have it. The card of a pinned agent changes when `agents.lock` does. */
function agentFrom (source: Mapping, discoveredAgent: DiscoveredAgent): JsonObject {
  const { name = '{name}', path, upstream, card, extensions, ...rest } = structuredClone(mapping(source.agent))
  const changes = source.admit === undefined || source.admit === 'pinned' ? { changes: 'hold' } : {}
  const placed = (text: unknown): unknown => typeof text === 'string' ? text.replaceAll('{name}', discoveredAgent.name) : text
  const url = mapping(card).file === undefined && discoveredAgent.card !== null ? { url: discoveredAgent.card } : {}
  const own = discoveredAgent.cardFile === null ? url : { file: discoveredAgent.cardFile }
  return {
    ...rest,
    name: placed(name),
    path: placed(path),
    upstream: { ...mapping(upstream), url: discoveredAgent.upstream },
    card: { ...changes, ...mapping(card), ...own },
    ...(extensions === undefined && discoveredAgent.extensions.length === 0
      ? {}
      : { extensions: withMore(extensions, discoveredAgent.extensions) })
  }
}

/** @param listed the list of the template; absent: the policies that are in force by default */
function withMore (listed: unknown, more: readonly string[]): unknown {
  if (more.length === 0) return listed
  const own = listed === undefined ? DEFAULT_POLICIES : items(listed)
  const names = new Set(own.flatMap(entry => typeof entry === 'string' ? [entry] : Object.keys(mapping(entry))))
  return [...own, ...more.filter(name => !names.has(name))]
}
