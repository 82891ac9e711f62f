/**
 * `npm run outcomes -- [COMMIT] [COMMIT]` shows whether a change keeps every outcome. The command builds two commits, sends the same
 * requests to both gateways, and compares byte by byte: the response to the client, the request that the agent got, the audit lines, and
 * the output of `explain`. The requests and responses are those of the differential corpora, and of the hostile scenarios that need no
 * configuration of their own. With one commit, the second is the working tree.
 *
 * The exit code is 1 when an outcome differs. Dates, ports, durations and random ids are replaced before the comparison.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Builds, sides } from '../../bench/commits.js'
import { UsageError, command } from '../../bench/options.js'
import { differences } from './differences.js'
import { outcomesOf, workload } from './run.js'
import type { Outcome } from './differences.js'

const HELP = `npm run outcomes -- [COMMIT] [COMMIT] [--all]

Compares the outcomes of two builds on the differential and hostile corpora. --all prints every difference, instead of the first ten.
`
const SHOWN = 10
const LONGEST = 600

async function main (args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(HELP)
    return 0
  }
  const unknown = args.find(one => one.startsWith('-') && one !== '--all')
  if (unknown !== undefined) throw new UsageError(`unknown flag ${unknown}\n\n${HELP}`)
  const pair = sides(args.filter(one => one !== '--all'))
  const directory = mkdtempSync(join(tmpdir(), 'a2a-outcomes-'))
  const builds = new Builds(directory, line => { console.error(line) })
  try {
    const requests = workload()
    const [before, after] = pair.map(side => builds.build(side)) as [string, string]
    const all = [await outcomesOf(before, requests, directory), await outcomesOf(after, requests, directory)] as const
    return report(all[0], all[1], args.includes('--all'))
  } finally {
    builds.remove()
    rmSync(directory, { recursive: true, force: true })
  }
}

function report (before: readonly Outcome[], after: readonly Outcome[], all: boolean): number {
  const found = differences(before, after)
  for (const { name, fact, values: [old, now] } of found.slice(0, all ? Infinity : SHOWN)) {
    console.log(`${name}: ${fact}\n  before: ${cut(old)}\n  after:  ${cut(now)}`)
  }
  const kinds = new Map<string, number>()
  for (const { facts: { status } } of before) if (status !== undefined) kinds.set(status, (kinds.get(status) ?? 0) + 1)
  const counts = [...kinds].map(([status, count]) => `${status}: ${count}`).join(', ')
  console.log(`${before.length} outcomes (${counts}), ${found.length} differences`)
  return found.length > 0 ? 1 : 0
}

const cut = (text = 'nothing'): string => text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text

await command(main)
