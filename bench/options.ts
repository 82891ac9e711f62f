/** Flags of the two commands. Errors in the flags are reported before any process starts. */
import { endWithSignals } from './processes.js'
import { parseArgs } from 'node:util'
import { CASES } from './cases/all.js'
import { KINDS } from './parties/all.js'

export interface BenchOptions {
  readonly only: readonly string[] | null
  readonly parties: readonly string[] | null
  readonly rounds: number
  readonly seconds: number
  readonly quick: boolean
  /** Folder for RESULTS.md and results.json; `null`: the run writes no files. */
  readonly out: string | null
}

export class UsageError extends Error {}

/** Runs a command of this folder and exits with its code. The exit code for unusable flags is 2. */
export async function command (main: (args: string[]) => Promise<number>): Promise<void> {
  endWithSignals()
  try {
    process.exitCode = await main(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(error.message)
    process.exitCode = 2
  }
}

const DEFAULTS = { full: { rounds: 5, seconds: 1 }, quick: { rounds: 2, seconds: 1 } }

export const HELP = `npm run bench -- [flags]

Measures this gateway and other proxies, in about 12 minutes. Run nothing else on the machine at the same time.

  --quick          2 rounds, fewer bodies and streams: under 3 minutes
  --only=CASE,...  these cases only
  --parties=P,...  these parties only
  --rounds=N       default ${DEFAULTS.full.rounds}
  --seconds=S      of one measurement, default ${DEFAULTS.full.seconds}; wrk counts whole seconds
  --out=DIR        write RESULTS.md and results.json there

A complete run writes bench/RESULTS.md and bench/results.json. A run with --quick, --only or --parties only prints its results.

Cases:
${CASES.map(({ name, about }) => `  ${name.padEnd(16)} ${about}`).join('\n')}

Parties:
${KINDS.map(({ name, title }) => `  ${name.padEnd(16)} ${title.replaceAll('`', '')}`).join('\n')}
`

/** @returns null when the flags request help */
export function benchOptions (args: readonly string[], ownDirectory: string): BenchOptions | null {
  const values = flags(args)
  if (values.help === true) return null
  const only = names(values.only, '--only', CASES.map(({ name }) => name))
  const parties = names(values.parties, '--parties', KINDS.map(({ name }) => name))
  const quick = values.quick === true
  const { rounds, seconds } = quick ? DEFAULTS.quick : DEFAULTS.full
  return {
    only,
    parties,
    quick,
    rounds: Math.round(positive(values.rounds, '--rounds') ?? rounds),
    seconds: positive(values.seconds, '--seconds') ?? seconds,
    out: values.out ?? (quick || only !== null || parties !== null ? null : ownDirectory)
  }
}

function flags (args: readonly string[]): {
  quick?: boolean
  help?: boolean
  only?: string
  parties?: string
  rounds?: string
  seconds?: string
  out?: string
} {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        only: text,
        parties: text,
        rounds: text,
        seconds: text,
        out: text
      }
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function names (value: string | undefined, flag: string, known: readonly string[]): string[] | null {
  if (value === undefined) return null
  const wanted = value.split(',').map(name => name.trim())
  const unknown = wanted.find(name => !known.includes(name))
  if (unknown !== undefined) throw new UsageError(`${flag}: there is no "${unknown}"; choose of ${known.join(', ')}`)
  return wanted
}

export function positive (value: string | undefined, flag: string): number | null {
  if (value === undefined) return null
  const number = Number(value)
  if (!(number > 0)) throw new UsageError(`${flag} must be a number above 0; it is "${value}"`)
  return number
}
