/** Describes the gateway itself for `/agents`. */
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
