/** Measures what a larger or different configuration costs: the gateway compared with itself under another configuration. */
import { SMALL, SMALL_STREAMING } from '../agent/bodies.js'
import { HEADERS, streamHeaders } from '../agent/calls.js'
import type { Bench, Case, Table } from '../bench.js'
import { interleave, subjects } from '../bench.js'
import { OBSERVED, UNREAD } from '../names.js'
import type { GatewayOptions } from '../parties/gateway.js'
import { startGateway } from '../parties/gateway.js'
import type { Party } from '../parties/party.js'
import type { Call } from './closed.js'
import { FEW, MANY, settledSample, warm } from './closed.js'

/**
 * No other case has warmed these gateways up. A call takes 104 to 122 us in the first 4 s, and 55 to 58 us from the 12th second on, after
 * 150,000 calls (29 November 2026). With 20,000 calls, the case measured how warm the processes were.
 */
const WARM = { calls: 150_000, seconds: 16 }

type Configurations = Readonly<Record<string, GatewayOptions>>

/** The first configuration is the baseline for the others. */
export const SIZES: Configurations = {
  'one agent': {},
  '100 agents': { agents: 100 },
  '1,000 agents': { agents: 1_000 },
  '1,000 rules on other agents': { otherRules: 1_000 },
  '1 policy more on the agent': { policies: 1 },
  '50 policies more on the agent': { policies: 50 },
  'schema of 10 nodes': { nodes: 10 },
  'schema of 1,000 nodes': { nodes: 1_000 }
}

export const SIZE: Case = {
  name: 'size',
  about: 'calls of 400 B with more agents, policies, rules of other agents, and larger schemas',
  works: ['400 B'],
  run: async bench =>
    await sideBySide(bench, 'size', '400 B', SIZES, { headers: HEADERS, body: SMALL, connections: MANY })
}

/**
 * The calls request an extension that the agent never reports as activated. The gateway therefore reads events for a proof of activation
 * until it finds one.
 */
export const READINGS: Configurations = {
  [UNREAD]: { responses: 'off' },
  'no rules, only proof of activation (responses: observe)': { responses: 'observe', nodes: 0 },
  [OBSERVED]: { responses: 'observe' },
  'object schemas enforced': { responses: 'enforce' }
}
const EVENTS = 500

export const READING: Case = {
  name: 'reading',
  about: `streams of ${EVENTS} events of 400 B, by the treatment of responses`,
  works: [`${EVENTS} events`],
  run: async bench =>
    await sideBySide(bench, 'reading', `${EVENTS} events`, READINGS, {
      headers: streamHeaders(`burst ${EVENTS}`),
      body: SMALL_STREAMING,
      connections: FEW
    })
}

export async function sideBySide (bench: Bench, name: string, work: string, configurations: Configurations, call: Call): Promise<Table[]> {
  const parties: Party[] = []
  try {
    bench.say(`${name}: starting ${Object.keys(configurations).length} gateways`)
    for (const [title, options] of Object.entries(configurations)) {
      parties.push({ ...(await startGateway(bench.place, { ...options, name: `${name}-${parties.length}` })), name: title })
    }
    if (bench.quick) await warm(bench, parties, call)
    else await warm(bench, parties, call, WARM.seconds, WARM.calls)
    return [{ work, rows: await interleave(bench, name, subjects(parties), party => settledSample(bench, party, call)) }]
  } finally {
    await Promise.all(parties.map(party => party.stop()))
  }
}
