/** A real gateway with a gRPC listener in front of one agent. */
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from './gateway.js'
import type { TestGateway } from './gateway.js'
import { freePort } from './http.js'

export interface GrpcGateway extends TestGateway {
  /** `127.0.0.1:PORT` of the gRPC listener, as served cards name it. */
  readonly grpcAddress: string
}

export interface GrpcGatewayOptions {
  /** Address of the agent's card; its gRPC address is that of the card. */
  readonly upstream: string
  /** Further keys of the agent, and further root keys, as YAML lines. */
  readonly agent?: readonly string[]
  readonly root?: readonly string[]
  /** Further keys of `server.grpc`, as flow YAML: `maxConcurrentStreams: 10`. */
  readonly listener?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

export async function grpcGatewayFor (
  t: Test,
  { upstream, agent = [], root = [], listener = [], env = {} }: GrpcGatewayOptions
): Promise<GrpcGateway> {
  const [http, grpcAddress] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const grpc = [`listen: "${grpcAddress}"`, `publicAddress: "${grpcAddress}"`, ...listener].join(', ')
  // An extended card that is fetched over gRPC names the addresses of HTTP too.
  const server = `server: {listen: "${http}", publicUrl: "http://${http}", admin: "127.0.0.1:0", drainTimeout: 200ms, grpc: {${grpc}}}`
  const gateway = await gatewayFor(t, { yaml: `${server}\n${oneAgent(upstream, agent, root)}`, env })
  return { ...gateway, grpcAddress }
}
