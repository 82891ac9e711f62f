/** The addresses at which clients reach the gateway. */
import type { Config } from '../config/model/model.js'

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

/** Describes the URLs of served cards, for the log. @param url URL of the main listener */
export function publicAddressLine ({ server: { hosts, publicUrl } }: Config, url: string): string {
  const cards = publicUrl === null
    ? `served cards name the host that the client used, such as ${url}; set server.publicUrl for a fixed address`
    : `served cards name ${publicUrl}`
  return hosts.length === 0 ? cards : `${cards}; the gateway rejects requests for hosts outside server.hosts`
}
