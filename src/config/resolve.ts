import { resolve as resolvePath } from 'node:path'
import { digest } from './digest.js'
import { parseHostPort } from './listeners/host-port.js'
import { agentGrpc, grpcListener, sharedHosts } from './listeners/resolve-grpc.js'
import { reservedPaths } from './checks/reserved-paths.js'
import type { LayeredPolicy, PolicyLayers } from './layers.js'
import { listItem, requiredBy } from './layers.js'
import { convert } from './marks.js'
import type {
  CredentialsKeys, SentCredentialConfig, SentKeys, TokenRequestConfig, UpstreamCredentialsConfig
} from './schema/credentials-schema.js'
import type { AgentConfig, AgentOrigin, CatalogConfig, Config, PolicyConfig, ResolvedPolicy } from './model/model.js'
import type { AccessConfig, AccessKeys } from './schema/access-schema.js'
import { LOCK_FILE } from './model/card-model.js'
import type { DecisionPointConfig } from './schema/external-schema.js'
import type { IdentityConfig, IdentityKeys, JwtConfig, SourceConfig } from './schema/identity-schema.js'
import { rateOf } from './model/rates-model.js'
import { duration } from './model/units.js'
import type { AgentSourceConfig } from './schema/source-schema.js'
import type { AgentKeys, ConfigKeys } from './schema/schema.js'
import { DEFAULT_POLICIES } from './schema/schema.js'
import { parseUrl } from '#wire/url.js'
import type { HostPort } from './model/listener-model.js'
import type { MeshListenerConfig, MeshListenerKeys } from './schema/server-schema.js'
import type { ListenerTlsConfig, ListenerTlsKeys } from './listeners/tls-schema.js'

/** The URLs of the file are valid. */
const urlOf = (text: string): URL => parseUrl(text) as URL

/**
 * Turns a valid configuration file into the model that the gateway uses. The result is frozen.
 * @param value the validated value of the file
 * @param baseDir directory that the file's paths are relative to
 * @param layers policies of the file
 * @param more.bundles loaded schemas of the file
 * @param more.origins sources of agents that are not in the file, by name
 */
export function resolveConfig (
  value: unknown,
  baseDir: string,
  layers: PolicyLayers,
  { bundles, origins, policyDirectory }: Pick<Config, 'bundles' | 'policyDirectory'> & { readonly origins: ReadonlyMap<string, AgentOrigin> }
): Config {
  const file = convert(value, baseDir) as ConfigKeys
  const reserved = reservedPaths(file.agents.map(({ upstream, card }) => ({ url: urlOf(upstream.url), allowed: card.interfaces })))
  const shared = sharedHosts(file.agents)
  const config: Omit<Config, 'hash'> = {
    server: {
      listen: file.server.listen === null ? null : hostPort(file.server.listen),
      admin: hostPort(file.server.admin),
      metrics: file.server.metrics === null ? null : hostPort(file.server.metrics),
      adminHosts: file.server.adminHosts,
      adminAccess: file.server.adminAccess,
      publicUrl: file.server.publicUrl === null ? null : urlOf(file.server.publicUrl).href.replace(/\/+$/, ''),
      hosts: file.server.hosts,
      trustedProxies: file.server.trustedProxies,
      drainTimeout: file.server.drainTimeout,
      stateDir: file.server.stateDir,
      workers: file.server.workers,
      console: file.server.console,
      catalog: catalogOf(file.server.catalog),
      tls: listenerTls(file.server.tls),
      grpc: grpcListener(file.server.grpc, listenerTls(file.server.grpc.tls), file.agents),
      mesh: meshListener(file.server.mesh, listenerTls(file.server.mesh.tls))
    },
    limits: file.limits,
    shedding: file.shedding,
    agents: file.agents.map((agent, index) => ({
      ...resolveAgent(agent, baseDir, layers, reserved[index] ?? []),
      origin: origins.get(agent.name) ?? null,
      grpc: agentGrpc(agent, file.server.grpc, shared, file.server.mesh.listen !== null),
      access: resolveAccess(file.accessDefaults, agent.access)
    })),
    extensions: Object.fromEntries(
      [...new Set([...layers.directoryNames, ...layers.fileNames])].map((name) => [name, policyOf(layers.named(name), baseDir)])
    ),
    policyDirectory,
    bundles,
    identity: identityOf(file.identity),
    agentSources: file.agentSources.map(source => ({ ...source, catalog: catalogPlace(source.catalog, baseDir) })),
    delegation: file.delegation,
    decisionPoints: Object.fromEntries(Object.entries(file.decisionPoints).map(([name, point]) => [name, decisionPointOf(point)])),
    rates: file.rates.map(({ rate, burst, ...limit }) => ({ ...limit, rate: rateOf(rate), burst: burst ?? rateOf(rate).count })),
    budgets: file.budgets,
    state: file.state,
    telemetry: file.telemetry
  }
  return freeze({ ...config, hash: digest(config).slice(0, 12) })
}

function catalogOf ({ publish, publisher, documentationUrl }: ConfigKeys['server']['catalog']): CatalogConfig | null {
  return publish && publisher !== null ? { publisher, documentationUrl } : null
}

/** The address of a catalog of agents, or the absolute path of its file. */
function catalogPlace (place: string | null, baseDir: string): AgentSourceConfig['catalog'] {
  if (place === null) return null
  return /^https?:\/\//i.test(place) ? { url: place, file: null } : { url: null, file: resolvePath(baseDir, place) }
}

function listenerTls ({ cert, key, clientCa, clientCertificate }: ListenerTlsKeys): ListenerTlsConfig | null {
  return cert === null || key === null ? null : { cert, key, clientCa, clientCertificate }
}

/** Names of headers become lower case. */
function identityOf (identity: IdentityKeys | null): IdentityConfig | null {
  if (identity === null) return null
  const sourceOf = ({ apiKey, basic, jwt, envoyJwt, certificate }: IdentityKeys['sources'][string]): SourceConfig => {
    if (jwt !== undefined) return { jwt: jwtOf(jwt) }
    if (envoyJwt !== undefined) return { envoyJwt: { ...envoyJwt, header: envoyJwt.header?.toLowerCase() ?? null } }
    if (certificate !== undefined) return { certificate }
    return apiKey !== undefined
      ? { apiKey: { ...apiKey, header: apiKey.header?.toLowerCase() ?? null } }
      : basic !== undefined ? { basic } : {}
  }
  return { ...identity, sources: Object.fromEntries(Object.entries(identity.sources).map(([name, source]) => [name, sourceOf(source)])) }
}

/** Time for which discovered keys stay in use while the issuer cannot be reached, as the default of `maxStale`. */
const MAX_STALE = duration('24h')

function jwtOf (jwt: NonNullable<IdentityKeys['sources'][string]['jwt']>): JwtConfig {
  return {
    ...jwt,
    keys: jwt.keys === 'discover' ? { url: null, file: null, maxStale: MAX_STALE } : jwt.keys,
    header: jwt.header?.toLowerCase() ?? null,
    types: jwt.types.map(type => type.toLowerCase())
  }
}

function decisionPointOf (point: DecisionPointConfig): DecisionPointConfig {
  return { ...point, url: urlOf(point.url).href, batchUrl: point.batchUrl === null ? null : urlOf(point.batchUrl).href }
}

function resolveAgent (
  agent: AgentKeys, baseDir: string, layers: PolicyLayers, reserved: readonly string[]
): Omit<AgentConfig, 'access' | 'grpc' | 'origin'> {
  const { upstream, card } = agent
  const listed = agent.extensions.map((entry) => listItem(entry)).filter((item) => item !== null)
  // Only problems need the place of a policy in the file, so the path is empty here.
  const policies = listed.map((item) => layers.listed(item, [])).filter((policy) => policy !== null)
  return {
    ...agent,
    path: agent.path === '/' ? '' : agent.path,
    host: agent.host?.toLowerCase() ?? null,
    cors: { ...agent.cors, origins: agent.cors.origins.map(origin => origin.toLowerCase()) },
    upstream: { ...upstream, url: urlOf(upstream.url).href, credentials: resolveCredentials(upstream.credentials) },
    card: { ...card, lock: card.changes === 'hold' ? resolvePath(baseDir, LOCK_FILE) : null },
    extensions: listed.map(({ name }) => name),
    policies: policies.map(policy => resolved(policy, baseDir)),
    dependencies: dependenciesOf(policies, layers, baseDir),
    leftOut: DEFAULT_POLICIES.filter(name => listed.every(item => item.name !== name))
      .map(name => layers.named(name)).filter(policy => policy !== null).map(policy => resolved(policy, baseDir)),
    reservedPaths: reserved
  }
}

function resolved (policy: LayeredPolicy, baseDir: string): ResolvedPolicy {
  return {
    name: policy.name,
    policy: policyOf(policy, baseDir),
    layers: policy.parts.map(({ layer }) => layer),
    from: Object.fromEntries(policy.from)
  }
}

/** @returns null when there is no listener for a mesh */
function meshListener ({ listen }: MeshListenerKeys, tls: ListenerTlsConfig | null): MeshListenerConfig | null {
  const at = listen === null ? null : parseHostPort(listen)
  return at === null ? null : { listen: at, tls }
}

/** Names of headers become lower case, and `for` moves from the kind of the credential to its entry. */
function resolveCredentials ({ client, send, identity }: CredentialsKeys): UpstreamCredentialsConfig {
  return {
    client,
    send: send.map(sentOf),
    identity: identity === null ? null : { ...identity, header: identity.header.toLowerCase() }
  }
}

function sentOf (entry: SentKeys): SentCredentialConfig {
  const { header, fromSecret, prefix, clientCredentials, exchange } = entry
  return {
    for: entry.for ?? clientCredentials?.for ?? exchange?.for ?? null,
    header: header?.toLowerCase() ?? 'authorization',
    fromSecret,
    prefix: prefix ?? '',
    clientCredentials: clientCredentials === null ? null : requestOf(clientCredentials),
    exchange: exchange === null
      ? null
      : { ...requestOf(exchange), subjectTokenType: exchange.subjectTokenType, actorToken: exchange.actorToken }
  }
}

function requestOf ({ endpoint, client, auth, audience, resource, scopes }: TokenRequestConfig): TokenRequestConfig {
  return { endpoint: new URL(endpoint).href, client, auth, audience, resource, scopes }
}

/** Access of an agent without `access`. */
const OPEN_ACCESS: AccessConfig = { require: null, audience: null, mode: 'enforce', allow: null, deny: [], tasks: null, delegation: null }

/** Merges both as in the file. A key of the agent replaces the same key of the defaults, as a whole; so does `require: null`. */
export function resolveAccess (defaults: AccessKeys, own: AccessKeys): AccessConfig {
  return { ...OPEN_ACCESS, ...defaults, ...own }
}

/**
 * Returns the merged policy. The layers are already validated one by one, and the merged policy is already checked. Paths of secrets become
 * absolute.
 */
function policyOf (layered: LayeredPolicy | null, baseDir: string): PolicyConfig {
  const policy = (layered?.value ?? {}) as PolicyConfig
  const { inject } = policy
  if (inject === undefined) return policy
  return {
    ...policy,
    inject: inject.map(injection => {
      const { fromSecret } = injection
      return fromSecret?.file === undefined ? injection : { ...injection, fromSecret: { file: resolvePath(baseDir, fromSecret.file) } }
    })
  }
}

function dependenciesOf (policies: readonly LayeredPolicy[], layers: PolicyLayers, baseDir: string): Record<string, PolicyConfig> {
  const own = new Set(policies.map(({ name }) => name))
  const names = new Set(policies.flatMap(requiredBy).filter((name) => !own.has(name)))
  return Object.fromEntries([...names].map((name) => [name, policyOf(layers.named(name), baseDir)]))
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
