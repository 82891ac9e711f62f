/** Checks of `server.mesh`, and of a gateway without a main listener. */
import { dotted, formatValue } from '../diagnostics.js'
import type { PathProblem } from '../diagnostics.js'
import { listenerTls } from '../checks/listener-tls.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import { readSize } from '../model/units.js'
import { hostPortText, parseHostPort } from './host-port.js'

const MESH = ['server', 'mesh']

/** @param baseDir directory that the paths are relative to */
export function meshProblems (config: Mapping, baseDir: string): PathProblem[] {
  const server = mapping(config.server)
  const mesh = mapping(server.mesh)
  return [
    ...listenerTls(mapping(mesh.tls), baseDir, [...MESH, 'tls']),
    ...sameAddress(server, items(config.agents).map(mapping)),
    ...withoutListener(mesh),
    ...withoutMain(server)
  ]
}

export function meshWarnings (config: Mapping, version = process.versions.node): PathProblem[] {
  const mesh = mapping(mapping(config.server).mesh)
  const address = typeof mesh.listen === 'string' ? parseHostPort(mesh.listen) : null
  if (address === null) return []
  const asks = mapping(mesh.tls).clientCertificate === 'require'
  return [
    ...(asks || LOCAL.test(address.host)
      ? []
      : [problemAt(
          [...MESH, 'listen'],
          'any client that reaches server.mesh.listen can probe the policies and learn the addresses of agents',
          'listen on a loopback address, or set server.mesh.tls with clientCertificate: require'
        )]),
    ...(Number(version.split('.')[0]) >= 24
      ? []
      : [problemAt(
          [...MESH, 'listen'],
          `with Node.js ${version}, calls through ext_proc can fail: Node.js closes connections on which Envoy resets many streams`,
          'run the gateway on Node.js 24, use ext_authz, or set the runtime flag envoy.reloadable_features.ext_proc_graceful_grpc_close of Envoy'
        )]),
    ...largeQuestions(mapping(config.limits).body)
  ]
}

/** Bytes: the default of `limits.body`. */
const LARGE_QUESTION = 20 * 1024 * 1024

/** @param body `limits.body` */
function largeQuestions (body: unknown): PathProblem[] {
  const size = typeof body === 'string' ? readSize(body) : null
  if (size === null || !('value' in size) || size.value <= LARGE_QUESTION) return []
  return [problemAt(
    ['limits', 'body'],
    `limits.body ${formatValue(body)} also bounds the messages of ext_authz, which contain bodies of unauthenticated requests`,
    'set max_request_bytes of ext_authz to the largest body that agents need, such as 1 MiB; or use ext_proc'
  )]
}

const LOCAL = /^(?:localhost|::1|127\.\d+\.\d+\.\d+)$/

/** Checks that the listener has no address of another listener of the gateway. */
function sameAddress (server: Mapping, agents: readonly Mapping[]): PathProblem[] {
  const own = mapping(server.mesh).listen
  const address = typeof own === 'string' ? parseHostPort(own) : null
  if (address === null || address.port === 0) return []
  const others: readonly (readonly [string, unknown])[] = [
    ...['listen', 'admin', 'metrics'].map(key => [`server.${key}`, server[key]] as const),
    ['server.grpc.listen', mapping(server.grpc).listen],
    ...agents.map(({ grpc }, index) => [dotted(['agents', index, 'grpc', 'listen']), mapping(grpc).listen] as const)
  ]
  const taken = others.find(([, text]) => {
    const other = typeof text === 'string' ? parseHostPort(text) : null
    return other !== null && hostPortText(other) === hostPortText(address)
  })
  return taken === undefined
    ? []
    : [
        problemAt(
          [...MESH, 'listen'], `${taken[0]} and server.mesh.listen are the same address`, 'the listener for a mesh needs its own address'
        )
      ]
}

/** Reports TLS that has no effect because nothing listens. */
function withoutListener ({ listen, tls }: Mapping): PathProblem[] {
  return listen !== null || typeof mapping(tls).cert !== 'string'
    ? []
    : [problemAt([...MESH, 'tls'], 'server.mesh.tls has no effect without server.mesh.listen', 'set server.mesh.listen', 'key')]
}

/** A gateway without a main listener serves a mesh. */
function withoutMain ({ listen, mesh, grpc, publicUrl, tls, console }: Mapping): PathProblem[] {
  if (listen !== null) return []
  const at = ['server', 'listen']
  const useless = typeof mapping(tls).cert === 'string' ? ['tls'] : mapping(console).tryIt === true ? ['console', 'tryIt'] : null
  return [
    ...(mapping(mesh).listen === null
      ? [problemAt(at, 'server.listen is null, and nothing else takes calls', 'set server.mesh.listen, or remove this line')]
      : []),
    ...(typeof mapping(grpc).listen === 'string' && publicUrl === null
      ? [problemAt(
          ['server', 'grpc', 'listen'], 'server.grpc.listen needs server.publicUrl while server.listen is null: cards name it',
          'set server.publicUrl'
        )]
      : []),
    ...(useless === null
      ? []
      : [problemAt(
          ['server', ...useless], `${dotted(['server', ...useless])} has no effect while server.listen is null`, 'remove this line', 'key'
        )])
  ]
}
