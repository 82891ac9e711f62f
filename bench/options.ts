/** Flags of the two commands. Errors in the flags are reported before any process starts. */
import { endWithSignals } from './processes.js'
import { parseArgs } from 'node:util'
import { CASES } from './cases/all.js'
import { KINDS } from './parties/all.js'

export interface BenchOptions {
  /** Names of cases, each alone or with a colon and a part of the name of its works. */
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

Measures this gateway and other proxies, in more than an hour; --only=core alone takes about 40 minutes. Run nothing else on the machine at the same time.

  --quick          2 rounds, fewer bodies and streams: about 8 minutes
  --only=CASE,...  these cases only. CASE:TEXT takes the works whose names contain TEXT: --only='bodies:1 MB of,latency'
  --parties=P,...  these parties only
  --rounds=N       default ${DEFAULTS.full.rounds}
  --seconds=S      of one measurement, default ${DEFAULTS.full.seconds}; wrk counts whole seconds
  --out=DIR        write RESULTS.md and results.json there

A complete run writes bench/RESULTS.md and bench/results.json, and starts only on an idle machine. A run with --quick, --only or --parties
starts on any machine and only prints its results.

Cases:
${CASES.map(({ name, about }) => `  ${name.padEnd(16)} ${about}`).join('\n')}

Parties:
${KINDS.map(({ name, title }) => `  ${name.padEnd(16)} ${title.replaceAll('`', '')}`).join('\n')}
`

/** @returns null when the flags request help */
export function benchOptions (args: readonly string[], ownDirectory: string): BenchOptions | null {
  const values = flags(args)
  if (values.help === true) return null
  const only = names(values.only, '--only', CASES.map(({ name }) => name), worksOf)
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

const NO_WORKS: readonly string[] = []
const worksOf = (name: string): readonly string[] => CASES.find(one => one.name === name)?.works ?? NO_WORKS

/** @param parts the possible parts of a name, which follow its colon */
function names (
  value: string | undefined,
  flag: string,
  known: readonly string[],
  parts: (name: string) => readonly string[] = () => NO_WORKS
): string[] | null {
  if (value === undefined) return null
  const wanted = value.split(',').map(name => name.trim())
  for (const one of wanted) {
    const [name = '', text] = split(one)
    if (!known.includes(name)) throw new UsageError(`${flag}: there is no "${name}"; choose of ${known.join(', ')}`)
    if (text !== null && !parts(name).some(part => contains(part, text))) {
      throw new UsageError(`${flag}: ${name} has no "${text}"${parts(name).length === 0 ? '' : `; choose of ${parts(name).join(', ')}`}`)
    }
  }
  return wanted
}

function split (one: string): [name: string, text: string | null] {
  const colon = one.indexOf(':')
  return colon < 0 ? [one, null] : [one.slice(0, colon), one.slice(colon + 1).trim()]
}

const contains = (work: string, text: string): boolean => work.toLowerCase().includes(text.toLowerCase())

/** @param only as in the options */
export function wantsCase (only: BenchOptions['only'], name: string): boolean {
  return only === null || only.some(one => split(one)[0] === name)
}

/**
 * A quick run takes only the main works of a case, unless the options name works.
 * @param main true for a work that carries a goal
 */
export function wantsWork ({ only, quick }: Pick<BenchOptions, 'only' | 'quick'>, name: string, work: string, main: boolean): boolean {
  const texts = (only ?? []).flatMap(one => split(one)[0] === name ? [split(one)[1]] : [])
  return texts.some(text => text !== null) ? texts.some(text => text !== null && contains(work, text)) : main || !quick
}

export function positive (value: string | undefined, flag: string): number | null {
  if (value === undefined) return null
  const number = Number(value)
  if (!(number > 0)) throw new UsageError(`${flag} must be a number above 0; it is "${value}"`)
  return number
}
