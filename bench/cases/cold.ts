import type { Bench, Case } from '../bench.js'
import { interleave } from '../bench.js'
import { COLD, COLD_CALLS, WARM, WARMING_CALLS } from '../names.js'
import type { Party } from '../parties/party.js'
import type { Sample } from '../results.js'
import { MANY, closedSample } from './closed.js'
import { startFresh } from './fresh.js'
import { CALLS, RATE, fixedSample } from './latency.js'

/** Seconds after which a slow party is measured with fewer calls. */
const PATIENCE = 12
const STARTED = new Set(['gateway', 'node-proxy'])

/**
 * Each round starts new processes. `direct` has no process of its own: its figures are those of the generator and the agent, which are warm
 * all the time.
 */
export const COLD_AND_WARM: Case = {
  name: 'cold',
  about: `time of a call of 400 B at ${RATE} calls per second, in a process that has just started and later in the same process`,
  works: [COLD, WARM],
  run: async (bench, parties) => {
    const subjects = parties.flatMap(party => party.name === 'direct' || STARTED.has(party.name) ? [{ name: party.name, of: party }] : [])
    const direct = subjects.find(({ name }) => name === 'direct')
    bench.say('cold: warming up the generator')
    if (direct !== undefined) await coldAndWarm(bench, direct.of)
    const rows = await interleave(bench, 'cold', subjects, async running => {
      if (running === direct?.of) return await coldAndWarm(bench, running)
      const party = await startFresh(bench.place, running.name, 'cold')
      try {
        return await coldAndWarm(bench, party)
      } finally {
        await party.stop()
      }
    })
    return ['cold', 'warm'].map(phase => ({
      work: phase === 'cold' ? COLD : WARM,
      rows: rows.map(row => ({ ...row, samples: row.samples.map(sample => ofPhase(sample, phase)) }))
    }))
  }
}

/** @returns the figures of both phases, each with the name of its phase in front */
async function coldAndWarm (bench: Bench, party: Party): Promise<Sample> {
  const short = Math.min(1, bench.seconds)
  const sample = (): Promise<Sample> => fixedSample(bench, party, CALLS, COLD_CALLS / RATE * short, 'whole')
  const cold = await sample()
  for (let calls = 0, end = Date.now() + PATIENCE * 1_000 * short; calls < WARMING_CALLS && Date.now() < end;) {
    calls += ((await closedSample(bench, party, { ...CALLS, connections: MANY })).perSecond ?? 0) * bench.seconds
  }
  return { ...named('cold', cold), ...named('warm', await sample()) }
}

const named = (phase: string, sample: Sample): Sample =>
  Object.fromEntries(Object.entries(sample).map(([measure, figure]) => [`${phase} ${measure}`, figure]))

const ofPhase = (sample: Sample, phase: string): Sample =>
  Object.fromEntries(Object.entries(sample).flatMap(([measure, figure]) =>
    measure.startsWith(`${phase} `) ? [[measure.slice(phase.length + 1), figure]] : []
  ))
