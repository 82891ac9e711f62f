import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { SMALL } from '../agent/bodies.js'
import { HEADERS } from '../agent/calls.js'
import type { Case } from '../bench.js'
import { WrongAnswer, interleave } from '../bench.js'
import { startGateway } from '../parties/gateway.js'
import type { Party } from '../parties/party.js'
import { family, until } from '../processes.js'
import type { Sample } from '../results.js'

const WORKERS = 8
const CONNECTIONS = 128
/** A quick run has this part of both. */
const QUICK = 4

const workOf = (workers: number, connections: number): string => `${connections} connections, ${workers} workers`

/** A client opens its connections at once, as a load balancer does when it starts; each has a call, and stays open. */
export const SPREAD: Case = {
  name: 'spread',
  about: 'how evenly workers share the connections that one client opens at once; 1 is perfectly even',
  works: [workOf(WORKERS, CONNECTIONS)],
  run: async bench => {
    const { cores } = bench.place
    // Workers share all cores, as in production. On one core, the worker that runs would accept most connections.
    const place = cores === null ? bench.place : { ...bench.place, cores: { ...cores, proxy: `${cores.load},${cores.proxy}` } }
    const [workers, connections] = [WORKERS, CONNECTIONS].map(one => bench.quick ? one / QUICK : one) as [number, number]
    bench.say(`spread: starting ${workers} workers`)
    const gateway = await startGateway(place, { name: 'spread', workers })
    try {
      await until(async () => await serving(gateway.admin) === workers, 'all workers serve')
      const measure = (party: Party): Promise<Sample> => connectAndCount(party, workers, connections)
      return [{ work: workOf(workers, connections), rows: await interleave(bench, 'spread', [{ name: 'gateway', of: gateway }], measure) }]
    } finally {
      await gateway.stop()
    }
  }
}

/** @returns `spread`: most connections of a worker, divided by their mean; `without`: workers without a connection */
async function connectAndCount ({ url, child }: Party, workers: number, connections: number): Promise<Sample> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  try {
    await Promise.all(Array.from({ length: connections }, () => call(`${url}/rpc`, agent)))
    const counts = connectionsOf(family(child?.pid as number).slice(1), Number(new URL(url).port))
    const all = counts.reduce((sum, one) => sum + one, 0)
    if (counts.length !== workers || all !== connections) {
      throw new WrongAnswer(`${counts.length} workers have ${all} connections: ${counts.join(', ')}`)
    }
    return { spread: Math.max(...counts) / (all / workers), without: counts.filter(one => one === 0).length }
  } finally {
    agent.destroy()
  }
}

async function serving (admin: string): Promise<number> {
  return Number(/^a2a_gateway_workers (\d+)$/m.exec(await (await fetch(`${admin}/metrics`)).text())?.[1])
}

async function call (url: string, agent: Agent): Promise<void> {
  const outgoing = request(url, { method: 'POST', agent, headers: { ...HEADERS, 'content-length': String(SMALL.length) } })
  outgoing.end(SMALL)
  const [response] = await once(outgoing, 'response')
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new WrongAnswer(`status ${String(response.statusCode)}`)
}

const ESTABLISHED = '01'

/** @returns the number of connections to the port that each process has accepted */
function connectionsOf (pids: readonly number[], port: number): number[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const inodes = new Set(
    readFileSync('/proc/net/tcp', 'utf8').split('\n').map(line => line.trim().split(/\s+/))
      .filter(([, address, , state]) => address?.endsWith(local) === true && state === ESTABLISHED)
      .map(fields => fields[9])
  )
  return pids.map(pid => readdirSync(`/proc/${pid}/fd`).filter(fd => inodes.has(inodeOf(`/proc/${pid}/fd/${fd}`))).length)
}

/** @returns the number of a socket; undefined for other descriptors, and for those that have just been closed */
function inodeOf (descriptor: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(descriptor))?.[1]
  } catch {
    return undefined
  }
}
