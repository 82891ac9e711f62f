/** Checks of `server.grpc` and `agents[].grpc`: listeners, the addresses in served cards, and keys without effect. */
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { listenerTls } from '../checks/listener-tls.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import { parseGrpcUpstream } from './grpc-formats.js'
import { hostPortText, parseHostPort } from './host-port.js'
import { publicGrpcAddress, sharedGrpcAddress } from './resolve-grpc.js'

const SERVER = ['server', 'grpc']

/** An agent that a listener serves by gRPC. */
interface Served {
  readonly index: number
  readonly grpc: Mapping
  readonly host: string | null
  /** The listener, in the form of `hostPortText`. */
  readonly listener: string
  /** Null while the file does not determine one. */
  readonly publicAddress: string | null
}

/** @param baseDir directory that the paths are relative to */
export function grpcProblems (config: Mapping, baseDir: string): PathProblem[] {
  const server = mapping(config.server)
  const grpc = mapping(server.grpc)
  const agents = items(config.agents).map(mapping)
  const served = servedAgents(grpc, agents)
  return [
    ...listenerTls(mapping(grpc.tls), baseDir, [...SERVER, 'tls']),
    ...sameAddress(server, agents),
    ...(mapping(server.mesh).listen === null ? withoutListener(grpc, agents) : []),
    ...duplicateHosts(served),
    ...addresses(grpc, agents, served),
    ...toItself(server, agents)
  ]
}

export function grpcWarnings (config: Mapping, version = process.versions.node): PathProblem[] {
  const server = mapping(config.server)
  const grpc = mapping(server.grpc)
  const served = servedAgents(grpc, items(config.agents).map(mapping))
  if (served.length === 0) return []
  const [first] = served
  const place: Path = typeof grpc.listen === 'string' ? [...SERVER, 'listen'] : ['agents', first?.index ?? 0, 'grpc', 'listen']
  return [
    ...(hasSafeHttp2Server(version)
      ? []
      : [problemAt(
          place, `the HTTP/2 server of Node.js ${version} has known faults (CVE-2026-21714)`,
          'run the gateway on Node.js 22.22.2, 24.14.1 or later'
        )]),
    ...(mapping(server.tls).cert !== null && mapping(grpc.tls).cert === null && typeof mapping(server.tls).cert === 'string'
      ? [problemAt(
          place, 'the main listener has TLS, and the gRPC listener has none', 'set server.grpc.tls, unless a proxy in front ends TLS'
        )]
      : []),
    ...withoutCertificates(mapping(mapping(config.identity).sources), mapping(grpc.tls), place),
    ...otherHosts(served)
  ]
}

/** The address of the shared listener for clients; null when the file gives none that can be read. */
function sharedOf ({ publicAddress, listen }: Mapping): string | null {
  const text = (value: unknown): string | null => (typeof value === 'string' && parseHostPort(value) !== null ? value : null)
  return sharedGrpcAddress({ publicAddress: text(publicAddress), listen: text(listen) })
}

function servedAgents (server: Mapping, agents: readonly Mapping[]): Served[] {
  return agents.flatMap((agent, index) => {
    const grpc = mapping(agent.grpc)
    const own = typeof grpc.listen === 'string' ? parseHostPort(grpc.listen) : null
    const shared = typeof server.listen === 'string' ? parseHostPort(server.listen) : null
    const address = typeof grpc.listen === 'string' ? own : shared
    if (grpc.enabled !== true || address === null) return []
    const host = typeof agent.host === 'string' ? agent.host.toLowerCase() : null
    const text = (value: unknown): string | null => (typeof value === 'string' && parseHostPort(value) !== null ? value : null)
    return [{
      index,
      grpc,
      host,
      listener: hostPortText(address),
      publicAddress: publicGrpcAddress(text(grpc.publicAddress), host, own, sharedOf(server))
    }]
  })
}

/** Checks that a gRPC listener has no address of another listener of the gateway. */
function sameAddress (server: Mapping, agents: readonly Mapping[]): PathProblem[] {
  const taken = new Map<string, string>()
  const take = (name: string, text: unknown): void => {
    const address = typeof text === 'string' ? parseHostPort(text) : null
    if (address !== null && address.port !== 0) taken.set(hostPortText(address), name)
  }
  const clash = (path: Path, text: unknown, hint: string): PathProblem[] => {
    const address = typeof text === 'string' ? parseHostPort(text) : null
    const other = address === null ? undefined : taken.get(hostPortText(address))
    return other === undefined ? [] : [problemAt(path, `${other} and ${dotted(path)} are the same address`, hint)]
  }
  for (const key of ['listen', 'admin', 'metrics']) take(`server.${key}`, server[key])
  const { listen } = mapping(server.grpc)
  const ofServer = clash([...SERVER, 'listen'], listen, 'the gRPC listener needs its own address')
  take('server.grpc.listen', listen)
  return [
    ...ofServer,
    ...agents.flatMap(({ grpc }, index) =>
      clash(['agents', index, 'grpc', 'listen'], mapping(grpc).listen, 'name another address, or leave it out for the shared listener'))
  ]
}

/** Reports keys that have no effect because nothing listens for gRPC. */
function withoutListener (server: Mapping, agents: readonly Mapping[]): PathProblem[] {
  const own = agents.some(({ grpc }) => mapping(grpc).enabled === true && typeof mapping(grpc).listen === 'string')
  const of = (grpc: Mapping, keys: readonly string[]): string | undefined =>
    keys.find(key => typeof grpc[key] === 'string' || items(grpc[key]).length > 0)
  const ofServer = of(server, ['publicAddress']) ?? (typeof mapping(server.tls).cert === 'string' ? 'tls' : undefined)
  const ofAgents = agents.flatMap((agent, index) => {
    const grpc = mapping(agent.grpc)
    const path: Path = ['agents', index, 'grpc']
    const key = of(grpc, ['upstream', 'publicAddress', 'passthrough', ...(grpc.enabled === false ? ['listen'] : [])])
    if (key === undefined) return []
    if (grpc.enabled === false) {
      return [problemAt([...path, key], `${dotted([...path, key])} has no effect while enabled is false`, 'remove one of them', 'key')]
    }
    return typeof grpc.listen === 'string' || server.listen !== null
      ? []
      : [problemAt(
          [...path, key], `${dotted([...path, key])} has no effect without a gRPC listener`,
        `set server.grpc.listen, or ${dotted([...path, 'listen'])}`, 'key'
        )]
  })
  return [
    ...(server.listen === null && !own && ofServer !== undefined
      ? [problemAt([...SERVER, ofServer], `server.grpc.${ofServer} has no effect without a gRPC listener`, 'set server.grpc.listen', 'key')]
      : []),
    ...ofAgents
  ]
}

/** Checks that the requests of one listener name their agent. A gRPC request has a host, and no path of an agent. */
function duplicateHosts (served: readonly Served[]): PathProblem[] {
  const indices = new Map<string, number>()
  return served.flatMap(({ index, host, listener }) => {
    const key = `${host ?? ''} ${listener}`
    const earlier = indices.get(key)
    if (earlier === undefined) {
      indices.set(key, index)
      return []
    }
    return [problemAt(
      ['agents', index, 'grpc'],
      `agents[${earlier}] and agents[${index}] have the same gRPC listener and ${host === null ? 'no host' : `the host ${host}`}: gRPC ` +
        'requests cannot tell them apart',
      'give each agent a host or its own grpc.listen, or set grpc.enabled: false',
      'key'
    )]
  })
}

/** Checks that served cards can name the address of each agent and that no two agents have the same address. */
function addresses (server: Mapping, agents: readonly Mapping[], served: readonly Served[]): PathProblem[] {
  const rewritten = served.filter(({ index }) => mapping(agents[index]?.card).signature !== 'verbatim')
  const missing = rewritten.filter(({ publicAddress, grpc }) => publicAddress === null && grpc.publicAddress === null)
  const shared = missing.some(({ grpc }) => grpc.listen === null) && server.publicAddress === null && sharedOf(server) === null
  const names = new Map<string, Served>()
  return [
    ...(shared
      ? [problemAt(SERVER, 'server.grpc.publicAddress is required: served cards contain it', 'such as "agents.example.com:443"', 'key')]
      : []),
    ...missing.flatMap(({ index, grpc }) => {
      if (grpc.listen === null || ((server.publicAddress !== null || sharedOf(server) !== null) && portOf(grpc.listen) !== 0)) return []
      const path: Path = ['agents', index, 'grpc']
      return [
        problemAt(path, `${dotted(path)}.publicAddress is required: served cards contain it`, 'such as "agents.example.com:443"', 'key')
      ]
    }),
    ...rewritten.flatMap(entry => {
      const { index, host, listener, publicAddress } = entry
      const earlier = names.get(publicAddress ?? '')
      if (publicAddress === null) return []
      if (earlier === undefined) names.set(publicAddress, entry)
      // Two agents that share listener and host already have a problem.
      if (earlier === undefined || (earlier.host === host && earlier.listener === listener)) return []
      const message = `agents[${earlier.index}] and agents[${index}] have the same public gRPC address, ${publicAddress}`
      return [problemAt(['agents', index, 'grpc'], message, 'give each its own publicAddress', 'key')]
    })
  ]
}

function portOf (listen: unknown): number | undefined {
  return typeof listen === 'string' ? parseHostPort(listen)?.port : undefined
}

const LOCAL = /^(?:localhost|::1|127\.\d+\.\d+\.\d+)$/
const EVERYWHERE: readonly string[] = ['0.0.0.0', '::']

/** Finds agents whose gRPC server is a listener of the gateway itself. */
function toItself (server: Mapping, agents: readonly Mapping[]): PathProblem[] {
  const listeners = [server.listen, mapping(server.grpc).listen, ...agents.map(({ grpc }) => mapping(grpc).listen)]
    .flatMap(text => typeof text === 'string' ? [parseHostPort(text)] : [])
    .filter(address => address !== null)
  return agents.flatMap((agent, index) => {
    const { upstream } = mapping(agent.grpc)
    const target = typeof upstream === 'string' ? parseGrpcUpstream(upstream) : null
    if (target === null || !LOCAL.test(target.host)) return []
    const own = listeners.find(({ host, port }) => port === target.port && (host === target.host || EVERYWHERE.includes(host)))
    const path: Path = ['agents', index, 'grpc', 'upstream']
    return own === undefined
      ? []
      : [problemAt(path, `${dotted(path)} is a listener of the gateway itself, ${hostPortText(own)}`, 'name the server of the agent')]
  })
}

/** Warns of sources whose callers cannot use gRPC: the listener asks clients for no certificate. */
function withoutCertificates (sources: Mapping, tls: Mapping, place: Path): PathProblem[] {
  if (tls.clientCertificate !== 'none') return []
  return Object.entries(sources).filter(([, source]) => mapping(mapping(source).certificate).from === 'tls').map(([name]) =>
    problemAt(
      place,
      `callers of identity.sources.${name} cannot be recognized over gRPC: server.grpc.tls.clientCertificate is none`,
      'set server.grpc.tls.clientCertificate to request or require'
    )
  )
}

/** Warns of addresses whose host is not that of the agent: clients send the host of the address, and `host` would not match. */
function otherHosts (served: readonly Served[]): PathProblem[] {
  return served.flatMap(({ index, grpc, host }) => {
    const named = typeof grpc.publicAddress === 'string' ? parseHostPort(grpc.publicAddress)?.host.toLowerCase() : undefined
    const path: Path = ['agents', index, 'grpc', 'publicAddress']
    return host === null || named === undefined || named === host.replace(/^\[|\]$/g, '')
      ? []
      : [problemAt(
          path, `${dotted(path)} names another host than host, ${formatValue(host)}`,
          'clients send the host of the address, unless a proxy in front replaces it'
        )]
  })
}

/** Versions of Node.js with fixes for its HTTP/2 server, by major version: CVE-2026-21714 and limits of reset streams. */
const FIXED: Readonly<Record<number, readonly [minor: number, patch: number]>> = { 22: [22, 2], 24: [14, 1] }

/**
 * Tells whether a version of Node.js has an HTTP/2 server without known faults. Node.js 20 gets no fixes any more, and its server does not
 * limit reset streams (measured with 20.20.2).
 * @param version as in `process.versions.node`
 */
export function hasSafeHttp2Server (version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const fixed = FIXED[major]
  return fixed === undefined ? major > 24 : minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1])
}
