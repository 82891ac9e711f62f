import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { setFlagsFromString } from 'node:v8'

/**
 * Sets the V8 flags of the gateway. Called before the code of the gateway is loaded, because a V8 code cache (bundled.ts) is valid only
 * under the flags that it was made with.
 */
export function setEngineFlags (): void {
  // V8 counts objects that survive one collection of a busy start as long-lived. It then allocates similar objects directly in old space,
  // where each object keeps alive whatever it references. Collections then copy a third of what a request allocated (measured at 400 B: 280
  // us of CPU per call, 230 with this flag).
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A full collection counts the bodies in flight as long-lived. V8 starts the next full collection as soon as the heap has grown by a
  // small amount, and these bodies alone are often that amount (measured at 1 MB: 7 full collections per second and 4.0 ms of CPU per call;
  // almost none and 2.6 ms with this flag).
  setFlagsFromString('--heap-growing-percent=200')
  // The main thread waits for the threads that share a young collection with it. On a core that these threads share with the main thread,
  // the wait costs more than the shared work saves (measured on one core: 1 MB 1,410 to 1,230 us of CPU per call, 400 B no difference).
  setFlagsFromString('--no-parallel-scavenge')
}

/** Added to the priority of V8's own threads, as of nice(2): the main thread gets nine of ten time slices that both want. */
const BACKGROUND = 10

/**
 * Gives V8's threads, which optimize code and mark garbage, a lower priority than the main thread. A new process optimizes for some
 * thousand calls. On a single core, these calls would wait for their own optimization (measured at 1,000 calls per second: p99 65 ms,
 * 21 ms with this; no difference once everything is optimized). Linux only: elsewhere, threads have no priority of their own. Called
 * before other threads exist.
 */
export function lowerPriorityOfEngineThreads (): void {
  if (process.platform !== 'linux') return
  try {
    const background = Math.min(getPriority() + BACKGROUND, constants.priority.PRIORITY_LOW)
    for (const thread of readdirSync('/proc/self/task')) {
      if (Number(thread) !== process.pid) setPriority(Number(thread), background)
    }
  } catch {
    // Without /proc, or when the system forbids the call, the threads keep their priority: only the first seconds are slower.
  }
}
