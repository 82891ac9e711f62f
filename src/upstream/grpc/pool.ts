/** Connections to the gRPC server of one agent. */
import { EventEmitter } from 'node:events'
import type { AddressGuard } from '../address-guard.js'
import type { UpstreamConfig } from '#config/model/model.js'
import { ConnectionQueue } from '../connection-queue.js'
import type { TlsFiles } from '../tls.js'
import type { GrpcTarget, StreamUser } from './session.js'
import { GrpcSession } from './session.js'

/** Largest number of connections. Calls share them; several spread the calls over the processes behind a load balancer. */
const CONNECTIONS = 4
/** Calls at once on one connection before another is made. */
const SPREAD = 100

export interface GrpcAddress {
  readonly host: string
  readonly port: number
  readonly tls: boolean
}

export class GrpcPool extends EventEmitter<{ drain: [] }> {
  /** Where calls wait while no connection has room. */
  readonly queue: ConnectionQueue
  /** Host and port, for `:authority`. */
  readonly authority: string
  readonly scheme: 'http' | 'https'
  private readonly target: GrpcTarget
  /** Connections for new calls. */
  private readonly sessions = new Set<GrpcSession>()
  /** Connections that only finish their calls. */
  private readonly retired = new Set<GrpcSession>()
  private full = false
  private closed = false

  constructor ({ host, port, tls }: GrpcAddress, config: UpstreamConfig, files: TlsFiles, guard: AddressGuard | null = null) {
    super()
    const { timeouts, tls: { serverName } } = config
    this.authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
    this.scheme = tls ? 'https' : 'http'
    this.target = {
      origin: `${this.scheme}://${this.authority}`,
      tls: tls
        ? {
            rejectUnauthorized: true,
            ALPNProtocols: ['h2'],
            ...(files.ca === null ? {} : { ca: files.ca }),
            ...(files.cert === null ? {} : { cert: files.cert }),
            ...(files.key === null ? {} : { key: files.key }),
            ...(serverName === null ? {} : { servername: serverName })
          }
        : {},
      ...(guard === null ? {} : { lookup: guard.lookup }),
      connectTimeout: timeouts.connect
    }
    this.queue = new ConnectionQueue(this, timeouts.queue)
  }

  /** Begins a call. @returns false when there is no room for another */
  dispatch (user: StreamUser): boolean {
    this.pick().take(user)
    this.full = !this.hasRoom
    return !this.full
  }

  /** Gives up a call that waits for a connection. */
  withdraw (user: StreamUser): void {
    for (const session of this.sessions) if (session.withdraw(user)) return
  }

  /** Ends all connections and their calls. */
  close (): void {
    this.closed = true
    for (const session of [...this.sessions, ...this.retired]) session.end()
  }

  private get hasRoom (): boolean {
    if (this.sessions.size < CONNECTIONS) return true
    for (const session of this.sessions) if (session.hasRoom) return true
    return false
  }

  /**
   * The connection with the fewest calls; a new one when all have many. When none has room, the call waits in nghttp2: a server may lower
   * its limit at any time.
   */
  private pick (): GrpcSession {
    let least: GrpcSession | null = null
    let busy: GrpcSession | null = null
    for (const session of this.sessions) {
      if (!session.usable) continue
      if (busy === null || session.active < busy.active) busy = session
      if (session.hasRoom && (least === null || session.active < least.active)) least = session
    }
    const full = this.sessions.size >= CONNECTIONS
    if (least !== null && (least.active < SPREAD || full)) return least
    return full && busy !== null ? busy : this.create()
  }

  private create (): GrpcSession {
    const session = new GrpcSession(this.target, session => { this.changed(session) })
    this.sessions.add(session)
    if (this.closed) session.end()
    return session
  }

  private changed (session: GrpcSession): void {
    if (session.closed) {
      this.sessions.delete(session)
      this.retired.delete(session)
    } else if (!session.usable && this.sessions.delete(session)) this.retired.add(session)
    const full = !this.hasRoom
    if (full === this.full) return
    this.full = full
    if (full) this.queue.markFull()
    else this.emit('drain')
  }
}
