/**
 * Reports if a change made the gateway slower. The script builds two commits beside each other and measures them in alternating turns, with
 * the benchmark of the working tree.
 *
 *     npm run bench:compare -- [COMMIT] [COMMIT] [--rounds N] [--seconds S] [--processes N] [--oldest] [--only TEXT,...]
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '#config/paths.js'
import type { Bench } from './bench.js'
import { setUp } from './bench.js'
import { VERSUS_WORKS, versus } from './cases/versus.js'
import { toolInstalled } from './load/closed.js'
import { nodePrograms } from './nodes.js'
import { UsageError, command, positive } from './options.js'
import { startGateway } from './parties/gateway.js'
import type { Party } from './parties/party.js'

const HELP = `npm run bench:compare -- [COMMIT] [COMMIT] [--rounds=N] [--seconds=S] [--processes=N] [--oldest] [--only=TEXT,...]

Builds both commits in temporary worktrees, measures their gateways alternately, and prints how the second compares with the first.
With one commit the second is the working tree. With none the working tree is compared with HEAD, or HEAD with its parent where nothing is changed.
The dependencies of the working tree are used for both. Each side has 3 processes, which take the rounds in turn, on the version of Node
that the container image ships; with --oldest, on the oldest supported one. --only takes the works whose names contain one of the texts:
${VERSUS_WORKS.map(work => `  ${work}`).join('\n')}
`

/** A gateway to build. Without a commit: the working tree with its current build. */
interface Side { readonly name: string, readonly commit: string | null }

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: packageRoot(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

async function main (args: readonly string[]): Promise<number> {
  const { values, positionals } = parsed(args)
  if (values.help === true) {
    console.log(HELP)
    return 0
  }
  const rounds = Math.round(positive(values.rounds, '--rounds') ?? 10)
  const seconds = positive(values.seconds, '--seconds') ?? 1
  const processes = Math.round(positive(values.processes, '--processes') ?? 3)
  const texts = values.only?.split(',').map(text => text.trim().toLowerCase())
  const wants = (work: string): boolean => texts === undefined || texts.some(text => work.toLowerCase().includes(text))
  if (!VERSUS_WORKS.some(wants)) throw new UsageError(`--only: no work contains this; choose of ${VERSUS_WORKS.join(', ')}`)
  const [before, after] = sides(positionals)
  const directory = mkdtempSync(join(tmpdir(), 'a2a-compare-'))
  const worktrees: string[] = []
  const begin = performance.now()
  const say = (line: string): void => { console.error(`${Math.round((performance.now() - begin) / 1_000)} s  ${line}`) }
  const nodes = await nodePrograms()
  const { place, tearDown } = await setUp({ nodes: values.oldest === true ? { shipped: nodes.oldest, oldest: nodes.oldest } : nodes })
  const bench: Bench = {
    place, tool: toolInstalled(), rounds, seconds, quick: false, say, wants: () => true, mostly: running => running
  }
  const parties: Party[][] = []
  try {
    for (const [i, side] of [before, after].entries()) {
      say(`building ${side.name}`)
      const main =
        side.commit === null ? join(packageRoot(), 'dist/src/main.js') : build(side.commit, join(directory, String(i)), worktrees, say)
      const party: Party[] = []
      parties.push(party)
      for (let k = 0; k < processes; k++) party.push({ ...await startGateway(place, { name: `side-${i}-${k}`, main }), name: side.name })
    }
    console.log(await versus(bench, parties[0] as Party[], parties[1] as Party[], wants))
    return 0
  } finally {
    await Promise.all(parties.flat().map(party => party.stop()))
    await tearDown()
    for (const worktree of worktrees) git('worktree', 'remove', '--force', worktree)
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Parsed {
  readonly values: {
    readonly rounds?: string
    readonly seconds?: string
    readonly processes?: string
    readonly oldest?: boolean
    readonly only?: string
    readonly help?: boolean
  }
  readonly positionals: string[]
}

function parsed (args: readonly string[]): Parsed {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        processes: { type: 'string' },
        oldest: { type: 'boolean' },
        only: { type: 'string' },
        help: { type: 'boolean', short: 'h' }
      }
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

const TREE: Side = { name: 'working tree', commit: null }

function sides (named: readonly string[]): [Side, Side] {
  const [first, second, third] = named
  if (third !== undefined) throw new UsageError('two commits at the most')
  if (second !== undefined) return [sideOf(first as string), sideOf(second)]
  if (first !== undefined) return [sideOf(first), TREE]
  return git('status', '--porcelain', '--untracked-files=no') === '' ? [sideOf('HEAD~1'), sideOf('HEAD')] : [sideOf('HEAD'), TREE]
}

function sideOf (name: string): Side {
  try {
    const commit = git('rev-parse', '--verify', '--quiet', `${name}^{commit}`)
    return { name: `${commit.slice(0, 9)} ${git('log', '-1', '--format=%s', commit)}`, commit }
  } catch {
    throw new UsageError(`there is no commit "${name}"`)
  }
}

/** @returns the path of the built main.js */
function build (commit: string, directory: string, worktrees: string[], say: (line: string) => void): string {
  const root = packageRoot()
  git('worktree', 'add', '--detach', '--force', directory, commit)
  worktrees.push(directory)
  if (readFileSync(join(directory, 'package-lock.json'), 'utf8') !== readFileSync(join(root, 'package-lock.json'), 'utf8')) {
    say(`${commit.slice(0, 9)} has other dependencies; it is measured with those of the working tree`)
  }
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  if (!existsSync(join(directory, 'tsconfig.build.json'))) {
    copyFileSync(join(root, 'tsconfig.build.json'), join(directory, 'tsconfig.build.json'))
  }
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--noCheck'], {
    cwd: directory,
    stdio: 'inherit'
  })
  // Generates the validators that are compiled ahead: this is a part of the build, and the measurement of the start depends on it.
  const generate = join(directory, 'dist/scripts/generate.js')
  if (existsSync(generate)) execFileSync(process.execPath, [generate], { cwd: directory, stdio: 'inherit' })
  return join(directory, 'dist/src/main.js')
}

await command(main)
