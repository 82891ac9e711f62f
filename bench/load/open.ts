/**
 * An open loop: the generator sends calls at fixed times, even when earlier calls have no response yet. The time of each call counts from
 * its scheduled time. The figures therefore include the delay of calls that wait because a party stands still (coordinated omission).
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
  /** Size of the body that every response must have, in bytes. */
  readonly expected: number
}

export interface OpenResult {
  readonly calls: number
  readonly bad: number
  /** Times in microseconds: `first` until the first chunk of the body, and `whole` until the end of the body. */
  readonly first: RecordableHistogram
  readonly whole: RecordableHistogram
  /** Delay of the generator itself in microseconds. The two times above include this delay. */
  readonly late: RecordableHistogram
}

/** Milliseconds after the last scheduled call. A call without a response by then counts as bad. */
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
