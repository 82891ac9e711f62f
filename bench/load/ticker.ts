/**
 * Worker that wakes the generator at each scheduled time. `Atomics.wait` sleeps with a precision of about 50 µs, but timers of the event
 * loop have a precision of milliseconds.
 */
import { parentPort, workerData } from 'node:worker_threads'

export interface Schedule {
  /** Milliseconds between two calls. */
  readonly every: number
  readonly calls: number
}

/** Reports that the first `due` calls are due by now. The first call was due at `begin`, in milliseconds since 1970. */
export interface Tick { readonly begin: number, readonly due: number }

const { every, calls } = workerData as Schedule
const nobody = new Int32Array(new SharedArrayBuffer(4))
const now = (): number => performance.timeOrigin + performance.now()
const begin = now() + every
for (let sent = 0; sent < calls;) {
  const wait = begin + sent * every - now()
  if (wait > 0) Atomics.wait(nobody, 0, 0, wait)
  const due = Math.min(calls, Math.floor((now() - begin) / every) + 1)
  if (due <= sent) continue
  sent = due
  parentPort?.postMessage({ begin, due } satisfies Tick)
}
