/** `server.mesh`: the listener for proxies that ask the gateway about each call, such as Envoy. */
import type { HostPort, ListenerTlsConfig } from './model.js'

export interface MeshListenerConfig {
  readonly listen: HostPort
  /** Null: clear-text HTTP/2 with prior knowledge (h2c). */
  readonly tls: ListenerTlsConfig | null
}
