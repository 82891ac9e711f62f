/** Describes the gateway itself, for `/agents` and the log. */
import type { Config } from '../config/model/model.js'
import { packageVersion } from '../config/paths.js'

export interface About {
  readonly name: string
  readonly version: string
  /** Version of Node, as `process.version` returns it. */
  readonly node: string
  /** Hash of the last loaded configuration, as in the metric `config_info`. */
  readonly configuration: string
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** Number of processes that serve; omitted for a single process. */
  readonly workers?: number
}

const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString()

export function aboutGateway (configuration: string, workers = 1): About {
  const about = { name: 'a2a-extension-gateway', version: packageVersion(), node: process.version, configuration, startedAt }
  return workers === 1 ? about : { ...about, workers }
}

/** Describes the URLs of served cards, for the log. @param url URL of the main listener; '' without one */
export function publicAddressLine ({ server: { hosts, publicUrl } }: Config, url: string): string {
  const cards = publicUrl === null
    ? `served cards name the host that the client used${url === '' ? '' : `, such as ${url}`}; set server.publicUrl for a fixed address`
    : `served cards name ${publicUrl}`
  return hosts.length === 0 ? cards : `${cards}; the gateway rejects requests for hosts outside server.hosts`
}
