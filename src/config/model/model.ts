/**
 * The configuration as the gateway uses it: every default filled in, durations in milliseconds, sizes in bytes. The JSON Schema in
 * `schema.ts` is its source of truth. `load.ts` turns YAML into this model.
 */

import type { AccessConfig } from '../schema/access-schema.js'
import type { DelegationConfig } from '../schema/delegation-schema.js'
import type { DecisionPointConfig } from '../schema/external-schema.js'
import type { IdentityConfig } from '../schema/identity-schema.js'
import type { BudgetConfig, RateConfig } from '../schema/rates-schema.js'
import type { ListenerTlsConfig } from '../listeners/tls-schema.js'
import type { HostPort } from './listener-model.js'
import type { AgentGrpcConfig, GrpcListenerConfig } from '../listeners/grpc-schema.js'
import type { CatalogPublisher } from '#a2a/catalog/catalog.js'
import type { AgentSourceConfig } from '../schema/source-schema.js'
import type { UpstreamCredentialsConfig } from '../schema/credentials-schema.js'
import type { PolicyConfig } from './policy-model.js'
import type { SchemaSet } from './schema-model.js'
import type { AgentKeys, CardKeys, Limits, SheddingConfig, StateStoreConfig, TelemetryConfig, UpstreamKeys } from '../schema/schema.js'
import type { MeshListenerConfig, ServerKeys } from '../schema/server-schema.js'

export type * from '../schema/access-schema.js'
export type * from '../schema/caller-schema.js'
export type * from '../schema/card-schema.js'
export type * from '../schema/credentials-schema.js'
export type * from '../schema/delegation-schema.js'
export type * from '../schema/external-schema.js'
export type * from '../schema/identity-schema.js'
export type * from '../schema/push-schema.js'
export type * from '../schema/rates-schema.js'
export type { Limits, SheddingConfig, StateStoreConfig, TelemetryConfig } from '../schema/schema.js'
export type { AdminAccessConfig, ConsoleConfig, MeshListenerConfig } from '../schema/server-schema.js'
export type * from '../schema/secret-headers-schema.js'
export type * from '../schema/signing-key-schema.js'
export type * from '../schema/source-schema.js'
export type { AgentGrpcConfig, GrpcListenerConfig } from '../listeners/grpc-schema.js'
export type { ClientTlsConfig, ListenerTlsConfig } from '../listeners/tls-schema.js'
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

/** Keys of `server` with other types in the model. */
type ResolvedServerKey = 'listen' | 'admin' | 'metrics' | 'tls' | 'grpc' | 'mesh' | 'catalog'

export interface ServerConfig extends Omit<ServerKeys, ResolvedServerKey> {
  /** Address of the main listener. Null: only a mesh asks the gateway about calls. */
  readonly listen: HostPort | null
  readonly admin: HostPort
  /** Address of a separate listener for metrics and probes, or null. */
  readonly metrics: HostPort | null
  /** Null: the gateway publishes no AI Catalog. */
  readonly catalog: CatalogConfig | null
  /** TLS of the main listener. Null: plain HTTP. */
  readonly tls: ListenerTlsConfig | null
  /** Null: the gateway serves no gRPC. */
  readonly grpc: GrpcListenerConfig | null
  /** Null: no proxy asks the gateway about calls. */
  readonly mesh: MeshListenerConfig | null
}

/** The AI Catalog that the gateway publishes. */
export interface CatalogConfig {
  readonly publisher: CatalogPublisher
  readonly documentationUrl: string | null
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

/** Keys of an agent with other types in the model. */
type ResolvedAgentKey = 'path' | 'host' | 'upstream' | 'grpc' | 'card' | 'access' | 'extensions'

export interface AgentConfig extends Omit<AgentKeys, ResolvedAgentKey> {
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
  /** Who may call it, and what callers may do; merged with `accessDefaults`. */
  readonly access: AccessConfig
  /** Names of the policies in force, in order. */
  readonly extensions: readonly string[]
  /** The same policies with their content. */
  readonly policies: readonly ResolvedPolicy[]
  /** Policies that the policies in force require but that are not in force themselves, by name. */
  readonly dependencies: Readonly<Record<string, PolicyConfig>>
  /** Policies that are in force by default, and that `extensions` of the agent does not name. */
  readonly leftOut: readonly ResolvedPolicy[]
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

export type PublicCard = 'full' | 'minimal' | 'none'

export interface CardConfig extends CardKeys {
  /** Absolute path of the file with agreed cards. Null with `changes: apply`. */
  readonly lock: string | null
}

export type CorsConfig = AgentKeys['cors']
export type JsonSchemaConfig = AgentKeys['jsonSchema']

/** `url` is absolute; its path is the base that the agent's interfaces are mapped from. */
export interface UpstreamConfig extends Omit<UpstreamKeys, 'credentials'> {
  readonly credentials: UpstreamCredentialsConfig
}
