/**
 * The configuration as the gateway uses it: every default filled in, durations in milliseconds, sizes in bytes.
 * Its source of truth is the JSON Schema in `schema.ts`; `load.ts` turns YAML into this.
 */

import type { AdvertisedExtension } from '../../a2a/card/additions.js'
import type { InlineSchema, Mode, PolicyConfig, SchemaSet } from './policy-model.js'

export type * from './policy-model.js'

export interface HostPort { readonly host: string, readonly port: number }

export interface Config {
  readonly server: ServerConfig
  readonly limits: Limits
  readonly shedding: SheddingConfig
  readonly agents: readonly AgentConfig[]
  /** Policies of the file's `extensions:` key, by name; those laid over the catalogue's with what they are laid over. */
  readonly extensions: Readonly<Record<string, PolicyConfig>>
  /** Schemas of the `bundles:` key, by name. */
  readonly bundles: Readonly<Record<string, SchemaSet>>
  /** What the gateway remembers of tasks. */
  readonly state: StateStoreConfig
  readonly telemetry: TelemetryConfig
  /** Short hash of the effective configuration, for `config_info{hash}`. */
  readonly hash: string
}

export interface ServerConfig {
  readonly listen: HostPort
  readonly admin: HostPort
  /** Of a listener for metrics and probes alone, or null. */
  readonly metrics: HostPort | null
  /** Host names that requests for agents and console may name, beside IP addresses, localhost and that of `admin`. */
  readonly adminHosts: readonly string[]
  /** Absolute http(s) URL without trailing slash, or null: then `http://<listen>`. */
  readonly publicUrl: string | null
  /** IP addresses and CIDRs whose X-Forwarded-* headers count. */
  readonly trustedProxies: readonly string[]
  /** How long a stop waits for calls and streams in flight, ms. */
  readonly drainTimeout: number
  /** Processes that serve the main listener; `auto` is as many as there are processors to use. */
  readonly workers: number | 'auto'
  readonly console: ConsoleConfig
}

/** The page on the admin listener. */
export interface ConsoleConfig {
  readonly enabled: boolean
  /** Whether calls can be sent from it. */
  readonly tryIt: boolean
  /** Decisions that are kept in each process for it. */
  readonly decisions: number
  /** Host names that requests for it may name, beside IP addresses, localhost and that of `admin`. */
  readonly hosts: readonly string[]
}

/** Where memory of tasks is kept, for conditions on task states, `state` and `correlate`. */
export interface StateStoreConfig {
  /** `memory`, or the URL of a Redis or Valkey server: `redis://` or `rediss://`. */
  readonly store: string
  /** How long a task is remembered after it was last seen, ms. */
  readonly ttl: number
  /** Tasks remembered in memory; the least recently seen is forgotten first. */
  readonly maxTasks: number
  /** How long a server may take to answer, ms; then the task counts as unknown. */
  readonly timeout: number
  /** Put before the keys of a server, for several gateways that share one. */
  readonly prefix: string
}

export interface Limits {
  /** Request line and headers. */
  readonly headers: number
  readonly body: number
  /** Answers that the gateway reads whole. */
  readonly response: number
  /** One event of an event stream that the gateway reads. */
  readonly event: number
  readonly card: number
  readonly jsonDepth: number
  readonly jsonMembers: number
  readonly extensions: number
  readonly headersTimeout: number
  readonly requestTimeout: number
  /** Bytes of bodies that the process holds at once. */
  readonly memory: number
  /** Of a client's connection without a request. */
  readonly idleTimeout: number
  /** For a client that takes nothing of what waits for it; 0: for ever. */
  readonly writeTimeout: number
  /** Of clients at once; 0: no limit. */
  readonly connections: number
}

/** Signs of a process that has too much to do, each 0 where it is not looked at. */
export interface SheddingConfig {
  /** ms */
  readonly eventLoopDelay: number
  /** 0 to 1 */
  readonly eventLoopUtilization: number
  readonly heapUsed: number
  readonly rss: number
  /** For clients, ms. */
  readonly retryAfter: number
}

export interface AgentConfig {
  readonly name: string
  /** Path prefix without trailing slash; the empty string is the root. */
  readonly path: string
  /** Host to match (lower case, without port), or null for any. */
  readonly host: string | null
  readonly upstream: UpstreamConfig
  readonly card: CardConfig
  /** Calls under way at once: of streaming operations, and all others. */
  readonly concurrency: { readonly requests: number, readonly streams: number }
  readonly mode: Mode
  readonly enforceOn: 'messages' | 'all'
  readonly unlistedExtensions: 'forward' | 'strip' | 'reject'
  readonly unknownMethods: 'reject' | 'forward'
  /** What becomes of DataParts that no policy claims. */
  readonly untaggedData: 'allow' | 'reject'
  /** What becomes of what is found wrong with answers: `enforce` acts on it, `observe` records it, `off` does not read them. */
  readonly responses: Mode
  /** Names of the policies in force, in order. */
  readonly extensions: readonly string[]
  /** The same, with what they say. */
  readonly policies: readonly ResolvedPolicy[]
  /** Policies that those require and that are not among them, by name. */
  readonly dependencies: Readonly<Record<string, PolicyConfig>>
  /** Path prefixes below the agent's path, without trailing slash, forwarded without inspection. */
  readonly passthrough: readonly string[]
  /** Paths of its origin to which the `upstream.url` of other agents leads, below its own or those of `card.interfaces`; as `loosePath` makes them. */
  readonly reservedPaths: readonly string[]
}

/** Where a policy, or one of its keys, comes from; each wins over those before it. */
export type Layer = 'catalogue' | 'file' | 'agent'

/** One policy in force for an agent: what its layers say together. */
export interface ResolvedPolicy {
  readonly name: string
  readonly policy: PolicyConfig
  /** Those that say something, lowest first. */
  readonly layers: readonly Layer[]
  /** By key, the layer that gave it; keys merged member by member are listed by member, such as `activation.scope`. */
  readonly from: Readonly<Record<string, Layer>>
}

export interface UpstreamConfig {
  /** Absolute http(s) URL; its path is the base that the agent's interfaces are mapped from. */
  readonly url: string
  readonly timeouts: { readonly connect: number, readonly headers: number, readonly idle: number, readonly queue: number, readonly total: number }
  readonly connections: number
  /** `ca`, `cert` and `key` are paths of PEM files, resolved against the configuration file. */
  readonly tls: { readonly ca: string | null, readonly cert: string | null, readonly key: string | null, readonly serverName: string | null }
  readonly extensionHeader: { readonly spelling: 'auto' | 'v1' | 'v03' | 'both', readonly form: 'repeated' | 'joined' }
}

export interface CardConfig {
  readonly url: string | null
  /** Absolute path of a card on disk, or null. */
  readonly file: string | null
  readonly refresh: number
  readonly maxStale: number
  readonly onUnavailable: 'reject' | 'forward'
  readonly signature: 'strip' | 'verbatim'
  /** Path prefixes at the agent that interfaces may have besides the path of `upstream.url`; `/` is all. */
  readonly interfaces: readonly string[]
  /** Extensions added to the served card, and enforced as if the agent declared them. */
  readonly advertise: readonly AdvertisedExtension[]
  /** Added to the card's own root key `schemas`, by name. */
  readonly schemas: Readonly<Record<string, InlineSchema>>
}

export interface TelemetryConfig {
  readonly logs: { readonly level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent', readonly format: 'json' | 'pretty' }
  readonly traces: { readonly enabled: boolean }
  readonly audit: { readonly enabled: boolean }
}
