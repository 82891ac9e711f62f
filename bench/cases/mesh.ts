/** The two ways of using the gateway with Envoy, by the CPU of all processes together: Envoy asks the gateway, or forwards calls to it. */
import { SMALL } from '../agent/bodies.js'
import { HEADERS } from '../agent/calls.js'
import type { Case } from '../bench.js'
import { interleave, subjects } from '../bench.js'
import { envoyVersion } from '../parties/envoy.js'
import { startMesh } from '../parties/mesh.js'
import { settledSample, warm } from './closed.js'

const WORK = '400 B'
/** Few, because each call of Envoy and the gateway together takes several times as long as a call of one of them. */
const CONNECTIONS = 16
const WARM = { calls: 12_000, seconds: 8 }

export const MESH: Case = {
  name: 'mesh',
  about: `calls of 400 B through Envoy and the gateway, ${CONNECTIONS} connections; CPU of both processes, which share a core`,
  works: [WORK],
  run: async bench => {
    if (envoyVersion() === null) {
      bench.say('mesh: Envoy is not installed (docs/contributing/benchmarks.md)')
      return []
    }
    if (!bench.wants('mesh', WORK, true)) return []
    bench.say('mesh: starting 5 Envoys and 5 gateways')
    const parties = await startMesh(bench.place)
    try {
      const call = { headers: HEADERS, body: SMALL, connections: CONNECTIONS }
      bench.say('mesh: warming up')
      await warm(bench, parties, call, WARM.seconds, WARM.calls)
      return [{ work: WORK, rows: await interleave(bench, 'mesh', subjects(parties), party => settledSample(bench, party, call)) }]
    } finally {
      await Promise.all(parties.map(party => party.stop()))
    }
  }
}
