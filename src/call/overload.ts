/**
 * Detects overload of the process once per second, so that the check per request is one boolean.
 *
 * The measurements open no file where that can be avoided, and survive where it cannot: `process.memoryUsage()` reads /proc and throws when
 * no file descriptor is left. In the timer of @fastify/under-pressure 9.2 this error ended the process.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { EventLoopUtilization, IntervalHistogram } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { SheddingConfig } from '#config/model/model.js'
import type { Log } from '#telemetry/log.js'

/** Interval of the measurements, ms. */
const INTERVAL = 1_000
/** Resolution of the delay of the event loop, ms: an idle event loop has this delay. */
const RESOLUTION = 10
const NANOSECONDS_PER_MS = 1e6

/** One measurement. */
export interface Sample {
  /** Average delay of the event loop, ms. */
  readonly eventLoopDelay: number
  /** 0 to 1 */
  readonly eventLoopUtilized: number
  /** Bytes. */
  readonly heapUsed: number
  readonly rssBytes: number
}

export class Overload {
  /** True while new calls are rejected. */
  shedding = false
  /** Seconds that clients should wait before they retry. */
  retryAfter: number
  private config: SheddingConfig
  private readonly log: Log
  private sampler: Sampler | null = null
  private timer: NodeJS.Timeout | null = null
  /** True when the last sample was late too. A single long turn of the event loop is over when it is noticed, so it does not count. */
  private late = false

  constructor (config: SheddingConfig, log: Log) {
    this.log = log
    this.config = config
    this.retryAfter = secondsOf(config)
  }

  use (config: SheddingConfig): void {
    this.config = config
    this.retryAfter = secondsOf(config)
  }

  /** Measures from now on, until `close`. */
  watch (): void {
    const sampler = new Sampler()
    this.sampler = sampler
    this.timer = setInterval(() => { this.take(sampler.sample()) }, INTERVAL).unref()
  }

  close (): void {
    if (this.timer !== null) clearInterval(this.timer)
    this.timer = null
    this.sampler?.close()
  }

  take (sample: Sample): void {
    const signs = this.signsOf(sample)
    const was = this.shedding
    this.shedding = signs.length > 0
    if (this.shedding === was) return
    if (was) this.log.info({}, 'overload is over: the gateway accepts calls again')
    else {
      this.log.warn(
        { signs, ...sample },
        `the process is overloaded: the gateway rejects new calls (${signs.map(sign => `shedding.${sign}`).join(', ')})`
      )
    }
  }

  private signsOf (sample: Sample): string[] {
    const { eventLoopDelay, eventLoopUtilization, heapUsed, rss } = this.config
    const late = eventLoopDelay > 0 && sample.eventLoopDelay > eventLoopDelay
    const signs: [string, boolean][] = [
      ['eventLoopDelay', late && this.late],
      ['eventLoopUtilization', eventLoopUtilization > 0 && sample.eventLoopUtilized > eventLoopUtilization],
      ['heapUsed', heapUsed > 0 && sample.heapUsed > heapUsed],
      ['rss', rss > 0 && sample.rssBytes > rss]
    ]
    this.late = late
    return signs.filter(([, there]) => there).map(([sign]) => sign)
  }
}

class Sampler {
  private readonly delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  private utilization: EventLoopUtilization = performance.eventLoopUtilization()
  private rssBytes = 0

  constructor () {
    this.delay.enable()
  }

  /** Measures the time since the last sample. */
  sample (): Sample {
    const delay = this.delay.mean / NANOSECONDS_PER_MS - RESOLUTION
    this.delay.reset()
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.utilization)
    this.utilization = now
    return {
      // The histogram is empty when the event loop had no turn at all.
      eventLoopDelay: Number.isNaN(delay) ? Infinity : Math.max(0, delay),
      eventLoopUtilized: utilization,
      heapUsed: getHeapStatistics().used_heap_size,
      rssBytes: this.rss()
    }
  }

  close (): void {
    this.delay.disable()
  }

  /** The last known value while no file descriptor is left. */
  private rss (): number {
    try {
      this.rssBytes = process.memoryUsage.rss()
    } catch {}
    return this.rssBytes
  }
}

function secondsOf ({ retryAfter }: SheddingConfig): number {
  return Math.ceil(retryAfter / 1_000)
}
