/** What the main listener itself bounds: headers, times and connections. All of it can change while it listens. */
import type { Server, ServerOptions } from 'node:http'
import type { Limits } from '../../config/model/model.js'

/** A net under the body reader's own timer, for what it does not read: passthrough uploads. ms. */
const NET = 5_000

/** Options of the server, as {@link ListenerLimits} has them later. */
export function listenerOptions (limits: Limits): ServerOptions {
  return {
    requestTimeout: limits.requestTimeout + NET,
    keepAliveTimeout: limits.idleTimeout,
    headersTimeout: headersTimeoutOf(limits),
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: limits.headers
  }
}

function headersTimeoutOf ({ headersTimeout, requestTimeout }: Limits): number {
  return Math.min(headersTimeout, requestTimeout)
}

/** Node reads the size for each connection; its types leave it out. */
type Listener = Server & { maxHeaderSize?: number }

/** The listener's limits when the configuration changes. */
export class ListenerLimits {
  private readonly server: Listener
  private lowering: NodeJS.Timeout | null = null

  constructor (server: Server, limits: Limits) {
    this.server = server
    // Beyond 2000 headers Node leaves out the rest without a word; their bytes are bounded.
    server.maxHeadersCount = 0
    this.set(limits)
  }

  /** Times apply to connections that are open; Node applies them to requests under way too, so those get the time they began with. */
  set (limits: Limits): void {
    const { server } = this
    server.maxHeaderSize = limits.headers
    server.keepAliveTimeout = limits.idleTimeout
    server.maxConnections = limits.connections === 0 ? Infinity : limits.connections
    if (this.lowering !== null) clearTimeout(this.lowering)
    const lower = headersTimeoutOf(limits) < server.headersTimeout || limits.requestTimeout + NET < server.requestTimeout
    if (lower) this.lowering = setTimeout(() => { this.setTimes(limits) }, server.requestTimeout).unref()
    else this.setTimes(limits)
  }

  private setTimes (limits: Limits): void {
    this.lowering = null
    this.server.requestTimeout = limits.requestTimeout + NET
    this.server.headersTimeout = headersTimeoutOf(limits)
  }
}
