import type { Path, PathProblem } from '../diagnostics.js'
import { dotted, formatValue } from '../diagnostics.js'
import { grpcProblems, grpcWarnings } from '../listeners/grpc-checks.js'
import { parseHostPort } from '../listeners/host-port.js'
import { meshProblems, meshWarnings } from '../listeners/mesh-checks.js'
import { trustsEveryone } from '../schema/formats.js'
import { layeredProblems, layeredWarnings } from './layer-checks.js'
import type { PolicyLayers } from '../layers.js'
import { listedNames, requiredBy } from '../layers.js'
import { callersOfFile, conditionProblems, unknownSources } from './callers/caller-checks.js'
import { accessProblems, accessWarnings } from './callers/access-checks.js'
import { cardHeaderProblems, plainCredentials } from './card/card-checks.js'
import { viewProblems, viewWarnings } from './card/card-views.js'
import { audienceProblems, audienceWarnings } from './callers/audience-checks.js'
import { identityProblems, identityWarnings } from './callers/identity.js'
import { delegationProblems, delegationWarnings } from './delegation-checks.js'
import { externalProblems, externalWarnings } from './external-checks.js'
import { rateProblems, rateWarnings } from './rate-checks.js'
import { listenerTls } from './listener-tls.js'
import { ownershipProblems, ownershipWarnings } from './callers/ownership-checks.js'
import { unpaired, unreadable } from './named-files.js'
import { requireProblems, unusedSources } from './callers/require-checks.js'
import { sourceProblems } from './source-checks.js'
import { secretProblems } from './secret-checks.js'
import { upstreamCredentialProblems, upstreamCredentialWarnings } from './upstream-credentials.js'
import type { Environment } from '../yaml/substitute.js'
import type { Mapping } from '../yaml/values.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import { CARD_PATHS } from '#a2a/card/map.js'
import { isAtOrBelow } from '#wire/target.js'
import type { HostPort } from '../model/listener-model.js'
import { signingKeyProblems, signingKeyWarnings } from './card/signing-keys.js'
import { isObject } from '#wire/json/object.js'

/**
 * Checks that a schema cannot express: how keys depend on each other and on the disk. The checks run on values that may still be wrong, so
 * that the gateway reports all problems of a file at once. Each check skips values that validation already rejected.
 */

export interface CheckContext {
  /** Directory that paths in the file are relative to. */
  readonly baseDir: string
  /** Environment that holds the secrets. Null: the checks do not look for secrets. */
  readonly env: Environment | null
  readonly layers: PolicyLayers
}

export interface CheckResult { readonly problems: readonly PathProblem[], readonly warnings: readonly PathProblem[] }

export function checkConfig (value: unknown, context: CheckContext): CheckResult {
  const config = mapping(value)
  const agents = items(config.agents)
  const callers = callersOfFile(config)
  const problems = [
    ...listeners(mapping(config.server)),
    ...listenerTls(mapping(mapping(config.server).tls), context.baseDir, ['server', 'tls']),
    ...grpcProblems(config, context.baseDir),
    ...meshProblems(config, context.baseDir),
    ...catalogProblems(mapping(mapping(config.server).catalog)),
    ...sourceProblems(config, context.baseDir),
    ...identityProblems(mapping(config.identity), mapping(config.server), context.baseDir),
    ...adminAccess(mapping(config.server), mapping(config.identity)),
    ...rateProblems(config, context.layers),
    ...ownershipProblems(config),
    ...callers.problems,
    ...requireProblems(config),
    ...audienceProblems(config),
    ...accessProblems(config),
    ...duplicateAgents(agents),
    ...directoryPath(mapping(mapping(config.server).console).public, agents),
    ...agents.flatMap((agent, index) => agentProblems(mapping(agent), ['agents', index], context)),
    ...agents.flatMap((agent, index) => [
      ...signatureProblems(mapping(mapping(agent).card), {
        path: ['agents', index, 'card'],
        baseDir: context.baseDir,
        publicUrl: mapping(config.server).publicUrl
      }),
      ...viewProblems(mapping(agent), ['agents', index], config.identity)
    ]),
    ...layeredProblems(context.layers, agents),
    ...secretProblems(mapping(config.extensions), agents, context),
    ...upstreamCredentialProblems(config, context),
    ...externalProblems(config, context),
    ...delegationProblems(config, context.baseDir)
  ]
  const warnings = [
    ...openProxies(mapping(config.server)),
    ...grpcWarnings(config),
    ...meshWarnings(config),
    ...rateWarnings(config),
    ...ownershipWarnings(config),
    ...externalWarnings(config),
    ...delegationWarnings(config, context.baseDir),
    ...callers.warnings,
    ...identityWarnings(mapping(config.identity), mapping(config.server)),
    ...unusedSources(config),
    ...audienceWarnings(config),
    ...accessWarnings(config, context.layers),
    ...upstreamCredentialWarnings(config, context.baseDir),
    ...agents.flatMap((agent, index) => [
      ...uselessTls(mapping(agent), ['agents', index]),
      ...plainCredentials(mapping(agent), ['agents', index]),
      ...tooFewConnections(mapping(agent), ['agents', index]),
      ...signatureWarnings(mapping(mapping(agent).card), ['agents', index, 'card'], context.baseDir),
      ...viewWarnings(mapping(agent), ['agents', index], context.layers)
    ]),
    ...layeredWarnings(context.layers, agents),
    ...unusedPolicies(context.layers, agents)
  ]
  return { problems, warnings }
}

function listeners (server: Mapping): PathProblem[] {
  const at = (key: string): HostPort | null => typeof server[key] === 'string' ? parseHostPort(server[key]) : null
  const same = (key: string, other: string): boolean => {
    const [a, b] = [at(key), at(other)]
    return a !== null && b !== null && a.port !== 0 && a.port === b.port && a.host === b.host
  }
  return [
    ...(same('listen', 'admin')
      ? [problemAt(['server', 'admin'], 'server.listen and server.admin are the same address', 'the admin listener needs its own address')]
      : []),
    ...['listen', 'admin']
      .filter(key => same(key, 'metrics'))
      .map(key =>
        problemAt(
          ['server', 'metrics'],
          `server.${key} and server.metrics are the same address`,
          'the listener for metrics needs its own address'
        )
      )
  ]
}

function catalogProblems ({ publish, publisher }: Mapping): PathProblem[] {
  return publish === true && (publisher === null || publisher === undefined)
    ? [
        problemAt(
          ['server', 'catalog', 'publisher'],
          'server.catalog.publisher is required to publish a catalog',
          'such as {domain: agents.example.com, name: Example Inc.}',
          'key'
        )
      ]
    : []
}

/** Checks that the names and the public addresses of agents are unique. */
function duplicateAgents (agents: readonly unknown[]): PathProblem[] {
  const names = new Map<string, number>()
  const routes = new Map<string, number>()
  return agents.flatMap((item, index) => {
    const { name, path, host } = mapping(item)
    const problems: PathProblem[] = []
    if (typeof name === 'string') {
      const earlier = names.get(name)
      if (earlier === undefined) names.set(name, index)
      else {
        problems.push(problemAt(
          ['agents', index, 'name'], `agents[${earlier}] and agents[${index}] have the same name, ${formatValue(name)}`
        ))
      }
    }
    if (typeof path === 'string' && (host === null || typeof host === 'string')) {
      const route = `${host?.toLowerCase() ?? '*'} ${path}`
      const earlier = routes.get(route)
      if (earlier === undefined) routes.set(route, index)
      else {
        problems.push(
          problemAt(
            ['agents', index, 'path'], `agents[${earlier}] and agents[${index}] have the same host and path, ${path}`, 'give each its own'
          )
        )
      }
    }
    return problems
  })
}

const NO_OWN_PATH = 'choose a path that no agent and no passthrough prefix has'

/** Checks that no agent has the path of the directory of agents, which would then never be served. */
function directoryPath (wanted: unknown, agents: readonly unknown[]): PathProblem[] {
  if (typeof wanted !== 'string') return []
  const owner = agents.findIndex(agent => {
    const { path, passthrough } = mapping(agent)
    const base = typeof path !== 'string' || path === '/' ? '' : path
    return base === (wanted === '/' ? '' : wanted) || items(passthrough).some(prefix => isAtOrBelow(wanted, base + String(prefix)))
  })
  return owner === -1
    ? []
    : [problemAt(
        ['server', 'console', 'public'], `server.console.public, ${formatValue(wanted)}, is a path of agents[${owner}]`, NO_OWN_PATH
      )]
}

function agentProblems (agent: Mapping, path: Path, context: CheckContext): PathProblem[] {
  const card = mapping(agent.card)
  const tls = mapping(mapping(agent.upstream).tls)
  const problems: PathProblem[] = []
  if (typeof card.url === 'string' && typeof card.file === 'string') {
    problems.push(problemAt([...path, 'card', 'file'], `${dotted([...path, 'card'])} has both url and file`, 'keep one', 'key'))
  }
  problems.push(...additions(card, [...path, 'card']), ...cardHeaderProblems(card, [...path, 'card']))
  problems.push(...unreadable(card.file, [...path, 'card', 'file'], context.baseDir))
  const tlsPath = [...path, 'upstream', 'tls']
  for (const key of ['ca', 'cert', 'key']) problems.push(...unreadable(tls[key], [...tlsPath, key], context.baseDir))
  problems.push(...unpaired(tls, tlsPath))
  items(agent.passthrough).forEach((prefix, index) => {
    const covered = CARD_PATHS.find((cardPath) => cardPath === prefix || cardPath.startsWith(`${String(prefix)}/`))
    if (covered !== undefined && prefix !== '') {
      problems.push(
        problemAt(
          [...path, 'passthrough', index],
          `${dotted([...path, 'passthrough', index])} must not cover the card at ${covered}`,
          'the gateway serves it'
        )
      )
    }
  })
  return problems
}

/** Checks that `advertise` lists each URI once, and that nothing is added to a card that is served unchanged. */
function additions (card: Mapping, path: Path): PathProblem[] {
  const uris = new Set<unknown>()
  const twice = items(card.advertise).flatMap((entry, index) => {
    const { uri } = mapping(entry)
    const again = typeof uri === 'string' && uris.has(uri)
    uris.add(uri)
    return again
      ? [problemAt([...path, 'advertise', index, 'uri'], `${dotted([...path, 'advertise'])} lists ${formatValue(uri)} twice`)]
      : []
  })
  if (card.signature !== 'verbatim') return twice
  const keys = ['advertise', 'schemas'].filter((key) => items(card[key]).length > 0 || Object.keys(mapping(card[key])).length > 0)
  return [
    ...twice,
    ...keys.map(key =>
      problemAt(
        [...path, key],
        `${dotted([...path, key])} contradicts signature: verbatim, which serves the card unchanged`,
        'remove one of them',
        'key'
      )
    )
  ]
}

function openProxies (server: Mapping): PathProblem[] {
  return items(server.trustedProxies).flatMap((entry, index) =>
    typeof entry === 'string' && trustsEveryone(entry)
      ? [
          problemAt(
            ['server', 'trustedProxies', index],
            `${formatValue(entry)} trusts the X-Forwarded-* headers of every client`,
            'name the proxies in front'
          )
        ]
      : []
  )
}

function uselessTls (agent: Mapping, path: Path): PathProblem[] {
  const upstream = mapping(agent.upstream)
  const overTls = (url: unknown): boolean => typeof url !== 'string' || /^(?:https|grpcs):/i.test(url)
  const { upstream: grpc } = mapping(agent.grpc)
  if (overTls(upstream.url) || (typeof grpc === 'string' && overTls(grpc))) return []
  if (Object.values(mapping(upstream.tls)).every((setting) => setting === null)) return []
  return [
    problemAt([...path, 'upstream', 'tls'], `${dotted([...path, 'upstream', 'tls'])} has no effect on an http URL`, 'write https', 'key')
  ]
}

/** Checks that there are enough upstream connections: an admitted call should not wait for a connection. */
function tooFewConnections (agent: Mapping, path: Path): PathProblem[] {
  const { connections } = mapping(agent.upstream)
  const { requests, streams } = mapping(agent.concurrency)
  if (typeof connections !== 'number' || typeof requests !== 'number' || typeof streams !== 'number' || connections >= requests + streams) {
    return []
  }
  const place = [...path, 'upstream', 'connections']
  return [
    problemAt(
      place,
      `${dotted(place)} is less than the ${requests} requests and ${streams} streams that concurrency allows: further calls wait for a ` +
        'connection',
      `at least ${requests + streams}, or lower concurrency`
    )
  ]
}

function unusedPolicies (layers: PolicyLayers, agents: readonly unknown[]): PathProblem[] {
  const used = new Set([
    ...agents.flatMap((agent) => listedNames(mapping(agent).extensions)),
    ...layers.fileNames.flatMap((name) => requiredBy(layers.named(name)))
  ])
  return layers.fileNames.filter((name) => !used.has(name)).map((name) =>
    problemAt(['extensions', name], `no agent uses policy ${formatValue(name)}`, 'name it in an agent\'s extensions', 'key'))
}

/* Checks of `server.adminAccess`: its sources exist, and its conditions can hold. */

function adminAccess (server: Mapping, identity: Mapping): PathProblem[] {
  const names = Object.keys(mapping(identity.sources))
  const at: Path = ['server', 'adminAccess']
  const { sources, allow } = mapping(server.adminAccess)
  return [
    ...ofMesh(sources, [...at, 'sources'], mapping(identity.sources)),
    ...unknownSources(sources, [...at, 'sources'], names),
    ...items(allow).flatMap((condition, i) => conditionProblems(mapping(condition), [...at, 'allow', i], names))
  ]
}

/** No proxy asks about requests to the admin listener. */
function ofMesh (names: unknown, at: Path, sources: Mapping): PathProblem[] {
  return items(names).flatMap((name, i) => {
    if (typeof name !== 'string' || !Object.hasOwn(sources, name) || mapping(sources[name]).envoyJwt === undefined) return []
    const path: Path = [...at, i]
    return [
      problemAt(path, `${dotted(path)}: the source ${formatValue(name)} has callers on server.mesh only`, 'name a source of another kind')
    ]
  })
}

/* Checks of `card.verify` and `card.sign`. */

/** Where the card belongs to. `publicUrl` is that of `server`, and may be of any type. */
interface CardPlace { readonly path: Path, readonly baseDir: string, readonly publicUrl: unknown }

function signatureProblems (card: Mapping, { path, baseDir, publicUrl }: CardPlace): PathProblem[] {
  return [
    ...(isObject(mapping(card.verify).keys)
      ? verifyProblems(mapping(mapping(card.verify).keys), [...path, 'verify', 'keys'], baseDir)
      : []),
    ...signingKeyProblems(mapping(card.sign), [...path, 'sign'], baseDir),
    ...resignProblems(card, path, publicUrl)
  ]
}

function verifyProblems (keys: Mapping, path: Path, baseDir: string): PathProblem[] {
  const { url, file } = keys
  if (typeof url === 'string' && typeof file === 'string') {
    return [
      problemAt([...path, 'file'], `${dotted(path)} has both url and file`, 'keep one', 'key')
    ]
  }
  if ((url ?? file ?? null) === null) {
    return [
      problemAt(path, `${dotted(path)} needs url or file`, 'such as "file: vendor.jwks.json"', 'key')
    ]
  }
  return unreadable(file, [...path, 'file'], baseDir)
}

function resignProblems (card: Mapping, path: Path, publicUrl: unknown): PathProblem[] {
  if (card.signature !== 'resign') return []
  const at: Path = [...path, 'signature']
  if (card.sign === null || card.sign === undefined) {
    return [
      problemAt(at, `${dotted(at)}: resign needs sign`, 'such as "sign: {key: {file: secrets/card.pem}}"')
    ]
  }
  // Without it, the URLs in the card follow the Host of each request, and a client that chooses the Host would get them signed.
  return publicUrl === null || publicUrl === undefined
    ? [problemAt(at, `${dotted(at)}: resign needs server.publicUrl`, 'the signed card names the address of the gateway')]
    : []
}

/** Warns of keys that sign nothing, and of private keys that others can read. */
function signatureWarnings (card: Mapping, path: Path, baseDir: string): PathProblem[] {
  const at: Path = [...path, 'sign']
  if (card.sign === null || card.sign === undefined) return []
  return [
    ...(card.signature === 'resign'
      ? []
      : [problemAt(at, `${dotted(at)} signs no card: its keys are published only`, 'write signature: resign', 'key')]),
    ...signingKeyWarnings(mapping(card.sign), at, baseDir)
  ]
}
