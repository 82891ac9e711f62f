/** One run: starts all processes, runs the cases one after another, and stops all processes. */
import { execFileSync } from 'node:child_process'
import { cpus, release } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../src/config/paths.js'
import type { Bench } from './bench.js'
import { setUp } from './bench.js'
import { CASES } from './cases/all.js'
import { toolInstalled } from './load/closed.js'
import type { BenchOptions } from './options.js'
import { KINDS } from './parties/all.js'
import type { Party } from './parties/party.js'
import type { Cores } from './processes.js'
import type { Conditions, Measured, PartyInfo, Results } from './results.js'

export interface RunOptions extends Omit<BenchOptions, 'out'>, Partial<Pick<Bench, 'tool' | 'rate'>> {
  /** True to pin processes to cores where the system supports this. */
  readonly pin?: boolean
}

export async function run (options: RunOptions, say: (line: string) => void): Promise<Results> {
  const { only, rounds, seconds, quick, rate, pin = true, tool = toolInstalled() } = options
  const begin = performance.now()
  const loadBefore = await coresInUse()
  const kinds = KINDS.filter(({ name }) => options.parties === null || options.parties.includes(name)).map(kind => ({
    kind,
    version: kind.version()
  }))
  const infos: PartyInfo[] = kinds.map(({ kind: { name, title }, version }) => ({ name, title, version }))
  const { place, tearDown } = await setUp({ pin })
  const parties: Party[] = []
  const measured: Measured[] = []
  const bench: Bench = { place, tool, rounds, seconds, quick, rate, say }
  try {
    for (const { kind, version } of kinds) {
      if (version === null) say(`${kind.name} is not installed`)
      else parties.push(await kind.start(place))
    }
    for (const { name, about, run } of CASES) {
      if (only === null || only.includes(name)) {
        measured.push(...(await run(bench, parties)).map(table => ({ case: name, about, ...table })))
      }
    }
  } finally {
    await Promise.all(parties.map(party => party.stop()))
    await tearDown()
  }
  return {
    version: 1,
    conditions: conditions(bench, place.cores, loadBefore, (performance.now() - begin) / 1_000),
    parties: infos,
    measured: measured.map(rounded)
  }
}

/**
 * Number of cores that other processes use now, measured over a second. The load average of the system would still include a build that has
 * just ended.
 */
async function coresInUse (): Promise<number> {
  const spent = (): { busy: number; all: number } =>
    cpus().reduce(
      ({ busy, all }, { times: { user, nice, sys, idle, irq } }) => ({
        busy: busy + user + nice + sys + irq,
        all: all + user + nice + sys + irq + idle
      }),
      { busy: 0, all: 0 }
    )
  const before = spent()
  await sleep(1_000)
  const after = spent()
  return (after.busy - before.busy) / (after.all - before.all) * cpus().length
}

function conditions ({ tool, rounds, seconds }: Bench, pinned: Cores | null, loadBefore: number, took: number): Conditions {
  return {
    commit: commit(),
    at: new Date().toISOString(),
    node: process.version,
    kernel: release(),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    pinned,
    loadBefore,
    tool,
    rounds,
    seconds,
    took: Math.round(took)
  }
}

/** Commit of the working tree, or `unknown` without git. */
function commit (): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: packageRoot(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+')
  } catch {
    return 'unknown'
  }
}

/** Rounds figures to six digits, which is more than the precision of any measurement here. */
function rounded (measured: Measured): Measured {
  return {
    ...measured,
    rows: measured.rows.map(row => ({
      ...row,
      samples: row.samples.map(sample =>
        Object.fromEntries(Object.entries(sample).map(([name, figure]) => [name, Number(figure.toPrecision(6))]))
      )
    }))
  }
}
