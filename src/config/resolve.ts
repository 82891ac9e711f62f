import { resolve as resolvePath } from 'node:path'
import { digest } from './digest.js'
import { parseHostPort } from './listeners/host-port.js'
import type { AgentGrpcFile, GrpcListenerFile, ListenerTlsFile } from './listeners/resolve-grpc.js'
import { agentGrpc, grpcListener, sharedHosts } from './listeners/resolve-grpc.js'
import type { MeshListenerFile } from './listeners/resolve-mesh.js'
import { meshListener } from './listeners/resolve-mesh.js'
import { reservedPaths } from './checks/reserved-paths.js'
import type { LayeredPolicy, PolicyLayers } from './layers.js'
import { listItem, requiredBy } from './layers.js'
import type { CredentialsFile } from './credentials/resolve-credentials.js'
import { credentialFiles, resolveCredentials } from './credentials/resolve-credentials.js'
import { namedKeyFiles, resolveSigningKeys } from './signing-keys.js'
import type {
  AdminAccessConfig, AgentConfig, AgentOrigin, CardConfig, CatalogConfig, Config, CorsConfig, Limits, PolicyConfig,
  ResolvedPolicy, ServerConfig, SheddingConfig, StateStoreConfig, TelemetryConfig,
  UpstreamConfig
} from './model/model.js'
import type { AccessConfig } from './model/access-model.js'
import { resolveAccess } from './model/access-model.js'
import type { CardVerifyConfig } from './model/card-model.js'
import { LOCK_FILE } from './model/card-model.js'
import type { DelegationFile } from './resolve-delegation.js'
import { delegationFiles, resolveDelegation, withDurations } from './resolve-delegation.js'
import type { DecisionPointConfig } from './model/external-model.js'
import type { EnvoyJwtConfig, IdentityConfig, JwtConfig, SourceConfig } from './model/identity-model.js'
import type { BudgetConfig, RateConfig } from './model/rates-model.js'
import { rateOf } from './model/rates-model.js'
import { duration, size } from './model/units.js'
import type { SourceFile } from './resolve-source.js'
import { namedSourceFiles, resolveSource } from './resolve-source.js'
import { DEFAULT_POLICIES } from './schema/schema.js'
import { items, mapping } from './yaml/values.js'
import { parseUrl } from '#wire/url.js'
import type { HostPort, ListenerTlsConfig } from './model/listener-model.js'
import type { SecretHeaders } from './model/credentials-model.js'

/** The file's value after validation has filled in the defaults: the model, with quantities still as text. */
interface ConfigFile {
  readonly server: Texts<Omit<ServerConfig, 'listen' | 'metrics' | 'tls' | 'grpc' | 'mesh' | 'adminAccess' | 'catalog'>, 'admin' | 'drainTimeout'> & {
    readonly catalog: { readonly publish: boolean, readonly publisher: CatalogConfig['publisher'] | null, readonly documentationUrl: string | null }
    readonly listen: string | null
    readonly adminAccess: Texts<AdminAccessConfig, 'session'> | null
    readonly metrics: string | null
    readonly tls: ListenerTlsFile
    readonly grpc: GrpcListenerFile
    readonly mesh: MeshListenerFile
  }
  readonly limits: Texts<
    Limits,
    'headers' | 'body' | 'response' | 'event' | 'card' | 'headersTimeout' | 'requestTimeout' | 'idleTimeout' | 'writeTimeout' | 'memory'
  >
  readonly shedding: Texts<SheddingConfig, 'eventLoopDelay' | 'heapUsed' | 'rss' | 'retryAfter'>
  readonly agents: readonly AgentFile[]
  readonly agentSources: readonly SourceFile[]
  readonly identity: IdentityFile | null
  readonly delegation: DelegationFile | null
  readonly decisionPoints: Readonly<Record<string, DecisionPointFile>>
  readonly rates: readonly (Texts<Omit<RateConfig, 'burst'>, 'rate'> & { readonly burst: number | null })[]
  readonly budgets: readonly Texts<BudgetConfig, 'window'>[]
  readonly accessDefaults: Partial<AccessConfig>
  readonly state: Texts<StateStoreConfig, 'ttl' | 'timeout'>
  readonly telemetry: TelemetryConfig
}

/** The URLs of the file are valid. */
const urlOf = (text: string): URL => parseUrl(text) as URL

interface IdentityFile extends Omit<IdentityConfig, 'sources'> {
  readonly sources: Readonly<Record<string, Omit<SourceConfig, 'jwt' | 'envoyJwt'> & { readonly jwt?: JwtFile, readonly envoyJwt?: EnvoyJwtFile }>>
}

type JwtFile = Texts<Omit<JwtConfig, 'keys'>, 'leeway' | 'maxLifetime'> & { readonly keys: 'discover' | Texts<JwtConfig['keys'], 'maxStale'> }

type EnvoyJwtFile = Texts<EnvoyJwtConfig, 'leeway' | 'maxLifetime'>

type DecisionPointFile = Texts<Omit<DecisionPointConfig, 'cache'>, 'timeout'> & { readonly cache: Texts<DecisionPointConfig['cache'], 'ttl'> }

type Texts<T, K extends keyof T> = Omit<T, K> & Readonly<Record<K, string>>

interface AgentFile extends Omit<AgentConfig, 'origin' | 'access' | 'upstream' | 'grpc' | 'card' | 'cors' | 'extensions' | 'policies' | 'dependencies' | 'leftOut' | 'reservedPaths'> {
  readonly access: Partial<AccessConfig>
  readonly extensions: readonly unknown[]
  readonly upstream: Omit<UpstreamConfig, 'timeouts' | 'credentials'> & {
    readonly timeouts: Readonly<Record<keyof UpstreamConfig['timeouts'], string>>
    readonly credentials: CredentialsFile
  }
  readonly grpc: AgentGrpcFile
  readonly cors: Texts<CorsConfig, 'maxAge'>
  readonly card: Texts<Omit<CardConfig, 'verify' | 'lock'>, 'refresh' | 'maxStale'> & { readonly verify: VerifyFile | null }
}

type VerifyFile = Omit<CardVerifyConfig, 'keys'> & { readonly keys: Texts<CardVerifyConfig['keys'], 'maxStale'> }

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
  const file = value as ConfigFile
  const reserved = reservedPaths(file.agents.map(({ upstream, card }) => ({ url: urlOf(upstream.url), allowed: card.interfaces })))
  const shared = sharedHosts(file.agents)
  const config: Omit<Config, 'hash'> = {
    server: {
      listen: file.server.listen === null ? null : hostPort(file.server.listen),
      admin: hostPort(file.server.admin),
      metrics: file.server.metrics === null ? null : hostPort(file.server.metrics),
      adminHosts: file.server.adminHosts,
      adminAccess: adminAccess(file.server.adminAccess),
      publicUrl: file.server.publicUrl === null ? null : urlOf(file.server.publicUrl).href.replace(/\/+$/, ''),
      hosts: file.server.hosts,
      trustedProxies: file.server.trustedProxies,
      drainTimeout: duration(file.server.drainTimeout),
      stateDir: file.server.stateDir === null ? null : resolvePath(baseDir, file.server.stateDir),
      workers: file.server.workers,
      console: file.server.console,
      catalog: catalogOf(file.server.catalog),
      tls: listenerTls(file.server.tls, baseDir),
      grpc: grpcListener(file.server.grpc, listenerTls(file.server.grpc.tls, baseDir), file.agents),
      mesh: meshListener(file.server.mesh, listenerTls(file.server.mesh.tls, baseDir))
    },
    limits: {
      ...file.limits,
      headers: size(file.limits.headers),
      body: size(file.limits.body),
      response: size(file.limits.response),
      event: size(file.limits.event),
      card: size(file.limits.card),
      headersTimeout: duration(file.limits.headersTimeout),
      requestTimeout: duration(file.limits.requestTimeout),
      idleTimeout: duration(file.limits.idleTimeout),
      writeTimeout: duration(file.limits.writeTimeout),
      memory: size(file.limits.memory)
    },
    shedding: {
      ...file.shedding,
      eventLoopDelay: duration(file.shedding.eventLoopDelay),
      heapUsed: size(file.shedding.heapUsed),
      rss: size(file.shedding.rss),
      retryAfter: duration(file.shedding.retryAfter)
    },
    agents: file.agents.map((agent, index) => ({
      ...resolveAgent(agent, baseDir, layers, reserved[index] ?? []),
      origin: origins.get(agent.name) ?? null,
      grpc: agentGrpc(agent, file.server.grpc, shared, file.server.mesh.listen !== null),
      access: withDurations(resolveAccess(file.accessDefaults, agent.access))
    })),
    extensions: Object.fromEntries(
      [...new Set([...layers.directoryNames, ...layers.fileNames])].map((name) => [name, policyOf(layers.named(name), baseDir)])
    ),
    policyDirectory,
    bundles,
    identity: identityOf(file.identity, baseDir),
    agentSources: file.agentSources.map(source => resolveSource(source, baseDir)),
    delegation: file.delegation === null ? null : resolveDelegation(file.delegation, baseDir),
    decisionPoints: Object.fromEntries(Object.entries(file.decisionPoints).map(([name, one]) => [name, decisionPointOf(one, baseDir)])),
    rates: file.rates.map(({ rate, burst, ...limit }) => ({ ...limit, rate: rateOf(rate), burst: burst ?? rateOf(rate).count })),
    budgets: file.budgets.map(budget => ({ ...budget, window: duration(budget.window) })),
    state: { ...file.state, ttl: duration(file.state.ttl), timeout: duration(file.state.timeout) },
    telemetry: file.telemetry
  }
  return freeze({ ...config, hash: digest(config).slice(0, 12) })
}

function catalogOf ({ publish, publisher, documentationUrl }: ConfigFile['server']['catalog']): CatalogConfig | null {
  return publish && publisher !== null ? { publisher, documentationUrl } : null
}

function adminAccess (file: ConfigFile['server']['adminAccess']): AdminAccessConfig | null {
  return file === null ? null : { ...file, session: duration(file.session) }
}

function listenerTls ({ cert, key, clientCa, clientCertificate }: ListenerTlsFile, baseDir: string): ListenerTlsConfig | null {
  if (cert === null || key === null) return null
  return {
    cert: resolvePath(baseDir, cert),
    key: resolvePath(baseDir, key),
    clientCa: clientCa === null ? null : resolvePath(baseDir, clientCa),
    clientCertificate
  }
}

/** Paths become absolute, names of headers lower case. */
function identityOf (identity: IdentityFile | null, baseDir: string): IdentityConfig | null {
  if (identity === null) return null
  const keysOf = ({ keys }: { readonly keys: { readonly file: string } }) => ({ keys: { file: resolvePath(baseDir, keys.file) } })
  const sourceOf = ({ apiKey, basic, jwt, envoyJwt, certificate }: IdentityFile['sources'][string]): SourceConfig => {
    if (jwt !== undefined) return { jwt: jwtOf(jwt, baseDir) }
    if (envoyJwt !== undefined) return { envoyJwt: envoyJwtOf(envoyJwt) }
    if (certificate !== undefined) return { certificate }
    return apiKey !== undefined
      ? { apiKey: { ...apiKey, header: apiKey.header?.toLowerCase() ?? null, ...keysOf(apiKey) } }
      : basic !== undefined ? { basic: keysOf(basic) } : {}
  }
  return { ...identity, sources: Object.fromEntries(Object.entries(identity.sources).map(([name, one]) => [name, sourceOf(one)])) }
}

/** Time for which discovered keys stay in use while the issuer cannot be reached, as the default of `maxStale`. */
const MAX_STALE = '24h'

function jwtOf ({ keys, tls, header, types, leeway, maxLifetime, ...jwt }: JwtFile, baseDir: string): JwtConfig {
  const { url, file, maxStale } = keys === 'discover' ? { url: null, file: null, maxStale: MAX_STALE } : keys
  return {
    ...jwt,
    keys: { url, file: file === null ? null : resolvePath(baseDir, file), maxStale: duration(maxStale) },
    tls: { ca: tls.ca === null ? null : resolvePath(baseDir, tls.ca) },
    header: header?.toLowerCase() ?? null,
    types: types.map(type => type.toLowerCase()),
    leeway: duration(leeway),
    maxLifetime: duration(maxLifetime)
  }
}

function decisionPointOf (
  { url, batchUrl, timeout, headers, tls, cache, ...point }: DecisionPointFile,
  baseDir: string
): DecisionPointConfig {
  const onDisk = (file: string | null) => file === null ? null : resolvePath(baseDir, file)
  return {
    ...point,
    url: urlOf(url).href,
    batchUrl: batchUrl === null ? null : urlOf(batchUrl).href,
    timeout: duration(timeout),
    headers: headersOf(headers, baseDir),
    tls: { ca: onDisk(tls.ca), cert: onDisk(tls.cert), key: onDisk(tls.key), serverName: tls.serverName },
    cache: { ttl: duration(cache.ttl), entries: cache.entries }
  }
}

function envoyJwtOf ({ header, leeway, maxLifetime, ...envoyJwt }: EnvoyJwtFile): EnvoyJwtConfig {
  return { ...envoyJwt, header: header?.toLowerCase() ?? null, leeway: duration(leeway), maxLifetime: duration(maxLifetime) }
}

function resolveAgent (
  agent: AgentFile, baseDir: string, layers: PolicyLayers, reserved: readonly string[]
): Omit<AgentConfig, 'access' | 'grpc' | 'origin'> {
  const { upstream, card } = agent
  const listed = agent.extensions.map((entry) => listItem(entry)).filter((item) => item !== null)
  // Only problems need the place of a policy in the file, so the path is empty here.
  const policies = listed.map((item) => layers.listed(item, [])).filter((policy) => policy !== null)
  const onDisk = (file: string | null) => file === null ? null : resolvePath(baseDir, file)
  return {
    ...agent,
    path: agent.path === '/' ? '' : agent.path,
    host: agent.host?.toLowerCase() ?? null,
    cors: { origins: agent.cors.origins.map(origin => origin.toLowerCase()), maxAge: duration(agent.cors.maxAge) },
    upstream: {
      ...upstream,
      url: urlOf(upstream.url).href,
      timeouts: {
        connect: duration(upstream.timeouts.connect),
        headers: duration(upstream.timeouts.headers),
        idle: duration(upstream.timeouts.idle),
        queue: duration(upstream.timeouts.queue),
        total: duration(upstream.timeouts.total)
      },
      tls: {
        ca: onDisk(upstream.tls.ca),
        cert: onDisk(upstream.tls.cert),
        key: onDisk(upstream.tls.key),
        serverName: upstream.tls.serverName
      },
      credentials: resolveCredentials(upstream.credentials, baseDir)
    },
    card: {
      ...card,
      file: onDisk(card.file),
      lock: card.changes === 'hold' ? resolvePath(baseDir, LOCK_FILE) : null,
      refresh: duration(card.refresh),
      maxStale: duration(card.maxStale),
      headers: headersOf(card.headers, baseDir),
      extended: card.extended === null ? null : { headers: headersOf(card.extended.headers, baseDir) },
      verify: verifyOf(card.verify, onDisk),
      sign: card.sign === null ? null : resolveSigningKeys(card.sign, baseDir)
    },
    extensions: listed.map(({ name }) => name),
    policies: policies.map(policy => resolved(policy, baseDir)),
    dependencies: dependenciesOf(policies, layers, baseDir),
    leftOut: DEFAULT_POLICIES.filter(name => listed.every(item => item.name !== name))
      .map(name => layers.named(name)).filter(policy => policy !== null).map(policy => resolved(policy, baseDir)),
    reservedPaths: reserved
  }
}

function verifyOf (verify: VerifyFile | null, onDisk: (file: string | null) => string | null): CardVerifyConfig | null {
  if (verify === null) return null
  const { url, file, maxStale } = verify.keys
  return { ...verify, keys: { url, file: onDisk(file), maxStale: duration(maxStale) } }
}

/** Paths of secrets become absolute. */
function headersOf (headers: SecretHeaders, baseDir: string): SecretHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, one]) => [name, one.file === undefined ? one : { ...one, file: resolvePath(baseDir, one.file) }])
  )
}

function resolved (policy: LayeredPolicy, baseDir: string): ResolvedPolicy {
  return {
    name: policy.name,
    policy: policyOf(policy, baseDir),
    layers: policy.parts.map(({ layer }) => layer),
    from: Object.fromEntries(policy.from)
  }
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
    inject: inject.map(one =>
      one.fromSecret?.file === undefined ? one : { ...one, fromSecret: { file: resolvePath(baseDir, one.fromSecret.file) } }
    )
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

/** Returns the absolute path of every file that the configuration names. The value may still be wrong. */
export function namedFiles (value: unknown, baseDir: string): string[] {
  const { agents, decisionPoints, delegation, extensions, identity, server } = mapping(value)
  const overlays = items(agents).flatMap((agent) => items(mapping(agent).extensions)).flatMap((entry) => Object.values(mapping(entry)))
  const secrets = [...Object.values(mapping(extensions)), ...overlays]
    .flatMap(policy => items(mapping(policy).inject))
    .map(one => mapping(mapping(one).fromSecret).file)
  const others = items(agents).map(mapping).flatMap((agent) => {
    const { ca, cert, key } = mapping(mapping(agent.upstream).tls)
    const { headers: own, extended } = mapping(agent.card)
    const headers = [own, mapping(extended).headers].flatMap(one => Object.values(mapping(one))).map(one => mapping(one).file)
    const { file, verify, sign } = mapping(agent.card)
    const cardKeys = [mapping(mapping(verify).keys).file, ...namedKeyFiles(sign)]
    return [ca, cert, key, file, ...headers, ...cardKeys, ...credentialFiles(mapping(mapping(agent.upstream).credentials))]
  })
  const keyFiles = Object.values(mapping(mapping(identity).sources))
    .flatMap(source => Object.values(mapping(source)))
    .flatMap(source => [mapping(mapping(source).keys).file, mapping(mapping(source).tls).ca])
  const pointFiles = Object.values(mapping(decisionPoints)).map(mapping).flatMap(({ tls, headers }) => {
    const { ca, cert, key } = mapping(tls)
    return [ca, cert, key, ...Object.values(mapping(headers)).map(one => mapping(one).file)]
  })
  const { tls, grpc, mesh } = mapping(server)
  const listenerFiles = [tls, mapping(grpc).tls, mapping(mesh).tls].map(mapping).flatMap(({ cert, key, clientCa }) => [cert, key, clientCa])
  return [...secrets, ...others, ...keyFiles, ...pointFiles, ...delegationFiles(delegation), ...listenerFiles, ...namedSourceFiles(value)]
    .filter(file => typeof file === 'string')
    .filter(file => file !== '' && !file.includes('\0'))
    .map(file => resolvePath(baseDir, file))
}
