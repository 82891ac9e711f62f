/**
 * Reports if a change made the gateway slower. The script builds two commits beside each other and measures them in alternating turns, with
 * the benchmark of the working tree.
 *
 *     npm run bench:compare -- [COMMIT] [COMMIT] [--rounds N] [--seconds S] [--processes N] [--oldest] [--only TEXT,...]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Bench } from './bench.js'
import { setUp } from './bench.js'
import { VERSUS_WORKS, versus } from './cases/versus.js'
import { Builds, sides } from './commits.js'
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
  const begin = performance.now()
  const say = (line: string): void => { console.error(`${Math.round((performance.now() - begin) / 1_000)} s  ${line}`) }
  const builds = new Builds(directory, say)
  const nodes = await nodePrograms()
  const { place, tearDown } = await setUp({ nodes: values.oldest === true ? { shipped: nodes.oldest, oldest: nodes.oldest } : nodes })
  const bench: Bench = {
    place, tool: toolInstalled(), rounds, seconds, quick: false, say, wants: () => true, mostly: running => running
  }
  const parties: Party[][] = []
  const mains: string[] = []
  try {
    for (const [i, side] of [before, after].entries()) {
      const main = builds.build(side)
      const party: Party[] = []
      parties.push(party)
      mains.push(main)
      for (let k = 0; k < processes; k++) party.push({ ...await startGateway(place, { name: `side-${i}-${k}`, main }), name: side.name })
    }
    console.log(await versus(bench, parties[0] as Party[], parties[1] as Party[], mains as [string, string], wants))
    return 0
  } finally {
    await Promise.all(parties.flat().map(party => party.stop()))
    await tearDown()
    builds.remove()
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

await command(main)
