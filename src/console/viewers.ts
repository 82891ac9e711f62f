/** The live tail of decisions as server-sent events: one poll for new entries per viewer and tick, and none without viewers. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listenOnce, ownerOf } from '#guard.js'
import type { DecisionFilter } from './filter.js'
import type { ConsoleSource, Cursor } from './source.js'

/** Largest number of viewers at once. A further page has to retry later. */
export const VIEWERS = 8
/**
 * Largest number of buffered bytes for a slow viewer. Beyond it the gateway drops the viewer. The page connects again and shows how many
 * entries it missed.
 */
const BACKLOG = 1024 * 1024
/** Time between two polls, ms. */
const TICK = 500
/** Time without new entries, ms, after which a comment keeps the connection alive. */
const HEARTBEAT = 10_000

export class Viewers {
  private readonly source: Pick<ConsoleSource, 'decisions'>
  private readonly all = new Set<ServerResponse>()
  private closed = false

  constructor (source: Pick<ConsoleSource, 'decisions'>) {
    this.source = source
  }

  get count (): number {
    return this.all.size
  }

  get full (): boolean {
    return this.all.size >= VIEWERS
  }

  /**
   * Serves a viewer until the viewer disconnects or is too slow, or the gateway stops.
   * @param response response whose head has not been written
   * @param filter null for all decisions
   */
  async serve (response: ServerResponse, filter: DecisionFilter | null): Promise<void> {
    if (this.closed) return response.destroy() as unknown as void
    this.all.add(response)
    listenOnce(ownerOf('admin', () => { response.destroy() }), response, 'close', () => { this.all.delete(response) })
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    response.write('retry: 2000\n\n')
    let cursor: Cursor = new Map()
    let quiet = 0
    let first = true
    while (this.all.has(response)) {
      const { entries, missed, cursor: next } = await this.source.decisions(cursor, filter)
      if (!this.all.has(response)) return
      cursor = next
      quiet += TICK
      // The page waits for the first event, to tell an empty result from a slow one.
      if (first || entries.length > 0 || missed > 0) this.write(response, `data: ${JSON.stringify({ missed, entries })}\n\n`)
      else if (quiet >= HEARTBEAT) this.write(response, ': still here\n\n')
      else {
        await sleep(TICK, undefined, { ref: false })
        continue
      }
      first = false
      quiet = 0
      await sleep(TICK, undefined, { ref: false })
    }
  }

  close (): void {
    this.closed = true
    for (const response of this.all) response.end()
    this.all.clear()
  }

  private write (response: ServerResponse, text: string): void {
    response.write(text)
    if (response.writableLength <= BACKLOG) return
    this.all.delete(response)
    response.destroy()
  }
}
