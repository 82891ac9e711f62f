import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { setFlagsFromString } from 'node:v8'

const V8_VERSION = Number.parseFloat(process.versions.v8)

/**
 * Sets the V8 flags of the gateway. Call this function before the code of the gateway is loaded: a V8 code cache (bundled.ts) is valid
 * only under the flags that it was made with. The figures are CPU times per call with Node 24, as multiples of those without the flag, on a
 * quiet machine (29 November 2026).
 */
export function setEngineFlags (): void {
  // V8 takes objects that survive one collection of a busy start for long-lived objects. It then allocates similar objects directly in old
  // space, where each object keeps alive whatever it references. 400 B: 0.89. 50 kB of Markdown: 0.91. 1 MB: 0.95.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // V8 of Node 24 starts a full collection after each 64 MB of external memory, and bodies are external memory. With this flag, the memory
  // of bodies counts like other memory, and young collections free it. 1 MB: 0.65. 400 B: no difference. V8 of Node 22 has no such flag.
  if (V8_VERSION >= 13) setFlagsFromString('--external-memory-accounted-in-global-limit')
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
