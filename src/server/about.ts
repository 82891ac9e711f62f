/** Describes the gateway itself, for `/agents` and the log. */
import { hostPortText, isEveryInterface } from '#config/listeners/host-port.js'
import type { Config, ListenerTlsConfig } from '#config/model/model.js'
import { packageVersion } from '#config/paths.js'
import type { Log } from '#telemetry/log.js'
import type { EngineReport } from '#wire/json/engine-faults.js'
import { testEngine } from '#wire/json/engine-faults.js'
import type { Diagnostic } from '#config/diagnostics.js'
import type { ReloadReport } from '#agents/changes.js'
import type { HostPort } from '#config/model/listener-model.js'

export interface Gateway {
  /** URL of the main listener, without trailing slash; '' without one. */
  readonly url: string
  readonly adminUrl: string
  /** URL of the listener that `server.metrics` defines; null without that setting. */
  readonly metricsUrl: string | null
  /** `host:port` of the gRPC listeners: the shared one first. */
  readonly grpc: readonly string[]
  /** `host:port` of the listener for a mesh; null without one. */
  readonly mesh: string | null
  /**
   * Puts another configuration in force, all or nothing, without any effect on requests in flight. Logs the changes, and the settings that
   * need a restart. Never rejects.
   * @param warnings warnings about the file, for the log
   */
  reload (config: Config, warnings?: readonly string[]): Promise<ReloadReport>
  /** Reports a configuration that could not be read: logs the problems, counts the failure, and keeps the last good configuration. */
  reject (problems: readonly Diagnostic[]): ReloadReport
  /** Stops accepting, waits up to `server.drainTimeout` for calls and streams, then ends the rest. */
  close (): Promise<void>
}

/** Addresses of a gateway, as in {@link Gateway}. */
export type Addresses = Pick<Gateway, 'url' | 'adminUrl' | 'metricsUrl' | 'grpc' | 'mesh'>

export interface About {
  readonly name: string
  readonly version: string
  /** Version of Node, as `process.version` returns it. */
  readonly node: string
  /** Hash of the last loaded configuration, as in the metric `config_info`. */
  readonly configuration: string
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** Known faults of the JavaScript engine in reading JSON, which the gateway works around; omitted for none. */
  readonly engineFaults?: readonly string[]
  /** Number of processes that serve; omitted for a single process. */
  readonly workers?: number
}

let engine: EngineReport | null = null

const startedAt = new Date(Date.now() - process.uptime() * 1_000).toISOString()

export function aboutGateway (configuration: string, workers = 1): About {
  const about = { name: 'a2a-extension-gateway', version: packageVersion(), node: process.version, configuration, startedAt }
  const { faults } = engine ??= testEngine()
  return {
    ...about,
    ...(faults.length === 0 ? {} : { engineFaults: faults.map(({ name }) => name) }),
    ...(workers === 1 ? {} : { workers })
  }
}

/**
 * Tests how this version of Node reads JSON, and logs a known fault that the gateway works around, or an error when a reader of the gateway
 * itself reads wrongly.
 */
export function logEngine (log: Log): void {
  const { faults, misread } = engine ??= testEngine()
  const node = process.version
  for (const { effect } of faults) log.info({ node }, `the gateway works around a fault of Node ${node}: ${effect}`)
  if (misread.length === 0) return
  log.error({ node }, `the gateway reads JSON wrongly on Node ${node}, so its decisions are not reliable: run another version of Node`)
}

/** Logs the addresses of a gateway that has started. @param workers number of processes that serve; omitted for a single process */
export function logListening (log: Log, config: Config, addresses: Addresses, workers?: number): void {
  const { url, adminUrl, metricsUrl, grpc, mesh } = addresses
  const { publicUrl, grpc: sharedGrpc } = config.server
  logEngine(log)
  log.info(
    {
      ...(url === '' ? {} : { url }),
      ...(publicUrl === null ? {} : { publicUrl }),
      ...(sharedGrpc === null ? {} : { grpc }),
      ...(mesh === null ? {} : { mesh }),
      admin: adminUrl,
      ...(metricsUrl === null ? {} : { metrics: metricsUrl }),
      agents: config.agents.map(agent => agent.name),
      ...(workers === undefined ? {} : { workers }),
      version: packageVersion()
    },
    'listening'
  )
  log.info({}, publicAddressLine(config, url))
  const open = openToEveryone(config)
  if (open.length > 0) {
    log.warn(
      {},
      `the gateway accepts calls on every network interface (${open.join(', ')}) and authenticates nobody: configure identity, or listen ` +
        'on one address'
    )
  }
}

/** The settings of listeners that accept calls of everybody on every network interface, without a credential or certificate. */
function openToEveryone ({ identity, agents, server }: Config): string[] {
  if (identity !== null) return []
  const { listen, tls, grpc } = server
  const listeners: readonly (readonly [setting: string, at: HostPort | null | undefined, tls: ListenerTlsConfig | null])[] = [
    ['server.listen', listen, tls],
    ...(grpc === null
      ? []
      : [
          ['server.grpc.listen', grpc.listen, grpc.tls] as const,
          ...agents.map(agent => [`grpc.listen of agent ${agent.name}`, agent.grpc?.listen, grpc.tls] as const)
        ])
  ]
  return listeners
    .filter(([, at, ownTls]) => at !== null && at !== undefined && isEveryInterface(at) && ownTls?.clientCertificate !== 'require')
    .map(([setting, at]) => `${setting}: ${hostPortText(at as HostPort)}`)
}

/** Describes the URLs of served cards. @param url URL of the main listener; '' without one */
function publicAddressLine ({ server: { hosts, publicUrl } }: Config, url: string): string {
  const cards = publicUrl === null
    ? `served cards name the host that the client used${url === '' ? '' : `, such as ${url}`}; set server.publicUrl for a fixed address`
    : `served cards name ${publicUrl}`
  return hosts.length === 0 ? cards : `${cards}; the gateway rejects requests for hosts outside server.hosts`
}
