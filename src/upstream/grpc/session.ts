/** One HTTP/2 connection to a gRPC server of an agent. */
import { connect, constants } from 'node:http2'
import type { LookupFunction } from 'node:net'
import type { Guarded } from '#guard.js'
import { guarded, listen, run } from '#guard.js'
import type {
  ClientHttp2Session, ClientHttp2Stream, ClientSessionOptions, OutgoingHttpHeaders, SecureClientSessionOptions, Settings
} from 'node:http2'

/** Where and how to connect. */
export interface GrpcTarget {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string
  /** Options of the TLS connection. */
  readonly tls: SecureClientSessionOptions
  /** Resolves the name of the server; absent: as Node does. */
  readonly lookup?: LookupFunction
  /** Milliseconds until the server has sent its settings. */
  readonly connectTimeout: number
}

/** A call that needs a stream. Each gets one call of these methods, unless it withdraws. */
export interface StreamUser extends Guarded {
  open (session: GrpcSession): void
  /** The server takes fewer calls at once than those that waited for its settings. */
  requeue (): void
  /** The connection could not be made: the agent has seen nothing of the call. */
  unconnected (error: Error): void
}

/**
 * Bytes that the agent may send before the client has read them: the memory that a stalled client takes. Node returns the window of the
 * connection at once, so a stalled stream does not stop the others.
 */
const STREAM_WINDOW = 262_144
const CONNECTION_WINDOW = 16_777_216
/** Megabytes of one connection within Node: a large part of an agent's calls share it. */
const SESSION_MEMORY = 64
/** Milliseconds until new calls use another connection, so that a host name that has moved is followed. */
const MAX_AGE = 300_000
/** Times of a connection, ms. */
export interface SessionTimes {
  /** Silence after which an unused connection closes, and one with calls is looked at. Most servers close theirs later. */
  readonly idle: number
  /** Shortest time between two PINGs on a silent connection with calls. Servers of gRPC end connections for more than one in 5 minutes. */
  readonly keepalive: number
  /** Time that a server has to respond to a PING, before the connection counts as dead. */
  readonly probe: number
}

const TIMES: SessionTimes = { idle: 60_000, keepalive: 330_000, probe: 5_000 }
/**
 * Calls that the gateway may cancel on a connection at once, and per second from then on, until new calls use another connection. Servers
 * take too many resets for an attack and end the connection with all of its calls: those of Node after 1,000, and 33 a second.
 */
const CANCELS = 400
const CANCELS_PER_SECOND = 16
/** Calls at once before the server has said how many it accepts. */
const BEFORE_SETTINGS = 100

export class GrpcSession implements Guarded {
  readonly place = 'upstream'
  /** Calls that have a stream or wait for the connection. */
  active = 0
  private readonly session: ClientHttp2Session
  private readonly onChange: (session: GrpcSession) => void
  /** Null once the server has sent its settings. */
  private waiting: StreamUser[] | null = []
  private readonly bornAt = performance.now()
  private limit = BEFORE_SETTINGS
  private retired = false
  private cancels = 0
  private cancelledAt = 0
  private probing = false
  private probedAt = performance.now()
  private readonly times: SessionTimes
  private error: Error | null = null
  private connecting: NodeJS.Timeout | null

  /** @param onChange called when the session has more room, and when it takes no more calls */
  constructor ({ origin, tls, lookup, connectTimeout }: GrpcTarget, onChange: (session: GrpcSession) => void, times = TIMES) {
    this.onChange = onChange
    this.times = times
    const options: ClientSessionOptions = {
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: 65_536 },
      // Calls wait for the server's settings here, not in nghttp2.
      peerMaxConcurrentStreams: 0xffffffff,
      maxSessionMemory: SESSION_MEMORY
    }
    const session = connect(origin, { ...tls, ...options, ...(lookup === undefined ? {} : { lookup }) } as ClientSessionOptions)
    this.session = session
    this.connecting = setTimeout(guarded(this, () => { this.end(timedOut()) }), connectTimeout)
    listen(this, session, 'connect', () => { session.setLocalWindowSize(CONNECTION_WINDOW) })
    listen(this, session, 'remoteSettings', (settings: Settings) => { this.settled(settings.maxConcurrentStreams ?? Infinity) })
    listen(this, session, 'goaway', () => { this.retire() })
    listen(this, session, 'error', (error: Error) => { this.error ??= error })
    listen(this, session, 'close', () => { this.left() })
    const idle = guarded(this, () => {
      if (this.active === 0) return this.retire()
      // The host may have vanished, and Node 20 reports nothing when a header of the server is too long for nghttp2.
      if (performance.now() - this.probedAt >= times.keepalive) this.probe()
      session.setTimeout(times.idle, idle)
    })
    session.setTimeout(times.idle, idle)
  }

  /** True when the connection is closed. */
  get closed (): boolean {
    return this.session.destroyed
  }

  /** False when no new call may use the session. */
  get usable (): boolean {
    // A GOAWAY frame has closed the session before its event.
    if (!this.retired && (this.session.closed || performance.now() - this.bornAt > MAX_AGE)) this.retire()
    return !this.retired
  }

  get hasRoom (): boolean {
    return !this.retired && this.active < this.limit
  }

  /** Opens a stream for the call, now or when the connection is there. Each call ends with `release`. */
  take (user: StreamUser): void {
    this.active++
    if (this.waiting === null) user.open(this)
    else this.waiting.push(user)
  }

  /** Gives up a call that waits for the connection. @returns false when it does not wait */
  withdraw (user: StreamUser): boolean {
    const at = this.waiting?.indexOf(user) ?? -1
    if (at < 0) return false
    this.waiting?.splice(at, 1)
    this.release()
    return true
  }

  /** @throws Error when the session has just ended, or when a header cannot be sent */
  request (headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream {
    return this.session.request(headers, { endStream })
  }

  /** The call needs its place no longer. */
  release (): void {
    this.active--
    if (this.retired) this.closeUnused()
    else this.onChange(this)
  }

  /** The gateway has reset a call. */
  cancelled (): void {
    const now = performance.now()
    this.cancels = Math.max(0, this.cancels - (now - this.cancelledAt) / 1_000 * CANCELS_PER_SECOND) + 1
    this.cancelledAt = now
    if (this.cancels > CANCELS) this.retire()
  }

  /** Takes no new calls. The connection closes after the last of its calls. */
  retire (): void {
    if (this.retired) return
    this.retired = true
    this.closeUnused()
    this.onChange(this)
  }

  private closeUnused (): void {
    // The event of a call or of a frame may come from within nghttp2, which must not lose its session meanwhile.
    if (this.active === 0) setImmediate(guarded(this, () => { this.session.close() }))
  }

  /** Finds out whether the server is still there: a call had no response in time, or the connection is silent. */
  probe (): void {
    if (this.probing || this.session.destroyed || this.waiting !== null) return
    this.probing = true
    this.probedAt = performance.now()
    const timer = setTimeout(guarded(this, () => { this.end(new Error('the agent does not respond to a PING')) }), this.times.probe).unref()
    const responded = guarded(this, () => {
      this.probing = false
      clearTimeout(timer)
    })
    if (!this.session.ping(responded)) responded()
  }

  /** Ends the connection and all its calls. */
  end (error?: Error): void {
    this.error ??= error ?? null
    this.retire()
    this.session.destroy(error, constants.NGHTTP2_NO_ERROR)
  }

  endAfter (error: unknown): void {
    this.end(error instanceof Error ? error : undefined)
  }

  private settled (limit: number): void {
    this.limit = limit
    const waiting = this.waiting ?? []
    this.connected()
    const others = waiting.splice(Math.max(limit, 1))
    this.active -= others.length
    for (const user of waiting) run(user, () => { user.open(this) })
    this.onChange(this)
    for (const user of others) run(user, () => { user.requeue() })
  }

  private connected (): void {
    this.waiting = null
    if (this.connecting !== null) clearTimeout(this.connecting)
    this.connecting = null
  }

  private left (): void {
    const { waiting } = this
    this.connected()
    this.retire()
    const error = this.error ?? Object.assign(new Error('the agent closed the connection'), { code: 'ECONNRESET' })
    for (const user of waiting ?? []) run(user, () => { user.unconnected(error) })
    this.onChange(this)
  }
}

function timedOut (): Error {
  return Object.assign(new Error('no HTTP/2 connection within upstream.timeouts.connect'), { code: 'ETIMEDOUT' })
}
