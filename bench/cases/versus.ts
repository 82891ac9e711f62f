/** Compares two gateways with the same configuration, in alternating turns. */
import { REAL_WORKS, SMALL, SMALL_STREAMING, WORKS } from '../agent/bodies.js'
import { ANSWER, HEADERS, streamHeaders } from '../agent/calls.js'
import type { Bench } from '../bench.js'
import { inTurn, interleave } from '../bench.js'
import type { Party } from '../parties/party.js'
import { which } from '../processes.js'
import { table } from '../render.js'
import type { Row } from '../results.js'
import { figures } from '../results.js'
import { pairwise, ratio, spread } from '../statistics.js'
import type { Call } from './closed.js'
import { MANY, callOf, closedSample, warm } from './closed.js'
import { GRPC_COMPARED, compareGrpc } from './grpc.js'
import type { Load } from './latency.js'
import { fixedSample } from './latency.js'
import { EVENTS, responseCallOf } from './throughput.js'

const RATE = 500
const MEASURES: ReadonlyArray<readonly [string, string]> = [
  ['cpuPerCall', 'CPU per call'],
  ['perSecond', 'calls per second'],
  ['p50', 'p50'],
  ['p99', 'p99']
]

const COMPARED = [...WORKS.filter(({ bytes }) => bytes !== 4_000), ...REAL_WORKS.filter(({ bytes }) => bytes === 50_000)]

const CALLS: ReadonlyArray<readonly [string, Call]> = [
  ...COMPARED.map((work): [string, Call] => [work.name, callOf(work)]),
  ...REAL_WORKS.filter(({ bytes }) => bytes === 50_000).map((work): [string, Call] => [`response, ${work.name}`, responseCallOf(work)]),
  [`streams of ${EVENTS} events`, { headers: streamHeaders(`burst ${EVENTS}`), body: SMALL_STREAMING, connections: MANY }]
]

/** Latency is a work too. */
const LATENCY_WORK = `${RATE} calls of 400 B per second`

/**
 * @param before processes of one gateway, which take the rounds in turn; `after` has those of the other
 * @param mains paths of `main.js` of the two gateways, for the works over gRPC
 * @param wants chooses works by their names
 * @returns a table: for each work, the second party's figures as multiples of the first party's, with their quartiles
 */
export async function versus (
  bench: Bench,
  before: readonly Party[],
  after: readonly Party[],
  mains: readonly [string, string],
  wants: (work: string) => boolean
): Promise<string> {
  const pair = [before, after].map((all, i) => ({ name: String(i), of: inTurn(all) }))
  const nameOf = (side: string): string => (side === '0' ? before : after)[0]?.name ?? ''
  const lines: string[][] = []
  const tell = (work: string, [first, second]: readonly Row[]): void => {
    if (first === undefined || second === undefined) return
    const broken = [first, second].find(row => row.broken !== undefined)
    if (broken !== undefined) {
      lines.push([work, '', `wrong responses of ${nameOf(broken.party)}: ${broken.broken ?? ''}`])
    }
    for (const [measure, title] of MEASURES) {
      const ratios = pairwise(figures(second, measure), figures(first, measure), ratio)
      if (ratios.length === 0) continue
      const { median, low, high } = spread(ratios)
      lines.push([
        work,
        title,
        `${median.toFixed(3)}× (${low.toFixed(3)}-${high.toFixed(3)})${low <= 1 && high >= 1 ? ', no difference' : ''}`
      ])
    }
  }
  for (const [work, call] of CALLS.filter(([work]) => wants(work))) {
    bench.say(`${work}: warming up`)
    await warm(bench, [...before, ...after], call)
    tell(work, await interleave(bench, work, pair, next => closedSample(bench, next(), call)))
  }
  if (wants(LATENCY_WORK)) {
    const load: Load = { headers: HEADERS, body: SMALL, rate: RATE, expected: ANSWER.length }
    tell(LATENCY_WORK, await interleave(bench, 'latency', pair, next => fixedSample(bench, next(), load, bench.seconds, 'whole')))
  }
  if (GRPC_COMPARED.some(wants) && which('h2load') === null) bench.say('gRPC: h2load is not installed (Debian: nghttp2-client)')
  else await compareGrpc(bench, mains, before.length, wants, tell)
  return `${nameOf('1')}\nagainst ${nameOf('0')}\n\n${table(['work', 'measure', 'second against first'], lines)}`
}

export const VERSUS_WORKS: readonly string[] = [...CALLS.map(([work]) => work), LATENCY_WORK, ...GRPC_COMPARED]
