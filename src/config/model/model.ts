/**
 * The configuration as the gateway uses it: every default filled in, durations in milliseconds, sizes in bytes. The JSON Schema in
 * `schema.ts` is its source of truth. `load.ts` turns YAML into this model.
 */

import type { AdvertisedExtension } from '#a2a/card/additions.js'
import type { AccessConfig } from './access-model.js'
import type { DelegationConfig } from './delegation-model.js'
import type { DecisionPointConfig, ExternalConfig } from './external-model.js'
import type { CallerConfig, IdentityConfig } from './identity-model.js'
import type { BudgetConfig, RateConfig } from './rates-model.js'
import type { CardVerifyConfig, CardViewConfig } from './card-model.js'
import type {
  ClientTlsConfig, AgentGrpcConfig, GrpcListenerConfig, HostPort, ListenerTlsConfig, MeshListenerConfig
} from './listener-model.js'
import type { CatalogPublisher } from '#a2a/catalog/catalog.js'
import type { AgentSourceConfig } from './source-model.js'
import type { SecretHeaders, UpstreamCredentialsConfig } from './credentials-model.js'
import type { Mode, PolicyConfig } from './policy-model.js'
import type { InlineSchema, SchemaSet } from './schema-model.js'
import type { SigningKeyConfig } from './signing-key-model.js'

export type * from './policy-model.js'
export type * from './schema-model.js'

export interface Config {
  readonly server: ServerConfig
  readonly limits: Limits
  readonly shedding: SheddingConfig
  readonly agents: readonly AgentConfig[]
  /** Sources of further agents. Those that they have found are in `agents`. */
  readonly agentSources: readonly AgentSourceConfig[]
  /**
   * Policies of the file's `extensions:` key, by name, and those of the directory of `extensions.from`. A policy that overrides the
   * catalogue is merged with the catalogue's policy.
   */
  readonly extensions: Readonly<Record<string, PolicyConfig>>
  /** Absolute path of the directory of `extensions.from`; null without one. */
  readonly policyDirectory: string | null
  /** Schemas of the `bundles:` key, by name. */
  readonly bundles: Readonly<Record<string, SchemaSet>>
  /** Null: the gateway authenticates nobody. */
  readonly identity: IdentityConfig | null
  /** Null: the gateway neither writes nor reads signed chains of callers. */
  readonly delegation: DelegationConfig | null
  /** Policy servers, by name. */
  readonly decisionPoints: Readonly<Record<string, DecisionPointConfig>>
  /** Limits of requests. */
  readonly rates: readonly RateConfig[]
  /** Limits of what agents report. */
  readonly budgets: readonly BudgetConfig[]
  /** Settings of the task state store. */
  readonly state: StateStoreConfig
  readonly telemetry: TelemetryConfig
  /** Short hash of the effective configuration, for `config_info{hash}`. */
  readonly hash: string
}

export interface ServerConfig {
  /** Address of the main listener. Null: only a mesh asks the gateway about calls. */
  readonly listen: HostPort | null
  readonly admin: HostPort
  /** Address of a separate listener for metrics and probes, or null. */
  readonly metrics: HostPort | null
  /** Host names that are allowed in requests for agents and console. IP addresses, localhost and the host of `admin` are always allowed. */
  readonly adminHosts: readonly string[]
  /** Null: the admin listener authenticates nobody. */
  readonly adminAccess: AdminAccessConfig | null
  /** Absolute http(s) URL without trailing slash. Null: the URLs of served cards follow the Host of each request. */
  readonly publicUrl: string | null
  /** Host names, without port, by which clients reach the main listener. Empty: any. */
  readonly hosts: readonly string[]
  /** IP addresses and CIDRs of proxies whose X-Forwarded-* headers are trusted. */
  readonly trustedProxies: readonly string[]
  /** Time that a stop waits for calls and streams in flight, ms. */
  readonly drainTimeout: number
  /** Directory for what the gateway remembers over a restart, absolute. Null: nothing. */
  readonly stateDir: string | null
  /** Number of processes that serve the main listener. `auto` is the number of available processors. */
  readonly workers: number | 'auto'
  readonly console: ConsoleConfig
  /** Null: the gateway publishes no AI Catalog. */
  readonly catalog: CatalogConfig | null
  /** TLS of the main listener. Null: plain HTTP. */
  readonly tls: ListenerTlsConfig | null
  /** Null: the gateway serves no gRPC. */
  readonly grpc: GrpcListenerConfig | null
  /** Null: no proxy asks the gateway about calls. */
  readonly mesh: MeshListenerConfig | null
}

/** Who may use `/agents` and the console. */
export interface AdminAccessConfig {
  /** Names of sources in `identity.sources`. */
  readonly sources: readonly string[]
  /** Values of the claim `aud`, of which an access token must name one besides one of its source. Null: those of the source are enough. */
  readonly audience: readonly string[] | null
  /** One of these conditions must hold. Empty: every caller of the sources. */
  readonly allow: readonly CallerConfig[]
  /** Longest session of a browser, ms. */
  readonly session: number
}

/** The AI Catalog that the gateway publishes. */
export interface CatalogConfig {
  readonly publisher: CatalogPublisher
  readonly documentationUrl: string | null
}

/** Settings of the console page on the admin listener, and of the directory of agents on the main listener. */
export interface ConsoleConfig {
  readonly enabled: boolean
  /** True when the page can send calls. */
  readonly tryIt: boolean
  /** True when the page can evaluate requests with changed policies. */
  readonly playground: boolean
  /** Number of requests of each agent that each process keeps for the playground. 0: none. */
  readonly requests: number
  /** Number of decisions that each process keeps for the page. */
  readonly decisions: number
  /** Host names that are allowed in requests for the page. IP addresses, localhost and the host of `admin` are always allowed. */
  readonly hosts: readonly string[]
  /** URL of a trace, with `{traceId}` in the place of the id. Null: no link. */
  readonly traceUrl: string | null
  /** Path of the directory of agents; null for none. */
  readonly public: string | null
}

/** Settings for the storage of task state, for conditions on task states, `state` and `correlate`. */
export interface StateStoreConfig {
  /** `memory`, or the URL of a Redis or Valkey server: `redis://` or `rediss://`. */
  readonly store: string
  /** Time that a task stays stored after its last use, ms. */
  readonly ttl: number
  /** Largest number of tasks in memory. The gateway drops the least recently seen task first. */
  readonly maxTasks: number
  /** Time limit for a response of the server, ms. After it the task counts as unknown. */
  readonly timeout: number
  /** Prefix of the keys on the server, for several gateways that share one server. */
  readonly prefix: string
}

export interface Limits {
  /** Size of request line and headers. */
  readonly headers: number
  readonly body: number
  /** Size of a response that the gateway reads completely. */
  readonly response: number
  /** Size of one event of an event stream that the gateway reads. */
  readonly event: number
  readonly card: number
  readonly jsonDepth: number
  readonly jsonMembers: number
  readonly extensions: number
  readonly headersTimeout: number
  readonly requestTimeout: number
  /** Bytes of bodies that the process buffers at once. */
  readonly memory: number
  /** Time that a client's connection may stay open without a request. */
  readonly idleTimeout: number
  /** Time that a client may take to accept buffered data. 0: no limit. */
  readonly writeTimeout: number
  /** Largest number of client connections at once. 0: no limit. */
  readonly connections: number
}

/** Thresholds that mark an overloaded process. 0 disables a threshold. */
export interface SheddingConfig {
  /** Milliseconds. */
  readonly eventLoopDelay: number
  /** A share from 0 to 1. */
  readonly eventLoopUtilization: number
  readonly heapUsed: number
  readonly rss: number
  /** Value of `Retry-After` for clients, ms. */
  readonly retryAfter: number
}

/** The source that has found an agent (`agentSources`). */
export interface AgentOrigin {
  /** Name of the source. */
  readonly source: string
  readonly kind: 'catalog' | 'kubernetes'
  /** Identifier of the entry, or `NAMESPACE/SERVICE`. */
  readonly identifier: string
  /** Identifier under which the gateway publishes the agent in its catalog; null: one of the gateway. */
  readonly published: string | null
  /** Networks that the agent may have private addresses in; null: its addresses come from the cluster and are not checked. */
  readonly allowPrivate: readonly string[] | null
}

export interface AgentConfig {
  readonly name: string
  /** Null for an agent of the configuration file. */
  readonly origin: AgentOrigin | null
  /** Path prefix without trailing slash; the empty string is the root. */
  readonly path: string
  /** Host to match (lower case, without port), or null for any. */
  readonly host: string | null
  readonly upstream: UpstreamConfig
  /** Null: the agent is not served by gRPC, and gRPC interfaces of its card are not carried. */
  readonly grpc: AgentGrpcConfig | null
  readonly card: CardConfig
  /** Largest number of calls in flight: of streaming operations (`streams`), and of all others (`requests`). */
  readonly concurrency: { readonly requests: number, readonly streams: number }
  /**
   * `unknownMinor`: treatment of minor versions of A2A 1 after 1.0, in cards and requests. `backslashNames`: treatment of member names in
   * requests that hide others from agents on V8 13.6.
   */
  readonly protocol: { readonly unknownMinor: 'carry' | 'reject', readonly backslashNames: 'forward' | 'reject' }
  readonly cors: CorsConfig
  readonly mode: Mode
  readonly enforceOn: 'messages' | 'all'
  readonly unlistedExtensions: 'forward' | 'strip' | 'reject'
  readonly unknownMethods: 'reject' | 'forward'
  /** Treatment of DataParts that no policy claims. */
  readonly untaggedData: 'allow' | 'reject'
  /** Who may call it, and what callers may do; merged with `accessDefaults`. */
  readonly access: AccessConfig
  /** Null: push notification configurations are not checked. */
  readonly push: PushConfig | null
  /** Calls about which a policy server decides. */
  readonly external: readonly ExternalConfig[]
  /** Treatment of violations in responses: `enforce` acts on them, `observe` records them, `off` does not read responses. */
  readonly responses: Mode
  readonly jsonSchema: JsonSchemaConfig
  /** Names of the policies in force, in order. */
  readonly extensions: readonly string[]
  /** The same policies with their content. */
  readonly policies: readonly ResolvedPolicy[]
  /** Policies that the policies in force require but that are not in force themselves, by name. */
  readonly dependencies: Readonly<Record<string, PolicyConfig>>
  /** Policies that are in force by default, and that `extensions` of the agent does not name. */
  readonly leftOut: readonly ResolvedPolicy[]
  /** Path prefixes below the agent's path, without trailing slash, forwarded without inspection. */
  readonly passthrough: readonly string[]
  /**
   * Paths of the agent's origin that belong to the `upstream.url` of other agents. They lie below the agent's own path or below the paths
   * of `card.interfaces`. They have the form of `loosePath`.
   */
  readonly reservedPaths: readonly string[]
}

/** The source of a policy or of one of its keys. Each layer overrides those before it. */
export type Layer = 'catalogue' | 'directory' | 'file' | 'agent'

/** True for a layer that is written for all agents, and not by the configuration: the built-in catalogue and `extensions.from`. */
export function isCatalogued (layer: Layer | undefined): boolean {
  return layer === 'catalogue' || layer === 'directory'
}

/** One policy in force for an agent, merged from its layers. */
export interface ResolvedPolicy {
  readonly name: string
  readonly policy: PolicyConfig
  /** The layers that contribute to the policy, lowest first. */
  readonly layers: readonly Layer[]
  /** The layer that gave each key. Keys that are merged member by member are listed by member, such as `activation.scope`. */
  readonly from: Readonly<Record<string, Layer>>
}

/** Limits of the URLs to which clients let the agent send push notifications. */
export interface PushConfig {
  readonly mode: Mode
  /** Patterns of allowed URLs. Empty: every public host. */
  readonly allow: readonly string[]
  readonly require: { readonly https: boolean, readonly authentication: boolean }
  /** Maximum number of configurations of one task; null for any number. */
  readonly perTask: number | null
  /** Treatment of a request while the store cannot tell how many configurations the task has. */
  readonly onUnknown: 'reject' | 'allow'
  /** True: the gateway resolves host names that match no pattern. */
  readonly resolve: boolean
}

/** Cross-origin requests of browsers. */
export interface CorsConfig {
  /** Allowed origins in lower case, or `*`. Empty: the policy of the agent. */
  readonly origins: readonly string[]
  /** Time that browsers may keep a response to a preflight, ms. */
  readonly maxAge: number
}

export interface UpstreamConfig {
  /** Absolute http(s) URL; its path is the base that the agent's interfaces are mapped from. */
  readonly url: string
  readonly timeouts: {
    readonly connect: number
    readonly headers: number
    readonly idle: number
    readonly queue: number
    readonly total: number
  }
  readonly connections: number
  readonly tls: ClientTlsConfig
  readonly credentials: UpstreamCredentialsConfig
  readonly extensionHeader: { readonly spelling: 'auto' | 'v1' | 'v03' | 'both'; readonly form: 'repeated' | 'joined' }
}

export type PublicCard = 'full' | 'minimal' | 'none'

export interface CardConfig {
  readonly url: string | null
  /** Absolute path of a card on disk, or null. */
  readonly file: string | null
  readonly refresh: number
  readonly maxStale: number
  /** Sent with every request for the card. */
  readonly headers: SecretHeaders
  /** Null: the gateway does not load the extended card. `headers` are sent with the request for the extended card. */
  readonly extended: { readonly headers: SecretHeaders } | null
  /** The card for callers without credentials. Null: `none` with `headers`, otherwise `full`. */
  readonly public: PublicCard | null
  readonly onUnavailable: 'reject' | 'forward'
  /** `hold`: a card that differs from the agreed card waits. */
  readonly changes: 'apply' | 'hold'
  /** Absolute path of the file with agreed cards. Null with `changes: apply`. */
  readonly lock: string | null
  /** `strip` removes suspicious texts from the served card. */
  readonly texts: 'report' | 'strip'
  readonly signature: 'strip' | 'resign' | 'verbatim'
  /** Whose security schemes the served card has. Null: those of `identity`, unless `signature` is `verbatim`. */
  readonly security: 'gateway' | 'agent' | null
  /** Form of the scopes in its requirements of 1.0: `{"list": []}` or `[]`. Null: the form of the agent's card, otherwise `list`. */
  readonly securityForm: 'list' | 'plain' | null
  /** Null: signatures are not verified. */
  readonly verify: CardVerifyConfig | null
  /** Not null with `signature: resign`. */
  readonly sign: SigningKeyConfig | null
  readonly views: readonly CardViewConfig[]
  /** Ids of the skills that `public: minimal` shows. */
  readonly publicSkills: readonly string[]
  /** Path prefixes at the agent that interfaces may have in addition to the path of `upstream.url`. `/` allows all paths. */
  readonly interfaces: readonly string[]
  /** Extensions that the gateway adds to the served card, and enforces as if the agent declared them. */
  readonly advertise: readonly AdvertisedExtension[]
  /** Schemas that the gateway adds to the card's own root key `schemas`, by name. */
  readonly schemas: Readonly<Record<string, InlineSchema>>
}

/** Treatment of JSON Schemas of the agent's card, and of schemas of policies that state their `$schema`. */
export interface JsonSchemaConfig {
  /** Treatment of the keyword `format`. draft = as the schema's draft and vocabulary say. */
  readonly formats: 'draft' | 'assert' | 'annotate'
}

export interface TelemetryConfig {
  readonly logs: { readonly level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent', readonly format: 'auto' | 'json' | 'pretty' }
  /** `enabled` is undefined where the environment decides. */
  readonly traces: { readonly enabled?: boolean }
  /** True: histograms have exemplars, with the trace and span of a call. */
  readonly metrics: { readonly exemplars: boolean }
  readonly audit: {
    readonly enabled: boolean
    /** True: forwarded calls and changes of task states have lines. */
    readonly forwarded: boolean
    /** Lines a second for each rule in observe mode, in each process. */
    readonly observedLines: number
  }
}
