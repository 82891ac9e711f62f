/** What `external` costs: a call with a decision of a policy server on this machine, remembered or asked for each call. */
import { SMALL } from '../agent/bodies.js'
import { HEADERS } from '../agent/calls.js'
import type { Case } from '../bench.js'
import { built, listening, start, stop } from '../processes.js'
import { sideBySide } from './configurations.js'
import { MANY } from './closed.js'

const WORK = '400 B'

export const DECISIONS: Case = {
  name: 'decisions',
  about: 'calls of 400 B without a policy server, with its remembered answers, and with a question about each call',
  works: [WORK],
  run: async bench => {
    const server = start(process.execPath, [built('bench/agent/policy-server.js')], { cores: bench.place.cores?.load })
    try {
      const { url } = await listening(server, 'the policy server')
      const point = { url: `${url}/access/v1/evaluation`, timeout: '10s' }
      return await sideBySide(bench, 'decisions', WORK, {
        'no decision': {},
        'a remembered answer': { decisionPoint: { ...point, cache: { ttl: '1h' } } },
        'a question for each call': { decisionPoint: point }
      }, { headers: HEADERS, body: SMALL, connections: MANY })
    } finally {
      await stop(server)
    }
  }
}
