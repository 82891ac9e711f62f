/** Finds agents by host and path. A search costs one map look-up per path segment, independent of the number of agents. */
import type { AgentConfig, Config } from '#config/model/model.js'

/** Any object with the configuration of an agent. */
interface Placed { readonly config: Pick<AgentConfig, 'host' | 'path'> }

export interface AgentMatch<A> {
  readonly agent: A
  /** The rest of the path after the agent's path: '' or text that begins with `/`. */
  readonly rest: string
}

export class Agents<A extends Placed> {
  readonly all: readonly A[]
  private readonly byPlace: ReadonlyMap<string, A>
  private readonly hosts: ReadonlySet<string>

  constructor (all: readonly A[]) {
    this.all = all
    this.byPlace = new Map(all.map(agent => [`${agent.config.host ?? ''} ${agent.config.path}`, agent]))
    this.hosts = new Set(all.map(agent => agent.config.host).filter(host => host !== null))
  }

  /** @param host of the request, lower case and without port, '' when unknown */
  find (host: string, path: string): AgentMatch<A> | null {
    return (this.hosts.has(host) ? this.longest(host, path) : null) ?? this.longest('', path)
  }

  private longest (host: string, path: string): AgentMatch<A> | null {
    for (let end = path.length; end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
      const agent = this.byPlace.get(`${host} ${path.slice(0, end)}`)
      if (agent !== undefined) return { agent, rest: path.slice(end) }
    }
    return null
  }
}

/** Host header without port, lower case. */
export function hostName (header: string | undefined): string {
  if (header === undefined) return ''
  const end = header.startsWith('[') ? header.indexOf(']') + 1 : header.indexOf(':')
  return (end > 0 ? header.slice(0, end) : header).toLowerCase()
}

/**
 * Returns the host names that the gateway serves, in lower case and without port: `server.hosts`, and those that the configuration names
 * elsewhere. Null without `server.hosts`: all.
 */
export function servedHosts ({ server: { hosts, publicUrl }, agents }: Config): ReadonlySet<string> | null {
  if (hosts.length === 0) return null
  const ofAgents = agents.map(agent => agent.host).filter(host => host !== null)
  const own = publicUrl === null ? [] : [new URL(publicUrl).hostname]
  return new Set([...hosts, ...ofAgents, ...own].map(name => name.toLowerCase()))
}
