/** The HTTP/2 connections of a gRPC listener: their number, their idle time, and clients that only keep the gateway busy. */
import { constants } from 'node:http2'
import type { Http2Session, ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { Guarded, Place } from '#guard.js'
import { guarded, ignoreErrors, listen, ownerOf } from '#guard.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'

interface Options {
  readonly metrics: Metrics
  readonly log: Log
  /** Counts errors of the gateway itself. */
  readonly part: Place
  /** Milliseconds that a connection may have no call. */
  readonly idleTimeout: () => number
  /** True for addresses that many clients share: proxies. */
  readonly isShared: (address: string | undefined) => boolean
}

/** Connections from one address. Each can have `maxConcurrentStreams` calls. */
const PER_ADDRESS = 256
/**
 * PING frames in a window without any call. Official clients measure the bandwidth with PING, but only while they receive messages; as
 * keepalive they send at most one each 10 s.
 */
const PINGS = 300
/**
 * Calls in a window that end with RST_STREAM: rapid reset, CVE-2023-44487. Those that the gateway resets itself do not count: it relays the
 * resets of agents. Node 20 does not limit them (measured with 20.20.2). A proxy in
 * front resets the calls of many clients on one connection.
 */
const RESETS = 1_000
const WINDOW = 10_000
/** Code of RST_STREAM of a call that ended as it should, RFC 9113 §7. */
const NO_ERROR = 0
/** Bytes that a client may send on all calls of a connection before the gateway has taken them. Node takes them at once. */
const CONNECTION_WINDOW = 4_194_304

const { NGHTTP2_ENHANCE_YOUR_CALM } = constants

interface Connection {
  readonly socket: Socket
  readonly address: string
  calls: number
  /** PING frames since `since`. */
  pings: number
  /** Calls that the client reset since `since`. */
  resets: number
  since: number
  /** True while the client owes a response to a PING of the gateway. */
  probed: boolean
  /** True once the gateway has decided to end the connection. */
  ending: boolean
  /** A call is over. @param code of RST_STREAM by the client, or for an error of the client */
  readonly finished: (code: number) => void
}

export class Connections {
  private readonly options: Options
  private readonly sessions = new Map<Http2Session, Connection>()
  private readonly perAddress = new Map<string, number>()
  private closing = false

  constructor (options: Options) {
    this.options = options
  }

  /** @param socket of the session; Node gives a stand-in without the address of a closed connection */
  add (session: ServerHttp2Session, socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const count = (this.perAddress.get(address) ?? 0) + 1
    const finished = (code: number): void => { this.finished(session, connection, code) }
    const connection: Connection = { socket, address, calls: 0, pings: 0, resets: 0, since: 0, probed: false, ending: false, finished }
    this.sessions.set(session, connection)
    this.perAddress.set(address, count)
    session.setLocalWindowSize(CONNECTION_WINDOW)
    const owner = this.owner(session)
    listen(owner, session, 'close', () => { this.remove(session, connection) })
    // A client may break its connection at any time; the calls on it end as client_aborted.
    ignoreErrors(session)
    listen(owner, session, 'ping', () => { this.ping(session, connection) })
    if (count > PER_ADDRESS && !this.options.isShared(address)) {
      return this.end(
        session, connection, 'too many connections from one address'
      )
    }
    if (this.closing) session.close()
    else this.awaitCall(owner, session, connection)
  }

  private owner (session: ServerHttp2Session): Guarded {
    // Events come from within nghttp2.
    return { place: this.options.part, endAfter: () => { setImmediate(guarded(ownerOf(this.options.part), () => { session.destroy() })) } }
  }

  /** Counts a call. @returns null when the session has just ended */
  begin (session: Http2Session | undefined): Pick<Connection, 'socket' | 'finished'> | null {
    const connection = session === undefined ? undefined : this.sessions.get(session)
    if (connection === undefined || connection.ending) return null
    connection.calls++
    connection.pings = 0
    return connection
  }

  private finished (session: ServerHttp2Session, connection: Connection, code: number): void {
    connection.calls--
    if (code === NO_ERROR) return
    newWindow(connection)
    if (
      ++connection.resets > RESETS &&
      !this.options.isShared(connection.address)
    ) this.end(session, connection, 'too many calls were reset')
  }

  /** Asks all clients to use other connections: GOAWAY. Calls in flight go on. */
  drain (): void {
    this.closing = true
    for (const session of this.sessions.keys()) session.close()
  }

  /** Ends the connections that are still open. */
  close (): void {
    this.closing = true
    for (const session of this.sessions.keys()) session.destroy()
  }

  private awaitCall (owner: Guarded, session: ServerHttp2Session, connection: Connection): void {
    const idle = guarded(owner, () => {
      if (connection.calls === 0) return session.close()
      // After an error of the whole connection Node stops reading, and keeps connection and calls for ever (measured with 20.20.2).
      if (connection.probed) return this.end(session, connection, 'no response to PING')
      connection.probed = true
      session.ping(guarded(owner, () => { connection.probed = false }))
      session.setTimeout(this.options.idleTimeout(), idle)
    })
    session.setTimeout(this.options.idleTimeout(), idle)
  }

  private remove (session: Http2Session, { address }: Connection): void {
    if (!this.sessions.delete(session)) return
    const left = (this.perAddress.get(address) ?? 1) - 1
    if (left === 0) this.perAddress.delete(address)
    else this.perAddress.set(address, left)
  }

  private ping (session: ServerHttp2Session, connection: Connection): void {
    newWindow(connection)
    // Calls in flight may be streams, whose clients measure.
    if (++connection.pings > (connection.calls > 0 ? 10 * PINGS : PINGS)) this.end(session, connection, 'too many PING frames')
  }

  private end (session: ServerHttp2Session, connection: Connection, reason: string): void {
    if (connection.ending || session.destroyed) return
    connection.ending = true
    const { metrics, log } = this.options
    metrics.add('client_errors_total', 'other')
    log.info({ reason, client: connection.address }, 'a gRPC connection was closed')
    // Events of calls and PING frames come from within nghttp2, which would go on with the memory of a session that has ended (measured
    // with 20.20.2: the process aborts).
    setImmediate(guarded(this.owner(session), () => {
      if (session.destroyed) return
      session.goaway(NGHTTP2_ENHANCE_YOUR_CALM)
      // The calls of the connection end with it.
      session.destroy()
    }))
  }
}

/** Begins to count anew when the window is over. */
function newWindow (connection: Connection): void {
  const now = performance.now()
  if (now - connection.since <= WINDOW) return
  connection.since = now
  connection.pings = 0
  connection.resets = 0
}
