import { SMALL } from '../agent/bodies.js'
import { HEADERS } from '../agent/calls.js'
import type { Bench, Case } from '../bench.js'
import { interleave } from '../bench.js'
import { ALONE, STREAMS, WITH_STREAMS } from '../names.js'
import type { Party } from '../parties/party.js'
import { until } from '../processes.js'
import type { Sample } from '../results.js'
import type { Call } from './closed.js'
import { MANY, agentStats, settledSample, warm } from './closed.js'
import { startFresh } from './fresh.js'
import { openStreams } from './memory.js'

const PARTIES = ['gateway', 'node-proxy']

const CALL: Call = { headers: HEADERS, body: SMALL, connections: MANY }

/** Each party is compared with itself, in turns: streams of other clients are open and quiet, or there are none. */
export const CROWDED: Case = {
  name: 'crowded',
  about: `calls of 400 B while ${STREAMS} streams are open, ${MANY} connections`,
  works: PARTIES,
  run: async (bench, parties) => {
    const names = PARTIES.filter(name => parties.some(one => one.name === name) && bench.wants('crowded', name, true))
    const started: Party[] = []
    try {
      for (const name of names) started.push(await startFresh(bench.place, name, 'crowded'))
      bench.say('crowded: warming up')
      await warm(bench, started, CALL)
      const subjects = started.flatMap((party, i) =>
        [0, STREAMS].map(streams => ({ name: `${names[i] ?? ''}, ${streams} streams`, of: { party, streams } }))
      )
      const rows = await interleave(bench, 'crowded', subjects, ({ party, streams }) => withStreams(bench, party, streams))
      return names.map((work, i) => ({
        work,
        rows: rows.slice(2 * i, 2 * i + 2).map((row, j) => ({ ...row, party: j === 0 ? ALONE : WITH_STREAMS }))
      }))
    } finally {
      await Promise.all(started.map(party => party.stop()))
    }
  }
}

async function withStreams (bench: Bench, party: Party, streams: number): Promise<Sample> {
  const held = await openStreams(party, streams)
  try {
    return await settledSample(bench, party, CALL)
  } finally {
    await held.close()
    // Closing them is work for the party, which must not fall into the next measurement.
    await until(async () => (await agentStats(bench.place)).streams === 0, 'the agent has no open stream')
  }
}
