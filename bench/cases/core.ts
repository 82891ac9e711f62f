/**
 * The figures that users ask for, for each work: calls per core, the latency that a proxy adds, and its memory. Two processes of the same
 * code differ by up to 1.4, so each party has several processes, which take the rounds in turn, and the spread of the rounds shows it.
 */
import type { Work } from '../agent/bodies.js'
import { REAL_WORKS, WORKS } from '../agent/bodies.js'
import { ANSWER } from '../agent/calls.js'
import type { Bench, Case, Subject, Table } from '../bench.js'
import { inTurn, interleave } from '../bench.js'
import { CORE_OLDEST } from '../names.js'
import type { Party } from '../parties/party.js'
import { residentBytes } from '../processes.js'
import type { Sample } from '../results.js'
import { callOf, closedSample, settle, warm } from './closed.js'
import { startFresh } from './fresh.js'
import { fixedSample } from './latency.js'

/** Processes of each party on Node, rounds, and seconds of one measurement of throughput and of latency. */
const PROCESSES = 3
const SECONDS = 5
const LATENCY_SECONDS = 3

/**
 * Warm-up calls of each process, and the most seconds for them. On Node 24, the CPU time of a call of 400 B falls from 900 to 250 us during
 * the first 30,000 calls, on a slow machine (28 November 2026). Later works find most of the code compiled.
 */
const WARM = { first: { calls: 30_000, seconds: 20 }, later: { calls: 5_000, seconds: 5 } }

/** Longer than in other cases: three processes of each party take turns, so the pauses of a process are longer. */
const SETTLE_SECONDS = 4

/** Each work, with calls per second of the measurement of latency: a part of what all parties reach. */
const RATES: ReadonlyMap<string, number> = new Map([
  ['400 B', 1_000], ['50 kB of Markdown', 200], ['50 kB of JSON in a string', 200], ['50 kB of Chinese', 200], ['50 kB of data', 200], ['1 MB', 20]
])
/** The works of this case. No other case measures them for the same parties. */
export const isCoreWork = ({ name }: Work): boolean => RATES.has(name)
const CORE_WORKS: readonly Work[] = [...WORKS, ...REAL_WORKS].filter(isCoreWork)
const QUICK = new Set(['400 B', '50 kB of data'])

/** Parties on Node: the name of the row, and the party that is started, with the oldest version of Node or the one that ships. */
const ON_NODE: ReadonlyArray<readonly [row: string, party: string, isOldest: boolean]> = [
  ['gateway', 'gateway', false], [CORE_OLDEST, 'gateway', true], ['node-proxy', 'node-proxy', false], ['fastify-proxy', 'fastify-proxy', false]
]
/** Other parties, which have one process, and `direct`, which has none. */
const OTHERS = new Set(['direct', 'envoy-lua', 'nginx-njs'])

interface Processes { readonly all: readonly Party[], readonly next: () => Party }

const processesOf = (all: readonly Party[]): Processes => ({ all, next: inTurn(all) })

export const CORE: Case = {
  name: 'core',
  about: `calls per core, latency added by a proxy, and memory; ${PROCESSES} processes of each party on Node, rounds of ${SECONDS} s`,
  works: CORE_WORKS.map(({ name }) => name),
  run: async (bench, parties) => {
    const started: Party[] = []
    try {
      const subjects: Array<Subject<Processes>> = []
      for (const [row, party, isOldest] of ON_NODE) {
        if (!parties.some(({ name }) => name === party)) continue
        const all: Party[] = []
        for (let i = 0; i < (bench.quick ? 1 : PROCESSES); i++) {
          all.push(await startFresh(bench.place, party, `core-${started.length}`, isOldest ? { node: bench.place.nodes.oldest } : {}))
          started.push(all.at(-1) as Party)
        }
        subjects.push({ name: row, of: processesOf(all) })
      }
      for (const party of parties) if (OTHERS.has(party.name)) subjects.push({ name: party.name, of: processesOf([party]) })
      const tables: Table[] = []
      for (const work of CORE_WORKS.filter(({ name }) => bench.wants('core', name, QUICK.has(name)))) {
        tables.push(await measure(bench, work, subjects, tables.length === 0 ? WARM.first : WARM.later))
      }
      return tables
    } finally {
      await Promise.all(started.map(party => party.stop()))
    }
  }
}

async function measure (bench: Bench, work: Work, subjects: ReadonlyArray<Subject<Processes>>, warmUp: typeof WARM.first): Promise<Table> {
  const call = callOf(work)
  bench.say(`core, ${work.name}: warming up`)
  const short = { ...bench, seconds: Math.min(bench.seconds, 1) }
  await warm(short, subjects.flatMap(({ of }) => of.all), call, warmUp.seconds, warmUp.calls)
  const long = { ...bench, seconds: bench.quick ? bench.seconds : Math.max(bench.seconds, SECONDS) }
  const rounds = bench.quick ? bench.rounds : Math.max(bench.rounds, PROCESSES)
  const rate = bench.rate ?? RATES.get(work.name) as number
  const load = { headers: call.headers, body: call.body, rate, expected: ANSWER.length }
  const seconds = bench.quick ? bench.seconds : LATENCY_SECONDS
  const rows = await interleave(bench, `core, ${work.name}`, subjects, async processes => {
    const party = processes.next()
    const { pids } = party
    await settle(bench, party, call, SETTLE_SECONDS)
    const closed = pids.length === 0 ? {} : { ...await closedSample(long, party, call), resident: residentBytes(pids) }
    const { p50 = 0, p99 = 0 } = await fixedSample(bench, party, load, seconds, 'whole')
    return { ...closed, p50, p99 } satisfies Sample
  }, rounds)
  return { work: work.name, rows }
}
