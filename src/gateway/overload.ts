/**
 * Detects overload of the process. @fastify/under-pressure measures. Without limits of its own, that plugin adds no hook, so the check per
 * request is one boolean.
 */
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import type { SheddingConfig } from '../config/model/model.js'
import { fastify, NO_SCHEMAS } from '../framework.js'
import type { Log } from '../telemetry/log.js'

/** Interval of the measurements, ms. */
const INTERVAL = 1_000

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
  private app: FastifyInstance | null = null
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
  async watch (): Promise<void> {
    // The plugin decorates its app, so it gets one of its own, without a listener.
    const app = fastify({ schemaController: NO_SCHEMAS })
    this.app = app
    await app.register(underPressure, { sampleInterval: INTERVAL, eventLoopUtilizationMode: 'interval' })
    await app.ready()
    this.timer = setInterval(() => { this.take(app.memoryUsage() as Sample) }, INTERVAL).unref()
  }

  async close (): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer)
    this.timer = null
    await this.app?.close()
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

function secondsOf ({ retryAfter }: SheddingConfig): number {
  return Math.ceil(retryAfter / 1_000)
}
