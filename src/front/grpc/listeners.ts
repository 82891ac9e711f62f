/** All gRPC listeners of a process: the shared one, and those of agents with an address of their own. */
import type { ListenerName } from '#config/listeners/host-port.js'
import { hostPortText, listenerName, SHARED_LISTENER } from '#config/listeners/host-port.js'
import type { Config } from '#config/model/model.js'
import type { GrpcFrontOptions } from './front.js'
import { GrpcFront } from './front.js'
import { Http2Listener } from '../listener/http2-listener.js'
import type { HostPort } from '#config/model/listener-model.js'

/** The shared listener first. */
function placesOf ({ server: { grpc }, agents }: Config): ReadonlyMap<ListenerName, HostPort> {
  const places = new Map<ListenerName, HostPort>()
  if (grpc === null) return places
  if (grpc.listen !== null) places.set(SHARED_LISTENER, grpc.listen)
  for (const agent of agents) {
    const listen = agent.grpc?.listen ?? null
    if (listen !== null) places.set(listenerName(listen), listen)
  }
  return places
}

/** Addresses of the gRPC listeners as the configuration has them, as `host:port`. */
export function grpcAddresses (config: Config): string[] {
  return [...placesOf(config).values()].map(hostPortText)
}

const PLACE = 'server.grpc.tls'

export class GrpcListeners {
  private readonly listeners: readonly { readonly at: HostPort, readonly listener: Http2Listener }[]

  /**
   * Listeners of the configuration at the start; none without `server.grpc`.
   * @throws Error with a readable message when a file of TLS cannot be used
   */
  constructor (config: Config, options: GrpcFrontOptions) {
    const { grpc } = config.server
    const front = new GrpcFront(options)
    const { services, snapshot } = options
    this.listeners = grpc === null
      ? []
      : [...placesOf(config)].map(([name, at]) => ({
          at,
          listener: new Http2Listener(front, { ...grpc, name, place: PLACE, proxies: false, services, snapshot })
        }))
  }

  /** Addresses of the listeners, as `host:port`, once they listen. */
  get addresses (): readonly string[] {
    return this.listeners.map(({ at: { host }, listener }) => listener.addressAt(host))
  }

  /** @throws Error when an address is taken */
  async listen (): Promise<void> {
    await Promise.all(this.listeners.map(({ at, listener }) => listener.listen(at)))
  }

  /** Puts other limits and files in force. Addresses need a restart. */
  use ({ server: { grpc }, limits }: Config): void {
    if (grpc !== null) for (const { listener } of this.listeners) listener.use(grpc.tls, limits)
  }

  /** Stops accepting, and asks clients to leave. Calls in flight go on. */
  drain (): void {
    for (const { listener } of this.listeners) listener.drain()
  }

  /** Ends the connections that are still open. */
  close (): void {
    for (const { listener } of this.listeners) listener.close()
  }
}
