/** Fuzzes one target in a thread, and shows the current input, so that the main thread can detect when this thread no longer reacts. */
import { parentPort, workerData } from 'node:worker_threads'
import { Coverage } from './engine/coverage.js'
import { clearInputs, readInputs, saveInput } from './engine/files.js'
import { fuzz } from './engine/fuzz.js'
import type { Progress } from './engine/fuzz.js'
import { smallestCover } from './engine/minimise.js'
import type { Finding } from './engine/target.js'
import { TARGETS } from './targets/index.js'

export interface Job {
  readonly name: string
  readonly seconds: number
  readonly seed: number
  readonly shared: SharedArrayBuffer
  readonly keepCorpus: boolean
}
export interface Done extends Progress { readonly perSecond: number, readonly found: readonly Finding[] }

/** Layout of the shared memory: two counters, and from INPUT on the bytes of the current input. */
export const HEARTBEAT = 0
export const LENGTH = 1
export const INPUT = 8
export const ROOM = 1 << 20

const REPORT_MS = 10_000

if (parentPort !== null) {
  const { name, seconds, seed, shared, keepCorpus } = workerData as Job
  const header = new Int32Array(shared, 0, 2)
  const input = new Uint8Array(shared, INPUT)
  const own = (url: string): boolean => url.includes('/dist/src/')
  const coverage = new Coverage(own)
  const target = await (TARGETS[name] as NonNullable<typeof TARGETS[string]>)()
  const before = (bytes: Buffer): void => {
    input.set(bytes.subarray(0, ROOM))
    Atomics.store(header, LENGTH, Math.min(bytes.length, ROOM))
    Atomics.add(header, HEARTBEAT, 1)
  }
  const begin = Date.now()
  let reported = begin
  const perSecond = ({ executions }: Progress): number => Math.round(executions / Math.max(1, Date.now() - begin) * 1000)
  const corpus = [...readInputs('regressions', name), ...readInputs('corpus', name)].map(({ bytes }) => bytes)
  const { found, kept, ...progress } = fuzz(target, {
    seed,
    corpus,
    coverage,
    before,
    done: now => {
      if (Date.now() - reported >= REPORT_MS) {
        reported = Date.now()
        parentPort?.postMessage({ ...now, perSecond: perSecond(now) })
      }
      return Date.now() - begin >= seconds * 1000
    }
  })
  if (keepCorpus) {
    clearInputs('corpus', name)
    coverage.stop()
    for (const bytes of smallestCover(target, kept, new Coverage(own))) saveInput('corpus', name, bytes)
  }
  const done: Done = { ...progress, perSecond: perSecond(progress), found }
  parentPort.postMessage(done)
}
