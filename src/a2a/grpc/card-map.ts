/** Maps the gRPC interfaces of a card to the agent's gRPC server and to the address for clients. */
import type { GrpcInterface } from './card-interface.js'
import type { GrpcTarget, MappedInterface } from '../card/map.js'
import type { Version } from '../versions.js'

/** Public gRPC address of one agent, and its gRPC server. */
export interface GrpcScope {
  /** `host:port` in served cards. Null only with `card.signature: verbatim`. */
  readonly publicAddress: string | null
  /** `agents[].grpc.upstream`: the server of all gRPC interfaces. Null: the port is in the card. */
  readonly upstream: GrpcTarget | null
  /**
   * Host and TLS of `upstream.url`, for the ports in a card. The host in the card does not count, as for other bindings. Null where
   * other agents have the same host: the port could be theirs.
   */
  readonly own: { readonly host: string, readonly tls: boolean } | null
}

/** A gRPC interface of a card that the gateway serves. `publicPath`, `upstreamPath` and `dialPath` are empty. */
export interface MappedGrpcInterface extends MappedInterface {
  readonly binding: 'GRPC'
  readonly address: GrpcTarget
}

/** The card names only gRPC interfaces, and the gateway serves none of them. */
export class OnlyGrpc extends Error {
  constructor (conflicts: readonly string[]) {
    super(`the card names only gRPC interfaces: ${conflicts.join('; ')}; clients that call the agent's own port bypass the gateway`)
  }
}

/**
 * Maps each interface. All interfaces of one version have the same server: a gRPC call names no interface.
 * @param scope null for an agent that is not served by gRPC
 * @param conflicts gets one sentence for each interface that is not served
 * @returns null in the place of an interface that is not served
 */
export function mapGrpc (
  interfaces: readonly GrpcInterface[],
  scope: GrpcScope | null,
  conflicts: string[]
): (MappedGrpcInterface | null)[] {
  const servers = new Map<Version, GrpcTarget>()
  return interfaces.map(grpcInterface => {
    const { version, tenant, unknownMinor } = grpcInterface
    const target = targetOf(grpcInterface, scope)
    const address = typeof target === 'string' ? null : servers.get(version) ?? target
    if (typeof target === 'string' || address === null || address.port !== target.port) {
      conflicts.push(`${grpcLabel(grpcInterface)} is not served: ${typeof target === 'string' ? target : TWO_SERVERS}`)
      return null
    }
    servers.set(version, address)
    const mapped: MappedGrpcInterface = {
      binding: 'GRPC', version, tenant, upstreamPath: '', dialPath: '', publicPath: '', url: grpcInterface.text, address
    }
    return unknownMinor === undefined ? mapped : { ...mapped, unknownMinor }
  })
}

/** Names an interface in a message for operators. */
export function grpcLabel ({ version, unknownMinor, shown }: GrpcInterface): string {
  return `GRPC ${unknownMinor ?? version} ${shown}`
}

/** The servers of one agent can differ in the port only. */
const TWO_SERVERS = 'another gRPC interface of its version has another port; agents[].grpc.upstream can name one server for both'

/** Rest of a sentence about an interface of an agent that no listener serves by gRPC. */
export const GRPC_OFF = 'the gateway has no gRPC listener for the agent (server.grpc.listen, or agents[].grpc)'

const NAMED = 'agents[].grpc.upstream can name the server of this agent'

/** @returns a string, the rest of a sentence, for an interface that the gateway does not follow */
function targetOf ({ port, problem }: GrpcInterface, scope: GrpcScope | null): GrpcTarget | string {
  if (scope === null) return GRPC_OFF
  if (scope.upstream !== null) return scope.upstream
  if (port === null) return `${problem ?? ''}; ${NAMED}`
  if (scope.own === null) return `other agents have the same host in upstream.url, and its port could be theirs; ${NAMED}`
  return { host: scope.own.host, port, tls: scope.own.tls }
}
