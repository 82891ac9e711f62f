import { once } from 'node:events'
import { EVENT, HEADERS, callBody, streamHeaders } from '../agent/calls.js'
import type { Bench, Case } from '../bench.js'
import { WrongAnswer, interleave } from '../bench.js'
import { holdStreams } from '../load/streams.js'
import { startGateway, watched } from '../parties/gateway.js'
import type { Party } from '../parties/party.js'
import { ours } from '../parties/party.js'
import { built } from '../processes.js'
import type { Sample } from '../results.js'
import { MANY, warm } from './closed.js'

const STREAMS = 2_000
const MOST_ROUNDS = 3

const FRESH: Readonly<Record<string, (bench: Bench) => Promise<Party>>> = {
  gateway: ({ place }) => startGateway(place, { name: 'memory', watched: true }),
  'node-proxy': ({ place }) => ours('memory-node', place, [...watched(), built('bench/parties/node-proxy.js'), place.agent], { ipc: true }),
  'fastify-proxy': ({ place }) =>
    ours('memory-fastify', place, [...watched(), built('bench/parties/fastify-proxy.js'), place.agent], { ipc: true })
}

/** Each round starts new processes. In an old process, memory that was freed once would not appear as growth a second time. */
export const MEMORY: Case = {
  name: 'memory',
  about: `memory per stream, of ${STREAMS} open streams`,
  run: async (bench, parties) => {
    const streams = bench.quick ? STREAMS / 4 : STREAMS
    const which = parties.flatMap(({ name }) => FRESH[name] === undefined ? [] : [{ name, of: FRESH[name] }])
    const rows = await interleave(
      bench,
      'memory',
      which,
      async fresh => await perStream(bench, fresh, streams),
      Math.min(bench.rounds, MOST_ROUNDS)
    )
    return [{ work: `${streams} open streams`, rows }]
  }
}

interface Memory { readonly rss: number, readonly heapUsed: number, readonly external: number }

/** @returns bytes per stream: `rss`, `heap` (of JavaScript, after garbage collection), `external` (buffers) */
async function perStream (bench: Bench, fresh: (bench: Bench) => Promise<Party>, streams: number): Promise<Sample> {
  const party = await fresh(bench)
  try {
    await warm({ ...bench, seconds: 1 }, [party], { headers: HEADERS, body: callBody({ bytes: 400, shape: 'text' }), connections: MANY })
    const before = await memoryOf(party)
    const body = callBody({ bytes: 400, shape: 'text' }, 'SendStreamingMessage')
    const held = await holdStreams(`${party.url}/rpc`, streamHeaders('hold'), body, streams, EVENT)
      .catch((error: Error) => { throw new WrongAnswer(error.message) })
    const after = await memoryOf(party)
    await held.close()
    return {
      rss: (after.rss - before.rss) / streams,
      heap: (after.heapUsed - before.heapUsed) / streams,
      external: (after.external - before.external) / streams
    }
  } finally {
    await party.stop()
  }
}

async function memoryOf ({ child }: Party): Promise<Memory> {
  const told = once(child as NonNullable<Party['child']>, 'message')
  child?.send('memory')
  const [memory] = await told as [Memory]
  return memory
}
