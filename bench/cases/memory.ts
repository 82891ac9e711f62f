import { once } from 'node:events'
import { SMALL, SMALL_STREAMING } from '../agent/bodies.js'
import { EVENT, HEADERS, streamHeaders } from '../agent/calls.js'
import type { Bench, Case } from '../bench.js'
import { WrongAnswer, interleave } from '../bench.js'
import type { HeldStreams } from '../load/streams.js'
import { holdStreams } from '../load/streams.js'
import { STREAMS } from '../names.js'
import type { Party } from '../parties/party.js'
import type { Sample } from '../results.js'
import { MANY, warm } from './closed.js'
import { RESTARTABLE, startFresh } from './fresh.js'

const MOST_ROUNDS = 3

/** Each round starts new processes. In an old process, memory that was freed once would not appear as growth a second time. */
export const MEMORY: Case = {
  name: 'memory',
  about: `memory per stream, of ${STREAMS} open streams`,
  works: [`${STREAMS} open streams`],
  run: async (bench, parties) => {
    const streams = bench.quick ? STREAMS / 4 : STREAMS
    const rows = await interleave(
      bench,
      'memory',
      parties.flatMap(({ name }) => RESTARTABLE.has(name) ? [{ name, of: name }] : []),
      async party => await perStream(bench, party, streams),
      Math.min(bench.rounds, MOST_ROUNDS)
    )
    return [{ work: `${streams} open streams`, rows }]
  }
}

interface Memory { readonly rss: number, readonly heapUsed: number, readonly external: number }

/** @returns bytes per stream: `rss`, `heap` (of JavaScript, after garbage collection), `external` (buffers) */
async function perStream (bench: Bench, name: string, streams: number): Promise<Sample> {
  const party = await startFresh(bench.place, name, 'memory', { memory: true })
  try {
    await warm({ ...bench, seconds: 1 }, [party], { headers: HEADERS, body: SMALL, connections: MANY })
    const before = await memoryOf(party)
    const held = await openStreams(party, streams)
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

export async function openStreams (party: Party, streams: number): Promise<HeldStreams> {
  return await holdStreams(`${party.url}/rpc`, streamHeaders('hold'), SMALL_STREAMING, streams, EVENT)
    .catch((error: Error) => { throw new WrongAnswer(error.message) })
}

async function memoryOf ({ child }: Party): Promise<Memory> {
  const told = once(child as NonNullable<Party['child']>, 'message')
  child?.send('memory')
  const [memory] = await told as [Memory]
  return memory
}
