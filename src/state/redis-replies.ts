/** Waits for replies of a Redis or Valkey server, never longer than a timeout, and handles errors of the server. */
import type { Client, RedisConnection, StoreLog } from './redis-connection.js'
import { reasonOf } from './redis-connection.js'

/** Server errors that another connection may not have: a replica that was the primary, or a server that is starting. */
const ELSEWHERE: ReadonlySet<string> = new Set(['READONLY', 'MASTERDOWN', 'LOADING', 'NOAUTH'])
/** Minimum time between two log lines about a server that rejects commands, ms. */
const REJECTIONS = 60_000

export interface ReplyOptions {
  /** Milliseconds. */
  readonly timeout: number
  readonly log: StoreLog
  /** Log line about commands that the server rejects. */
  readonly rejection: string
}

export class RedisReplies {
  private readonly connection: RedisConnection
  private readonly options: ReplyOptions
  private rejected = Number.NEGATIVE_INFINITY
  /** Time of the last reply, on the clock of `performance.now`. */
  private heard = 0

  constructor (connection: RedisConnection, options: ReplyOptions) {
    this.connection = connection
    this.options = options
  }

  /**
   * @param replies to commands that were just sent
   * @returns null when the server rejects a command, the connection is lost, or the timeout has passed
   */
  within<T> (client: Client, replies: Promise<T>): Promise<T | null> {
    return new Promise(resolve => {
      const sent = performance.now()
      let done = false
      // When the process itself was busy, the reply may have arrived and only has to be read.
      const timer = setTimeout(() => setImmediate(() => {
        resolve(null)
        if (!done && this.heard <= sent) this.connection.drop(client, 'TIMEOUT')
      }), this.options.timeout)
      replies.then(resolve, (error: unknown) => {
        this.failed(client, error)
        resolve(null)
      }).finally(() => {
        done = true
        this.heard = performance.now()
        clearTimeout(timer)
      })
    })
  }

  private failed (client: Client, error: unknown): void {
    const reason = reasonOf(error)
    if (ELSEWHERE.has(reason)) return this.connection.drop(client, reason)
    const { ready, settling } = this.connection
    if (client !== ready && client !== settling) return
    const now = performance.now()
    if (now - this.rejected < REJECTIONS) return
    this.rejected = now
    this.options.log.warn({ reason }, this.options.rejection)
  }
}
