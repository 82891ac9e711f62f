/**
 * The agents of `agents.ts` over gRPC as well: the same request handlers behind the gRPC services of the official SDKs, on a port of their
 * own that the card names. Kind `dual` serves 1.0 and 0.3 on one port.
 */
import type { Metadata, MethodDefinition, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { AgentCard } from '@a2a-js/sdk'
import { LegacyA2AService, legacyGrpcService } from '@a2a-js/sdk/compat/v0_3/server/grpc'
import type { DefaultRequestHandler } from '@a2a-js/sdk/server'
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc'
import type * as legacy from 'a2a-sdk-03'
import type { DefaultRequestHandler as HandlerV03 } from 'a2a-sdk-03/server'
import { A2AService as ServiceV03, grpcService as serviceV03 } from 'a2a-sdk-03/server/grpc'
import { startAgent } from './agents.js'
import type { AgentOptions, TestAgent } from './agents.js'

export interface GrpcCall {
  /** `/lf.a2a.v1.A2AService/SendMessage` */
  readonly path: string
  readonly metadata: Metadata
  /** The message as it arrived. */
  readonly bytes: Buffer
  /** The message as the SDK has read it. */
  readonly read: unknown
}

export interface GrpcAgent extends TestAgent {
  /** `127.0.0.1:PORT`, as the card names the interface. */
  readonly grpcAddress: string
  /** The calls that arrived over gRPC, oldest first. */
  readonly grpcCalls: GrpcCall[]
}

interface Handled { readonly metadata: Metadata, readonly request: object }

/** Starts an agent that serves gRPC, HTTP+JSON and JSON-RPC, with one state behind all of them. */
export async function startGrpcAgent (options: AgentOptions): Promise<GrpcAgent> {
  let handler: unknown
  const agent = await startAgent({
    ...options,
    wrap: requestHandler => {
      handler = options.wrap?.(requestHandler) ?? requestHandler
      return handler as typeof requestHandler
    }
  })
  const grpcCalls: GrpcCall[] = []
  const server = new Server()
  const serve = (service: ServiceDefinition, implementation: UntypedServiceImplementation): void => {
    const recorded = recording(service, implementation, grpcCalls)
    server.addService(recorded.service, recorded.implementation)
  }
  if (options.kind === 'v03') {
    serve(ServiceV03, serviceV03({ requestHandler: handler as HandlerV03, userBuilder: userOf }))
  } else {
    const handlers = { requestHandler: handler as DefaultRequestHandler, userBuilder: userOf }
    serve(A2AService, grpcService(handlers))
    if (options.kind === 'dual') serve(LegacyA2AService, legacyGrpcService(handlers))
  }
  const grpcAddress = `127.0.0.1:${await bind(server, options.host ?? '127.0.0.1')}`
  await offer(handler, options.kind, grpcAddress)
  return {
    ...agent,
    grpcAddress,
    grpcCalls,
    close: async () => {
      server.forceShutdown()
      await agent.close()
    }
  }
}

async function userOf ({ metadata }: { metadata: Metadata }): Promise<{ isAuthenticated: boolean, userName: string }> {
  const authorization = String(metadata.get('authorization')[0] ?? '')
  return { isAuthenticated: authorization !== '', userName: authorization }
}

function bind (server: Server, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:0`, ServerCredentials.createInsecure(), (error, port) => { error === null ? resolve(port) : reject(error) })
  })
}

/** Adds the address to the cards of the SDK. The SDK serves these objects, and compares `a2a-version` with their interfaces. */
async function offer (handler: unknown, kind: AgentOptions['kind'], url: string): Promise<void> {
  if (kind === 'v03') {
    const card: legacy.AgentCard = await (handler as HandlerV03).getAgentCard()
    card.additionalInterfaces = [...card.additionalInterfaces ?? [], { url, transport: 'GRPC' }]
    return
  }
  const { agentCard, extendedAgentCardProvider } = handler as { agentCard: AgentCard, extendedAgentCardProvider: AgentCard }
  for (const card of [agentCard, extendedAgentCardProvider]) {
    for (const protocolVersion of kind === 'dual' ? ['1.0', '0.3'] : ['1.0']) {
      card.supportedInterfaces.push({ url, protocolBinding: 'GRPC', protocolVersion, tenant: '' })
    }
  }
}

/** The service with a record of each call, made before the SDK sees the call. */
function recording (
  service: ServiceDefinition,
  implementation: UntypedServiceImplementation,
  calls: GrpcCall[]
): { service: ServiceDefinition, implementation: UntypedServiceImplementation } {
  const bytesOf = new WeakMap<object, Buffer>()
  const definitions: Record<string, MethodDefinition<unknown, unknown>> = {}
  const handlers: UntypedServiceImplementation = {}
  for (const [name, definition] of Object.entries(service)) {
    definitions[name] = {
      ...definition,
      requestDeserialize: bytes => {
        const request = definition.requestDeserialize(bytes) as object
        bytesOf.set(request, Buffer.from(bytes))
        return request
      }
    }
    const handle = implementation[name] as (call: Handled, ...rest: unknown[]) => unknown
    handlers[name] = (call: Handled, ...rest: unknown[]): void => {
      const { metadata, request } = call
      calls.push({ path: definition.path, metadata, bytes: bytesOf.get(request) ?? Buffer.alloc(0), read: request })
      handle.call(implementation, call, ...rest)
    }
  }
  return { service: definitions, implementation: handlers }
}
