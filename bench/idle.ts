/**
 * Checks that nothing else uses the machine. Ratios of parties that take turns survive some foreign load, but times and the parties with
 * several threads do not, so the page comes only from an idle machine.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Spin } from './load/spin.js'
import { built, family, lifetimeCpuSeconds } from './processes.js'
import { quantile } from './statistics.js'

export interface Idleness {
  /** Mean number of runnable processes over the last minute. */
  readonly load: number
  /** Cores that other processes used during a second. */
  readonly inUse: number
  /**
   * How much longer than the fastest one a repetition of the same work took, on all cores at once: the 90th percentile divided by the
   * minimum. This also shows a host that gives the machine less than whole cores.
   */
  readonly unevenness: number
}

/** Above these, the machine is not idle. A build that has just ended is still a part of the load average for a minute or two. */
export const IDLE_LIMITS: Idleness = { load: 0.5, inUse: 0.25, unevenness: 1.3 }

const WORDS: Readonly<Record<keyof Idleness, (found: number, limit: number) => string>> = {
  load: (found, limit) => `the load average over the last minute is ${found.toFixed(2)}; at most ${limit}`,
  inUse: (found, limit) => `other processes use ${found.toFixed(2)} cores; at most ${limit}`,
  unevenness: (found, limit) => `the same work takes ${found.toFixed(2)} times as long as at its fastest; at most ${limit} times`
}

/** @returns reasons why the machine is not idle, in words */
export function reasons (found: Idleness, limits = IDLE_LIMITS): string[] {
  return (Object.keys(WORDS) as Array<keyof Idleness>).flatMap(key => found[key] > limits[key] ? [WORDS[key](found[key], limits[key])] : [])
}

/**
 * Waits until the machine is idle, or gives up.
 * @param say reports why the wait goes on
 * @returns null when the machine is idle; otherwise the last reasons
 */
export async function waitUntilIdle (
  say: (line: string) => void,
  { patience = 180_000, pause = 5_000, look = idleness }: { patience?: number, pause?: number, look?: () => Promise<Idleness> } = {}
): Promise<readonly string[] | null> {
  for (const end = Date.now() + patience; ; await sleep(pause)) {
    const found = reasons(await look())
    if (found.length === 0) return null
    if (Date.now() >= end) return found
    say(`waiting for an idle machine: ${found.join(', ')}`)
  }
}

/** @returns the message for a run that does not start */
export function notStarted (busy: readonly string[]): string {
  return [
    'The run does not start, because its results are written to files and the machine is not idle:',
    ...busy.map(reason => `- ${reason}`),
    'End the other work and start again. With --quick, --only or --parties the benchmark measures on a busy machine too, but only prints.'
  ].join('\n')
}

export async function idleness (): Promise<Idleness> {
  const found = { load: loadavg()[0] ?? 0, inUse: await coresInUse(), unevenness: 1 }
  // Spinning would itself keep a load average up that is still falling.
  return reasons(found).length > 0 ? found : { ...found, unevenness: await unevenness() }
}

const SPIN_MILLISECONDS = 500

async function unevenness (): Promise<number> {
  const workerData = { milliseconds: SPIN_MILLISECONDS }
  const workers = cpus().map(() => new Worker(built('bench/load/spin.js'), { workerData, execArgv: [] }))
  const spins = await Promise.all(workers.map(async worker => (await once(worker, 'message') as [Spin])[0]))
  return Math.max(...spins.map(({ slices }) => quantile(slices, 0.9) / quantile(slices, 0)))
}

/**
 * Number of cores that other processes use now, measured over a second. The load average of the system would still include a build that has
 * just ended.
 */
export async function coresInUse (): Promise<number> {
  const others = foreignCores()
  await sleep(1_000)
  return others()
}

/** @returns a function that tells how many cores all processes except this one and its children have used since, in the mean */
export function foreignCores (): () => number {
  const spent = (): { foreign: number, at: number } => {
    // Not `steal`: the host's load shows as uneven times. Interrupts belong to nobody, and are mostly caused by the benchmark itself.
    const [user = 0, nice = 0, system = 0] = (/^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? '').split(' ').map(Number)
    return { foreign: (user + nice + system) / 100 - lifetimeCpuSeconds(family(process.pid)), at: performance.now() }
  }
  const before = spent()
  return () => {
    const { foreign, at } = spent()
    return Math.max(0, (foreign - before.foreign) / (at - before.at) * 1_000)
  }
}
