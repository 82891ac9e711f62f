/** All gRPC listeners of a process: the shared one, and those of agents with an address of their own. */
import type { AddressInfo } from 'node:net'
import type { Config, HostPort } from '../../config/model/model.js'
import type { ListenerName } from './agents.js'
import { listenerName, SHARED } from './agents.js'
import type { GrpcFrontOptions } from './front.js'
import { GrpcFront } from './front.js'
import { GrpcListener } from './listener.js'

export class GrpcListeners {
  private readonly listeners: readonly { readonly at: HostPort, readonly name: ListenerName, readonly listener: GrpcListener }[]

  /**
   * Listeners of the configuration at the start; none without `server.grpc`.
   * @throws Error with a readable message when a file of TLS cannot be used
   */
  constructor (config: Config, options: GrpcFrontOptions) {
    const { grpc } = config.server
    const places = new Map<ListenerName, HostPort>()
    if (grpc !== null) {
      if (grpc.listen !== null) places.set(SHARED, grpc.listen)
      for (const agent of config.agents) {
        const listen = agent.grpc?.listen ?? null
        if (listen !== null) places.set(listenerName(listen), listen)
      }
    }
    const front = new GrpcFront(options)
    this.listeners = grpc === null
      ? []
      : [...places].map(([name, at]) => ({ at, name, listener: new GrpcListener(front, name, grpc, options) }))
  }

  /** Addresses of the listeners, as `host:port`, once they listen. */
  get addresses (): readonly string[] {
    return this.listeners.map(({ at, listener }) => {
      const { port } = listener.server.address() as AddressInfo
      return `${at.host.includes(':') ? `[${at.host}]` : at.host}:${port}`
    })
  }

  /** @throws Error when an address is taken */
  async listen (): Promise<void> {
    await Promise.all(this.listeners.map(({ at, listener: { server } }) => new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: at.host, port: at.port }, () => {
        server.off('error', reject)
        resolve()
      })
    })))
  }

  /** Puts other limits and files in force. Addresses need a restart. */
  use ({ server: { grpc }, limits }: Config): void {
    if (grpc !== null) for (const { listener } of this.listeners) listener.use(grpc, limits)
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
