/**
 * Disconnects clients that do not read the data that waits for them, and resets calls over gRPC whose client does not. A periodic check is
 * used instead of a timer per write: most responses never wait, and the others wait in many places in the code.
 */
import type { Socket } from 'node:net'
import { guarded, ownerOf, run } from '#guard.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { Exchange } from '#call/exchange.js'
import type { InFlight } from '#agents/in-flight.js'

interface Options {
  readonly live: InFlight<Exchange>
  readonly metrics: Metrics
  readonly log: Log
}

/** Bytes that a client had taken at its last progress, and the time when that progress was seen. */
interface Progress { readonly taken: number, readonly since: number }

/** Error code of RFC 9113 §7. */
const CANCEL = 8
/** Maximum time between two checks, ms. */
const MAX_INTERVAL_MS = 5_000

/** A check that fails ends nothing. */
const CHECK = ownerOf('http')

export class SlowReaders {
  private readonly options: Options
  private timer: NodeJS.Timeout | null = null
  /** By connection, or by response over gRPC. */
  private progress = new Map<object, Progress>()

  constructor (options: Options) {
    this.options = options
  }

  /** @param timeout ms; 0: no client is disconnected */
  use (timeout: number): void {
    this.close()
    if (timeout === 0) return
    this.timer = setInterval(guarded(CHECK, () => { this.look(timeout) }), Math.min(MAX_INTERVAL_MS, Math.ceil(timeout / 4))).unref()
  }

  close (): void {
    if (this.timer !== null) clearInterval(this.timer)
    this.timer = null
    this.progress.clear()
  }

  private look (timeout: number): void {
    const now = performance.now()
    const next = new Map<object, Progress>()
    const stuck = this.options.live.all().filter(({ request: { socket }, response }) => {
      const own = response.waiting !== undefined
      if (socket.destroyed || (response.waiting ?? socket.writableLength) === 0) return false
      const place = own ? response : socket
      const taken = response.taken ?? takenBy(socket)
      const before = this.progress.get(place)
      const progress = before?.taken === taken ? before : { taken, since: now }
      next.set(place, progress)
      return now - progress.since >= timeout
    })
    this.progress = next
    for (const exchange of stuck) run(exchange, () => { this.disconnect(exchange) })
  }

  private disconnect (exchange: Exchange): void {
    const { request: { socket }, response } = exchange
    if (socket.destroyed) return
    const { metrics, log } = this.options
    metrics.add('client_errors_total', 'write_timeout')
    const facts = { agent: exchange.agentName, request_id: exchange.id }
    if (response.waiting !== undefined) {
      log.info(facts, 'a gRPC call whose client did not read its response was reset')
      return response.reset?.(CANCEL)
    }
    log.info(facts, 'a client that did not read its response was disconnected')
    // A reset also discards the data in the system's buffers.
    socket.resetAndDestroy()
  }
}

/** Node's own: the handle counts the bytes that it was given, and those that the system has not taken yet. */
interface Handle { readonly bytesWritten?: number, readonly writeQueueSize?: number }

/** @returns bytes that the system has taken from the process so far; the system takes more as the client reads */
function takenBy (socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null }
  return (handle?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0)
}
