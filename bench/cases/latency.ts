import type { RecordableHistogram } from 'node:perf_hooks'
import { SMALL, SMALL_STREAMING } from '../agent/bodies.js'
import { ANSWER, EVENT, HEADERS, streamHeaders } from '../agent/calls.js'
import type { Bench, Case, Table } from '../bench.js'
import { WrongAnswer, interleave, subjects } from '../bench.js'
import type { OpenLoad, OpenResult } from '../load/open.js'
import { openLoop } from '../load/open.js'
import { wrongWith } from '../load/verify.js'
import type { Party } from '../parties/party.js'
import { cpuSeconds } from '../processes.js'
import type { Sample } from '../results.js'
import { MANY, settle } from './closed.js'

/** Calls per second. */
export const RATE = 1_000
const STREAM_RATE = 100
const PACED = 3

export type Load = Omit<OpenLoad, 'url' | 'seconds'>
export const CALLS: Load = { headers: HEADERS, body: SMALL, rate: RATE, expected: ANSWER.length }

export const LATENCY: Case = {
  name: 'latency',
  about: `time of a call of 400 B at ${RATE} calls per second, sent whether or not earlier calls have ended`,
  works: ['400 B'],
  run: async (bench, parties) => await fixedRate(bench, parties, 'latency', '400 B', 'whole', CALLS)
}

/** Without `--parties`: one of each kind. */
const FIRST_EVENT_PARTIES = new Set(['gateway', 'direct', 'node-proxy', 'fastify-proxy', 'nginx-njs', 'envoy-lua', 'nginx'])

export const FIRST_EVENT: Case = {
  name: 'first-event',
  about: `time to the first event of a stream, at ${STREAM_RATE} streams per second`,
  works: [`${PACED} events, 10 ms apart`],
  run: async (bench, parties) =>
    await fixedRate(bench, bench.mostly(parties, FIRST_EVENT_PARTIES), 'first-event', `${PACED} events, 10 ms apart`, 'first', {
      headers: streamHeaders(`paced ${PACED}`), body: SMALL_STREAMING, rate: STREAM_RATE, expected: PACED * EVENT.length
    })
}

async function fixedRate (
  bench: Bench,
  parties: readonly Party[],
  name: string,
  work: string,
  of: 'first' | 'whole',
  load: Load
): Promise<Table[]> {
  bench.say(`${name}: warming up`)
  for (const party of parties) {
    await fixedSample(bench, party, load, bench.seconds / 2, of).catch(error => {
      if (!(error instanceof WrongAnswer)) throw error
    })
  }
  const measure = async (party: Party): Promise<Sample> => {
    await settle(bench, party, { headers: load.headers, body: load.body, connections: MANY })
    return await fixedSample(bench, party, load, bench.seconds * 2, of)
  }
  return [{ work, rows: await interleave(bench, name, subjects(parties), measure) }]
}

/** @returns times in microseconds, and `cpuPerCall` of proxies */
export async function fixedSample (bench: Bench, party: Party, load: Load, seconds: number, of: 'first' | 'whole'): Promise<Sample> {
  const url = `${party.url}/rpc`
  const doubt = await wrongWith(url, load.headers, load.body)
  if (doubt !== null) throw new WrongAnswer(doubt)
  const before = cpuSeconds(party.pids)
  const result = await openLoop({ ...load, rate: bench.rate ?? load.rate, url, seconds })
  const cpu = cpuSeconds(party.pids) - before
  if (result.bad > 0) throw new WrongAnswer(`${result.bad} of ${result.calls} responses were not complete`)
  return { ...microseconds(result, of), ...(party.pids.length === 0 ? {} : { cpuPerCall: cpu / result.calls * 1e6 }) }
}

function microseconds (result: OpenResult, of: 'first' | 'whole'): Sample {
  const at = (histogram: RecordableHistogram, percentile: number): number => histogram.percentile(percentile)
  return { p50: at(result[of], 50), p99: at(result[of], 99), max: result[of].max, late50: at(result.late, 50), late99: at(result.late, 99) }
}
