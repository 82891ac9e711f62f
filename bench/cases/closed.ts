/** Measures throughput and CPU of one party under one load, and checks its responses. */
import type { Work } from '../agent/bodies.js'
import { callBody } from '../agent/bodies.js'
import { HEADERS } from '../agent/calls.js'
import type { Bench } from '../bench.js'
import { WrongAnswer } from '../bench.js'
import { closedLoop } from '../load/closed.js'
import { wrongWith } from '../load/verify.js'
import type { Party, Place } from '../parties/party.js'
import { cpuSeconds } from '../processes.js'
import type { Sample } from '../results.js'

export interface Call {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /**
   * Calls in flight. The number is small where one call takes long, because a call that is unfinished at the end has cost CPU but is not
   * counted.
   */
  readonly connections: number
}

export const MANY = 64
export const FEW = 8

/** Connections for calls with a body, or a response, of this work. */
export const connectionsFor = ({ bytes }: Work): number => bytes > 100_000 ? FEW : MANY
export const callOf = (work: Work): Call => ({ headers: HEADERS, body: callBody(work), connections: connectionsFor(work) })

/** @returns `perSecond`: calls; `cpuPerCall`: microseconds; `busy`: the used share of the proxy's core. Only proxies have the last two. */
export async function closedSample (bench: Bench, party: Party, call: Call): Promise<Sample> {
  const url = `${party.url}/rpc`
  const doubt = await wrongWith(url, call.headers, call.body)
  if (doubt !== null) throw new WrongAnswer(doubt)
  const before = { ...await agentStats(bench.place), cpu: cpuSeconds(party.pids) }
  const { calls, bad, seconds: took } = await closedLoop({ url, ...call, seconds: bench.seconds }, bench.tool, bench.place.directory)
  const cpu = cpuSeconds(party.pids) - before.cpu
  const after = await agentStats(bench.place)
  if (bad > 0 || calls === 0) throw new WrongAnswer(`${bad} of ${calls + bad} calls failed`)
  // Calls that are cut off at the end of the load reach the agent, but are not counted.
  const [reached, bytes] = [after.calls - before.calls, after.bytes - before.bytes]
  if (reached < calls || bytes < calls * call.body.length) {
    throw new WrongAnswer(`of ${calls} completed calls ${reached} reached the agent, with ${bytes} bytes`)
  }
  return { perSecond: calls / took, ...(party.pids.length === 0 ? {} : { cpuPerCall: cpu / calls * 1e6, busy: cpu / took }) }
}

/**
 * Load before a measurement that does not count, in seconds. V8 discards optimized code while the other parties have their turns: after
 * 10 s without calls, the first second of calls takes 2.5 to 3.2 times as much CPU, and the third 1.2 to 1.6 times (29 November 2026).
 */
const SETTLE_SECONDS = 2

/** @returns the settings for such load */
export const settling = (bench: Bench, seconds = SETTLE_SECONDS): Bench => bench.quick ? bench : { ...bench, seconds }

/** Sends load that does not count to a proxy. */
export async function settle (bench: Bench, party: Party, call: Call, seconds = SETTLE_SECONDS): Promise<void> {
  if (party.pids.length > 0) await closedSample(settling(bench, seconds), party, call)
}

/** The figures of `closedSample`, measured after load that does not count. */
export async function settledSample (bench: Bench, party: Party, call: Call): Promise<Sample> {
  await settle(bench, party, call)
  return await closedSample(bench, party, call)
}

/** Number of warm-up calls for one work. The time limit below is long enough: a party that is not warm by then never is. */
const WARM_CALLS = 3_000
const WARM_SECONDS = 4

/** Warms up the parties. The number of calls decides and not the time, because compilation also takes longer on a slow machine. */
export async function warm (
  bench: Bench,
  parties: readonly Party[],
  call: Call,
  seconds = WARM_SECONDS,
  wanted = WARM_CALLS
): Promise<void> {
  for (const party of parties) {
    try {
      for (let calls = 0, end = Date.now() + bench.seconds * seconds * 1_000; calls < wanted && Date.now() < end;) {
        calls += (await closedSample(bench, party, call)).perSecond as number * bench.seconds
      }
    } catch (error) {
      if (!(error instanceof WrongAnswer)) throw error
    }
  }
}

/** @returns what the agent has counted: calls, bytes of their bodies, and streams that are open now */
export async function agentStats ({ agent }: Place): Promise<{ calls: number, bytes: number, streams: number }> {
  return await (await fetch(`${agent}/stats`)).json() as { calls: number, bytes: number, streams: number }
}
