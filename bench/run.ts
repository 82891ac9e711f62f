/** One run: starts all processes, runs the cases one after another, and stops all processes. */
import { execFileSync } from 'node:child_process'
import { cpus, release } from 'node:os'
import { packageRoot } from '#config/paths.js'
import type { Bench } from './bench.js'
import { setUp } from './bench.js'
import { CASES } from './cases/all.js'
import { coresInUse, foreignCores } from './idle.js'
import { toolInstalled } from './load/closed.js'
import type { BenchOptions } from './options.js'
import { wantsCase, wantsWork } from './options.js'
import { KINDS } from './parties/all.js'
import type { NodePrograms } from './nodes.js'
import { nodeVersion, THIS_NODE } from './nodes.js'
import type { Party, Place } from './parties/party.js'
import type { Conditions, Measured, PartyInfo, Results } from './results.js'
import { VERSION } from './results.js'

export interface RunOptions extends Omit<BenchOptions, 'out'>, Partial<Pick<Bench, 'tool' | 'rate'>> {
  /** True to pin processes to cores where the system supports this. */
  readonly pin?: boolean
  /** Programs for the parties that run on Node. Default: that of this process. */
  readonly nodes?: NodePrograms
}

export async function run (options: RunOptions, say: (line: string) => void): Promise<Results> {
  const { only, rounds, seconds, quick, rate, pin = true, nodes = THIS_NODE, tool = toolInstalled() } = options
  const begin = performance.now()
  const loadBefore = await coresInUse()
  const others = foreignCores()
  const kinds = KINDS.filter(({ name }) => options.parties === null || options.parties.includes(name)).map(kind => ({
    kind,
    version: kind.version()
  }))
  const infos: PartyInfo[] = kinds.map(({ kind: { name, title }, version }) => ({ name, title, version }))
  const { place, tearDown } = await setUp({ pin, nodes })
  const parties: Party[] = []
  const measured: Measured[] = []
  let foreign = 0
  const bench: Bench = {
    place,
    tool,
    rounds,
    seconds,
    quick,
    rate,
    say,
    wants: (name, work, main) => wantsWork(options, name, work, main),
    mostly: (running, usual) => options.parties === null ? running.filter(({ name }) => usual.has(name)) : running
  }
  try {
    for (const { kind, version } of kinds) {
      if (version === null) say(`${kind.name} is not installed`)
      else parties.push(await kind.start(place))
    }
    for (const { name, about, run } of CASES) {
      if (wantsCase(only, name)) {
        measured.push(...(await run(bench, parties)).map(table => ({ case: name, about, ...table })))
      }
    }
  } finally {
    foreign = others()
    await Promise.all(parties.map(party => party.stop()))
    await tearDown()
  }
  return {
    version: VERSION,
    conditions: conditions(bench, place, { before: loadBefore, during: foreign }, (performance.now() - begin) / 1_000),
    parties: infos,
    measured: measured.map(rounded)
  }
}

function conditions (
  { tool, rounds, seconds }: Bench,
  { cores: pinned, nodes }: Place,
  foreign: { readonly before: number, readonly during: number },
  took: number
): Conditions {
  return {
    commit: commit(),
    at: new Date().toISOString(),
    node: nodeVersion(nodes.shipped),
    oldest: nodeVersion(nodes.oldest),
    kernel: release(),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    pinned,
    loadBefore: foreign.before,
    loadDuring: foreign.during,
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
