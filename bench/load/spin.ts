/**
 * Worker that does the same work again and again, and reports how long each repetition took and which share of its core it got. On an idle
 * machine all repetitions take the same time.
 */
import { parentPort, workerData } from 'node:worker_threads'

/** Figures of one thread. `slices`: milliseconds of each repetition. */
export interface Spin { readonly slices: readonly number[] }

const { milliseconds } = workerData as { readonly milliseconds: number }
/** About a millisecond of work. */
const STEPS = 400_000
const slices: number[] = []
let kept = 0
for (const end = performance.now() + milliseconds; performance.now() < end;) {
  const begin = performance.now()
  for (let i = 0; i < STEPS; i++) kept = (Math.imul(kept, 31) + i) | 0
  slices.push(performance.now() - begin)
}
// The first repetitions run before the loop is compiled.
parentPort?.postMessage({ slices: slices.slice(Math.floor(slices.length / 10)) } satisfies Spin)
if (kept === 1) console.error(kept)
