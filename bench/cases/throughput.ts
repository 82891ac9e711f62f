import type { Work } from '../agent/bodies.js'
import { REAL_WORKS, SMALL, SMALL_STREAMING, WORKS } from '../agent/bodies.js'
import { responseHeaders, streamHeaders } from '../agent/calls.js'
import type { Bench, Case, Table } from '../bench.js'
import { interleave, subjects } from '../bench.js'
import { startGateway } from '../parties/gateway.js'
import type { Party } from '../parties/party.js'
import type { Call } from './closed.js'
import { MANY, callOf, closedSample, connectionsFor, settledSample, warm } from './closed.js'
import { isCoreWork } from './core.js'

/** A small call with a response of the work's content. */
export const responseCallOf = (work: Work): Call => ({ headers: responseHeaders(work), body: SMALL, connections: connectionsFor(work) })

interface Treatment {
  readonly call: (work: Work) => Call
  /**
   * True for a work with all rounds, a complete warm-up, and load before each measurement. The others follow it with the same code, and
   * take less time.
   */
  readonly main: (work: Work) => boolean
  /** True for a work of quick runs. */
  readonly quick: (work: Work) => boolean
}

const FEWER_ROUNDS = 3
const BRIEF_WARM_UP = 1

async function measureWorks (
  bench: Bench,
  name: string,
  parties: readonly Party[],
  works: readonly Work[],
  { call, main, quick }: Treatment
): Promise<Table[]> {
  const measured = []
  for (const work of works.filter(work => bench.wants(name, work.name, quick(work)))) {
    const title = `${name}, ${work.name}`
    const made = call(work)
    bench.say(`${title}: warming up`)
    await warm(bench, parties, made, main(work) ? undefined : BRIEF_WARM_UP)
    const rounds = main(work) ? bench.rounds : Math.min(bench.rounds, FEWER_ROUNDS)
    const sample = main(work) ? settledSample : closedSample
    const rows = await interleave(bench, title, subjects(parties), party => sample(bench, party, made), rounds)
    measured.push({ work: work.name, rows })
  }
  return measured
}

export const THROUGHPUT: Case = {
  name: 'throughput',
  about: 'calls per second and CPU per call, of bodies from 400 B to 1 MB, 8 connections for 1 MB, else 64',
  works: WORKS.map(({ name }) => name),
  run: (bench, parties) => {
    const main = ({ bytes }: Work): boolean => bytes !== 4_000
    return measureWorks(bench, 'throughput', parties, WORKS, { call: callOf, main, quick: main })
  }
}

const ofMiddleSize = ({ bytes }: Work): boolean => bytes === 50_000
const OF_REAL_WORKS: Omit<Treatment, 'call'> = {
  main: ofMiddleSize,
  quick: work => ofMiddleSize(work) && (work.shape === 'markdown' || work.shape === 'data')
}

/** Works that the case `core` does not measure. */
const OTHER_WORKS = REAL_WORKS.filter(work => !isCoreWork(work))
/** Without `--parties`: those that read bodies, and the bare proxies of Node. */
const READERS = new Set(['gateway', 'node-proxy', 'fastify-proxy', 'nginx-njs', 'envoy-lua'])

export const BODIES: Case = {
  name: 'bodies',
  about: 'requests of the kinds that language models and agents send, in the sizes that core leaves out; 8 connections for 1 MB, else 64',
  works: OTHER_WORKS.map(({ name }) => name),
  run: (bench, parties) =>
    measureWorks(bench, 'bodies', bench.mostly(parties, READERS), OTHER_WORKS, { call: callOf, main: () => false, quick: () => false })
}

/** No other party reads responses. */
const FORWARDERS = new Set(['gateway', 'node-proxy', 'fastify-proxy'])

export const RESPONSES: Case = {
  name: 'responses',
  about: 'small requests with responses of the same kinds, 8 connections for 1 MB, else 64',
  works: REAL_WORKS.map(({ name }) => name),
  run: async (bench, parties) => {
    const enforced = { ...await startGateway(bench.place, { name: 'enforced', responses: 'enforce' }), name: 'gateway, responses enforced' }
    try {
      const [gateway, ...others] = bench.mostly(parties, FORWARDERS)
      const measured = [...gateway === undefined ? [] : [gateway], enforced, ...others]
      return await measureWorks(bench, 'responses', measured, REAL_WORKS, { ...OF_REAL_WORKS, call: responseCallOf })
    } finally {
      await enforced.stop()
    }
  }
}

/** Events of one stream. */
export const EVENTS = 50

export const STREAM: Case = {
  name: 'stream',
  about: `streams of ${EVENTS} events of 400 B per second, 64 at once`,
  works: [`${EVENTS} events`],
  run: async (bench, parties) => {
    const call: Call = { headers: streamHeaders(`burst ${EVENTS}`), body: SMALL_STREAMING, connections: MANY }
    bench.say('stream: warming up')
    await warm(bench, parties, call)
    return [
      { work: `${EVENTS} events`, rows: await interleave(bench, 'stream', subjects(parties), party => settledSample(bench, party, call)) }
    ]
  }
}
