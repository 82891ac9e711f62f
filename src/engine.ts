import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

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
