/** Compares two gateways with the same configuration, in alternating turns. */
import { ANSWER, HEADERS, WORKS, callBody, streamHeaders } from '../agent/calls.js'
import type { Bench } from '../bench.js'
import { WrongAnswer, interleave, subjects } from '../bench.js'
import { openLoop } from '../load/open.js'
import type { Party } from '../parties/party.js'
import { table } from '../render.js'
import type { Row } from '../results.js'
import { figures } from '../results.js'
import { pairwise, ratio, spread } from '../statistics.js'
import type { Call } from './closed.js'
import { MANY, closedSample, warm } from './closed.js'
import { EVENTS, callOf } from './throughput.js'

const RATE = 500
const MEASURES: ReadonlyArray<readonly [string, string]> = [
  ['cpuPerCall', 'CPU per call'],
  ['perSecond', 'calls per second'],
  ['p50', 'p50'],
  ['p99', 'p99']
]

/** @returns a table: for each work, the second party's figures as multiples of the first party's, with their quartiles */
export async function versus (bench: Bench, before: Party, after: Party): Promise<string> {
  const pair = subjects([before, after].map((party, i) => ({ ...party, name: String(i) })))
  const lines: string[][] = []
  const tell = (work: string, [first, second]: readonly Row[]): void => {
    if (first === undefined || second === undefined) return
    const broken = [first, second].find(row => row.broken !== undefined)
    if (broken !== undefined) {
      lines.push([work, '', `wrong responses of ${broken.party === '0' ? before.name : after.name}: ${broken.broken ?? ''}`])
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
  for (const [work, call] of calls()) {
    bench.say(`${work}: warming up`)
    await warm(bench, [before, after], call)
    tell(work, await interleave(bench, work, pair, party => closedSample(bench, party, call)))
  }
  const body = callBody({ bytes: 400, shape: 'text' })
  tell(`${RATE} calls of 400 B per second`, await interleave(bench, 'latency', pair, async party => {
    const { bad, whole } = await openLoop({
      url: `${party.url}/rpc`,
      headers: HEADERS,
      body,
      rate: RATE,
      seconds: bench.seconds,
      expected: ANSWER.length
    })
    if (bad > 0) throw new WrongAnswer(`${bad} responses were not complete`)
    return { p50: whole.percentile(50), p99: whole.percentile(99) }
  }))
  return `${after.name}\nagainst ${before.name}\n\n${table(['work', 'measure', 'second against first'], lines)}`
}

function calls (): Array<[string, Call]> {
  return [
    ...WORKS.filter(({ name }) => name !== '4 kB').map((work): [string, Call] => [work.name, callOf(work)]),
    [
      `streams of ${EVENTS} events`,
      {
        headers: streamHeaders(`burst ${EVENTS}`),
        body: callBody({ bytes: 400, shape: 'text' }, 'SendStreamingMessage'),
        connections: MANY
      }
    ]
  ]
}
