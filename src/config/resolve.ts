import { resolve as resolvePath } from 'node:path'
import { digest } from './digest.js'
import { parseHostPort } from './formats.js'
import type { AgentConfig, CardConfig, Config, HostPort, Limits, PolicyConfig, ServerConfig, TelemetryConfig, UpstreamConfig } from './model.js'
import { duration, size } from './units.js'
import { items, mapping } from './yaml-values.js'

/** The file's value once validation has passed and filled in the defaults: the model, with quantities still as text. */
interface ConfigFile {
  readonly server: Texts<ServerConfig, 'listen' | 'admin' | 'drainTimeout'>
  readonly limits: Texts<Limits, 'body' | 'response' | 'card' | 'requestTimeout'>
  readonly agents: readonly AgentFile[]
  readonly extensions: Readonly<Record<string, PolicyConfig>>
  readonly telemetry: TelemetryConfig
}

type Texts<T, K extends keyof T> = Omit<T, K> & Readonly<Record<K, string>>

interface AgentFile extends Omit<AgentConfig, 'upstream' | 'card'> {
  readonly upstream: Omit<UpstreamConfig, 'timeouts'> & { readonly timeouts: Readonly<Record<keyof UpstreamConfig['timeouts'], string>> }
  readonly card: Texts<CardConfig, 'refresh' | 'maxStale'>
}

/**
 * Turns a valid configuration file into what the gateway uses. The result is frozen.
 * @param value the file's value, validated
 * @param baseDir directory that its paths are relative to
 */
export function resolveConfig (value: unknown, baseDir: string): Config {
  const file = value as ConfigFile
  const config: Omit<Config, 'hash'> = {
    server: {
      listen: hostPort(file.server.listen),
      admin: hostPort(file.server.admin),
      publicUrl: file.server.publicUrl === null ? null : new URL(file.server.publicUrl).href.replace(/\/+$/, ''),
      trustedProxies: file.server.trustedProxies,
      drainTimeout: duration(file.server.drainTimeout)
    },
    limits: {
      ...file.limits,
      body: size(file.limits.body),
      response: size(file.limits.response),
      card: size(file.limits.card),
      requestTimeout: duration(file.limits.requestTimeout)
    },
    agents: file.agents.map((agent) => resolveAgent(agent, baseDir)),
    extensions: Object.fromEntries(Object.entries(file.extensions).map(([name, policy]) => [name, resolvePolicy(policy, baseDir)])),
    telemetry: file.telemetry
  }
  return freeze({ ...config, hash: digest(config).slice(0, 12) })
}

function resolveAgent (agent: AgentFile, baseDir: string): AgentConfig {
  const { upstream, card } = agent
  const onDisk = (file: string | null) => file === null ? null : resolvePath(baseDir, file)
  return {
    ...agent,
    path: agent.path === '/' ? '' : agent.path,
    host: agent.host?.toLowerCase() ?? null,
    upstream: {
      ...upstream,
      url: new URL(upstream.url).href,
      timeouts: {
        connect: duration(upstream.timeouts.connect),
        headers: duration(upstream.timeouts.headers),
        idle: duration(upstream.timeouts.idle)
      },
      tls: { ca: onDisk(upstream.tls.ca), cert: onDisk(upstream.tls.cert), key: onDisk(upstream.tls.key), serverName: upstream.tls.serverName }
    },
    card: { ...card, file: onDisk(card.file), refresh: duration(card.refresh), maxStale: duration(card.maxStale) }
  }
}

/** Paths of secrets become absolute. */
function resolvePolicy (policy: PolicyConfig, baseDir: string): PolicyConfig {
  const { inject } = policy
  if (inject === undefined) return policy
  return { ...policy, inject: inject.map((one) => one.fromSecret?.file === undefined ? one : { ...one, fromSecret: { file: resolvePath(baseDir, one.fromSecret.file) } }) }
}

function hostPort (text: string): HostPort {
  const parsed = parseHostPort(text)
  if (parsed === null) throw new RangeError(`not host:port: ${text}`)
  return parsed
}

function freeze<T> (value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) freeze(item)
  }
  return value
}

/** Every file that the configuration names, absolute; of a value that may still be wrong. */
export function namedFiles (value: unknown, baseDir: string): string[] {
  const { agents, extensions } = (value ?? {}) as { agents?: unknown, extensions?: unknown }
  const named: unknown[] = Object.values(mapping(extensions)).flatMap((policy) => items(mapping(policy).inject)).map((one) => mapping(mapping(one).fromSecret).file)
  for (const agent of Array.isArray(agents) ? agents as (Partial<AgentFile> | null)[] : []) {
    const { ca, cert, key } = { ...agent?.upstream?.tls }
    named.push(ca, cert, key, agent?.card?.file)
  }
  return named.filter((file) => typeof file === 'string').filter((file) => file !== '' && !file.includes('\0')).map((file) => resolvePath(baseDir, file))
}
