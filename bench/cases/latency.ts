import type { RecordableHistogram } from 'node:perf_hooks'
import { ANSWER, EVENT, HEADERS, callBody, streamHeaders } from '../agent/calls.js'
import type { Bench, Case, Table } from '../bench.js'
import { WrongAnswer, interleave, subjects } from '../bench.js'
import type { OpenLoad, OpenResult } from '../load/open.js'
import { openLoop } from '../load/open.js'
import type { Party } from '../parties/party.js'
import type { Sample } from '../results.js'

/** Calls per second. */
const RATE = 1_000
const STREAM_RATE = 100
const PACED = 3

export const LATENCY: Case = {
  name: 'latency',
  about: `time of a call of 400 B at ${RATE} calls per second, sent whether or not earlier calls have ended`,
  run: async (bench, parties) => await fixedRate(bench, parties, 'latency', '400 B', 'whole', {
    headers: HEADERS, body: callBody({ bytes: 400, shape: 'text' }), rate: RATE, expected: ANSWER.length
  })
}

export const FIRST_EVENT: Case = {
  name: 'first-event',
  about: `time to the first event of a stream, at ${STREAM_RATE} streams per second`,
  run: async (bench, parties) =>
    await fixedRate(bench, parties, 'first-event', `${PACED} events, 10 ms apart`, 'first', {
      headers: streamHeaders(`paced ${PACED}`),
      body: callBody({ bytes: 400, shape: 'text' }, 'SendStreamingMessage'),
      rate: STREAM_RATE,
      expected: PACED * EVENT.length
    })
}

async function fixedRate (
  bench: Bench,
  parties: readonly Party[],
  name: string,
  work: string,
  of: 'first' | 'whole',
  load: Omit<OpenLoad, 'url' | 'seconds'>
): Promise<Table[]> {
  const measure = async (party: Party, seconds: number): Promise<Sample> => {
    const result = await openLoop({ ...load, rate: bench.rate ?? load.rate, url: `${party.url}/rpc`, seconds })
    if (result.bad > 0) throw new WrongAnswer(`${result.bad} of ${result.calls} responses were not complete`)
    return microseconds(result, of)
  }
  bench.say(`${name}: warming up`)
  for (const party of parties) {
    await measure(party, bench.seconds / 2).catch(error => {
      if (!(error instanceof WrongAnswer)) throw error
    })
  }
  return [{ work, rows: await interleave(bench, name, subjects(parties), party => measure(party, bench.seconds * 2)) }]
}

function microseconds (result: OpenResult, of: 'first' | 'whole'): Sample {
  const at = (histogram: RecordableHistogram, percentile: number): number => histogram.percentile(percentile)
  return { p50: at(result[of], 50), p99: at(result[of], 99), max: result[of].max, late50: at(result.late, 50), late99: at(result.late, 99) }
}
