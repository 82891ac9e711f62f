/** Limits of the main listener: headers, times and connections. All of them can change while the gateway listens. */
import type { Server, ServerOptions } from 'node:http'
import { guarded, ownerOf } from '#guard.js'
import type { Limits } from '#config/model/model.js'

/** Margin above the timer of the body reader, ms. Node's timeout covers bodies that the body reader does not read: passthrough uploads. */
const NET = 5_000

/** Options of the server at start. {@link ListenerLimits} changes them later. */
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

/** Node reads the size for each connection. Node's types omit the property. */
type Listener = Server & { maxHeaderSize?: number }

const LATER = ownerOf('http')

/** Applies new limits to the listener when the configuration changes. */
export class ListenerLimits {
  private readonly server: Listener
  private lowering: NodeJS.Timeout | null = null

  constructor (server: Server, limits: Limits) {
    this.server = server
    // By default, Node silently drops headers beyond 2000. `maxHeaderSize` already bounds their bytes.
    server.maxHeadersCount = 0
    this.set(limits)
  }

  /**
   * Sets the limits. Node applies times to open connections and to requests in flight too. Lower times therefore start only after the old
   * request timeout.
   */
  set (limits: Limits): void {
    const { server } = this
    server.maxHeaderSize = limits.headers
    server.keepAliveTimeout = limits.idleTimeout
    server.maxConnections = limits.connections === 0 ? Infinity : limits.connections
    if (this.lowering !== null) clearTimeout(this.lowering)
    const lower = headersTimeoutOf(limits) < server.headersTimeout || limits.requestTimeout + NET < server.requestTimeout
    if (lower) this.lowering = setTimeout(guarded(LATER, () => { this.setTimes(limits) }), server.requestTimeout).unref()
    else this.setTimes(limits)
  }

  private setTimes (limits: Limits): void {
    this.lowering = null
    this.server.requestTimeout = limits.requestTimeout + NET
    this.server.headersTimeout = headersTimeoutOf(limits)
  }
}
