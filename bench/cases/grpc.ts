/** Calls over gRPC: the gateway against proxies that only forward. */
import { EVENT, EVENTS, METADATA, REQUEST, RESPONSE, SEND, STREAM } from '../agent/grpc-calls.js'
import type { Bench, Case, Table } from '../bench.js'
import { WrongAnswer, inTurn, interleave, subjects } from '../bench.js'
import { h2load, wrongWithGrpc } from '../load/h2load.js'
import { GRPC_EVENTS, GRPC_UNARY } from '../names.js'
import type { GrpcAgent } from '../parties/grpc.js'
import { startGrpcAgent, startGrpcGateway, startGrpcJsProxy, startHttp2Proxy } from '../parties/grpc.js'
import type { Party } from '../parties/party.js'
import { cpuSeconds, stop, which } from '../processes.js'
import type { Row, Sample } from '../results.js'
import { settling } from './closed.js'

interface Work {
  readonly name: string
  readonly path: string
  readonly wanted: Buffer
  /** Calls at once on each of the connections. */
  readonly streams: number
  readonly warmCalls: number
}

const CONNECTIONS = 8
const WARM_SECONDS = 8
const WORKS: readonly Work[] = [
  { name: GRPC_UNARY, path: SEND, wanted: RESPONSE, streams: 8, warmCalls: 30_000 },
  {
    name: GRPC_EVENTS, path: STREAM, wanted: Buffer.concat(Array.from({ length: EVENTS }, () => EVENT)), streams: 2, warmCalls: 1_000
  }
]

export const GRPC: Case = {
  name: 'grpc',
  about: `calls of 400 B over gRPC, ${CONNECTIONS} connections with 8 calls each, and streams of ${EVENTS} events of 400 B`,
  works: WORKS.map(({ name }) => name),
  run: async bench => {
    if (which('h2load') === null) {
      bench.say('grpc: h2load is not installed (Debian: nghttp2-client)')
      return []
    }
    const agent = await startGrpcAgent(bench.place)
    const parties: Party[] = []
    try {
      for (const start of [startGrpcGateway, startHttp2Proxy, startGrpcJsProxy]) parties.push(await start(bench.place, agent))
      const tables: Table[] = []
      for (const work of WORKS.filter(({ name }) => bench.wants('grpc', name, true))) {
        bench.say(`grpc, ${work.name}: warming up`)
        for (const party of parties) await warm(bench, agent, party, work)
        const rows = await interleave(bench, `grpc, ${work.name}`, subjects(parties), async party => {
          await sample(settling(bench), agent, party, work)
          return await sample(bench, agent, party, work)
        })
        tables.push({ work: work.name, rows })
      }
      return tables
    } finally {
      await Promise.all(parties.map(party => party.stop()))
      await stop(agent.child)
    }
  }
}

/** The name of a work in `bench:compare`. */
const titleOf = ({ name }: Work): string => `gRPC, ${name}`
export const GRPC_COMPARED: readonly string[] = WORKS.map(titleOf)

/**
 * Compares gateways of two sides in alternating turns.
 * @param mains paths of `main.js` of the two sides
 * @param processes of each side
 * @param tell receives each work with the rows of the two sides
 */
export async function compareGrpc (
  bench: Bench,
  mains: readonly [string, string],
  processes: number,
  wants: (work: string) => boolean,
  tell: (work: string, rows: readonly Row[]) => void
): Promise<void> {
  if (!GRPC_COMPARED.some(wants)) return
  const agent = await startGrpcAgent(bench.place)
  const sides: Party[][] = [[], []]
  try {
    for (const [i, main] of mains.entries()) {
      for (let k = 0; k < processes; k++) sides[i]?.push(await startGrpcGateway(bench.place, agent, main))
    }
    const pair = sides.map((all, i) => ({ name: String(i), of: inTurn(all) }))
    for (const work of WORKS.filter(work => wants(titleOf(work)))) {
      const title = titleOf(work)
      bench.say(`${title}: warming up`)
      for (const party of sides.flat()) await warm(bench, agent, party, work)
      tell(title, await interleave(bench, title, pair, next => sample(bench, agent, next(), work)))
    }
  } finally {
    await Promise.all(sides.flat().map(party => party.stop()))
    await stop(agent.child)
  }
}

async function warm (bench: Bench, agent: GrpcAgent, party: Party, work: Work): Promise<void> {
  try {
    for (let calls = 0, end = Date.now() + bench.seconds * WARM_SECONDS * 1_000; calls < work.warmCalls && Date.now() < end;) {
      calls += (await sample(bench, agent, party, work)).perSecond as number * bench.seconds
    }
  } catch (error) {
    if (!(error instanceof WrongAnswer)) throw error
  }
}

/** @returns the figures of `closedSample`: `perSecond`, `cpuPerCall` in microseconds, `busy` */
async function sample (bench: Bench, agent: GrpcAgent, party: Party, { path, wanted, streams }: Work): Promise<Sample> {
  const url = `${party.url}${path}`
  const doubt = await wrongWithGrpc(url, METADATA, REQUEST, wanted)
  if (doubt !== null) throw new WrongAnswer(doubt)
  const before = { ...await statsOf(agent), cpu: cpuSeconds(party.pids) }
  const load = { url, headers: METADATA, body: REQUEST, connections: CONNECTIONS, streams, seconds: bench.seconds }
  const { calls, bad, seconds: took } = await h2load(load, bench.place.directory)
  const cpu = cpuSeconds(party.pids) - before.cpu
  const after = await statsOf(agent)
  if (bad > 0 || calls === 0) throw new WrongAnswer(`${bad} of ${calls + bad} calls failed`)
  // A rejected call has HTTP status 200 as well, but does not reach the agent.
  const [reached, bytes] = [after.calls - before.calls, after.bytes - before.bytes]
  if (reached < calls || bytes < calls * REQUEST.length) {
    throw new WrongAnswer(`of ${calls} completed calls ${reached} reached the agent, with ${bytes} bytes`)
  }
  return { perSecond: calls / took, cpuPerCall: cpu / calls * 1e6, busy: cpu / took }
}

async function statsOf ({ url }: GrpcAgent): Promise<{ calls: number, bytes: number }> {
  return await (await fetch(`${url}/stats`)).json() as { calls: number, bytes: number }
}
