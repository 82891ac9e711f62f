/** Who answers: what `/agents` says of the gateway itself. */
import { packageVersion } from '../config/paths.js'

export interface About {
  readonly name: string
  readonly version: string
  /** Of Node, as `process.version` has it. */
  readonly node: string
  /** Hash of the configuration that was loaded last, as in the metric `config_info`. */
  readonly configuration: string
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** Processes that serve; left out where there is one. */
  readonly workers?: number
}

const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString()

export function aboutGateway (configuration: string, workers = 1): About {
  const about = { name: 'a2a-extension-gateway', version: packageVersion(), node: process.version, configuration, startedAt }
  return workers === 1 ? about : { ...about, workers }
}
