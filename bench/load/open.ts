/**
 * An open loop: calls are sent at fixed times, whether or not earlier ones are answered. Each is counted from the time at which it was due, so
 * that what waits because a party stands still is counted too (coordinated omission).
 */
import { Agent, request } from 'node:http'
import { createHistogram } from 'node:perf_hooks'
import type { RecordableHistogram } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { built } from '../processes.js'
import type { Schedule, Tick } from './ticker.js'

export interface OpenLoad {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Calls per second. */
  readonly rate: number
  readonly seconds: number
  /** What every answer must bring, in bytes of its body. */
  readonly expected: number
}

export interface OpenResult {
  readonly calls: number
  readonly bad: number
  /** All in microseconds. Of the first piece of the body, and of its end. */
  readonly first: RecordableHistogram
  readonly whole: RecordableHistogram
  /** How late the generator itself sent: part of the two above. */
  readonly late: RecordableHistogram
}

/** Milliseconds after the last call was due; what is not answered by then is bad. */
const PATIENCE = 15_000

export async function openLoop ({ url, headers, body, rate, seconds, expected }: OpenLoad): Promise<OpenResult> {
  const [first, whole, late] = [createHistogram(), createHistogram(), createHistogram()]
  const calls = Math.max(1, Math.round(rate * seconds))
  const schedule: Schedule = { every: 1_000 / rate, calls }
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, noDelay: true })
  const ticker = new Worker(built('bench/load/ticker.js'), { workerData: schedule, execArgv: [] })
  const options = { method: 'POST', agent, headers: { ...headers, 'content-length': String(body.length) } }
  let bad = 0
  let left = calls
  await new Promise<void>((resolve, reject) => {
    const stuck = setTimeout(() => {
      bad += left
      resolve()
    }, seconds * 1_000 + PATIENCE)
    const done = (good: boolean): void => {
      if (!good) bad++
      if (--left > 0) return
      clearTimeout(stuck)
      resolve()
    }
    const send = (due: number): void => {
      record(late, due)
      const outgoing = request(url, options, response => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          if (bytes === 0) record(first, due)
          bytes += chunk.length
        })
        response.on('end', () => {
          record(whole, due)
          done(response.statusCode === 200 && bytes === expected)
        })
        response.on('error', () => { done(false) })
      })
      outgoing.on('error', () => { done(false) })
      outgoing.end(body)
    }
    let sent = 0
    ticker.on('message', ({ begin, due }: Tick) => { while (sent < due) send(begin + sent++ * schedule.every) })
    ticker.on('error', reject)
  }).finally(async () => {
    agent.destroy()
    await ticker.terminate()
  })
  return { calls, bad, first, whole, late }
}

const now = (): number => performance.timeOrigin + performance.now()

function record (histogram: RecordableHistogram, due: number): void {
  histogram.record(Math.max(1, Math.round((now() - due) * 1_000)))
}
