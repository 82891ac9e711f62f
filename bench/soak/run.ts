/**
 * One soak: a gateway, good agents and a bad one, callers of every kind, faults and reloads. The soak compares the results with the
 * promises.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FAULTS } from '../../test/faults/faults.js'
import type { FaultName } from '../../test/faults/faults.js'
import { ask, FORMS, READS, RESPONSES } from '../../test/faults/calls.js'
import { faultyAgent } from '../../test/faults/faulty-agent.js'
import type { FaultyAgent } from '../../test/faults/faulty-agent.js'
import { quietSdk } from '../../test/helpers/agents.js'
import type { GrpcAgent } from '../../test/helpers/grpc-agents.js'
import { startGrpcAgent } from '../../test/helpers/grpc-agents.js'
import { freePort } from '../../test/helpers/http.js'
import { connect } from '../../test/helpers/sdk-clients.js'
import type { Sample, SoakedGateway } from './gateway.js'
import { startGateway } from './gateway.js'
import { Random } from '../random.js'
import { caller, leaver, refusedCaller, sdkCaller, sdkLeaver, slowReader } from './traffic.js'
import type { Counts, Field } from './traffic.js'
import type { Trend } from './trend.js'
import { trendOf } from './trend.js'

export interface SoakOptions {
  readonly seconds: number
  readonly seed: number
  /** True to require constant memory. A short soak cannot measure memory growth. */
  readonly memory: boolean
  readonly say?: (text: string) => void
}

export interface SoakReport {
  readonly seconds: number
  readonly seed: number
  readonly node: string
  readonly counts: Counts
  readonly faults: number
  readonly reloads: number
  /** Trends of the second half, in bytes and in numbers. */
  readonly trends: { readonly heap: Trend, readonly rss: Trend, readonly descriptors: Trend }
  readonly descriptors: { readonly before: number, readonly after: number }
  readonly samples: readonly Sample[]
  /** Broken promises, in words. */
  readonly broken: readonly string[]
}

const MIB = 1024 * 1024
/** Connection errors may appear up to this many milliseconds after a fault has ended. */
const GRACE = 500
/**
 * Additional descriptors that are not a leak: a connection for the card, one for this measurement, those that the three gRPC clients keep,
 * and the connections to the gRPC server of the agent, at the most four, which close after a minute without calls.
 */
const SPARE = 11

type Clients = readonly (readonly [name: string, client: 'v1' | 'v03', transport: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'])[]
const CLIENTS: Clients = [
  ['SDK 1.3, JSON-RPC', 'v1', 'JSONRPC'],
  ['SDK 1.3, REST', 'v1', 'HTTP+JSON'],
  ['SDK 0.3, JSON-RPC', 'v03', 'JSONRPC'],
  ['SDK 0.3, REST', 'v03', 'HTTP+JSON'],
  ['SDK 1.3, gRPC', 'v1', 'GRPC'],
  ['SDK 0.3, gRPC', 'v03', 'GRPC']
]

export async function soak ({ seconds, seed, memory, say = () => {} }: SoakOptions): Promise<SoakReport> {
  quietSdk()
  const random = new Random(seed)
  const endings: Array<() => unknown> = []
  const bad = await faultyAgent({ teardown: ending => { endings.push(ending) } })
  const good = await startGrpcAgent({ kind: 'dual' })
  endings.push(() => good.close())
  const grpc = `127.0.0.1:${await freePort()}`
  const yaml = (i: number): string => configuration(bad.url, good, grpc, i)
  const gateway = await startGateway(yaml(0))
  const stop = new AbortController()
  const state = new FaultState()
  const counts: Counts = { own: 0, told: 0, cut: 0, left: 0, refused: 0, lost: 0, crossed: 0 }
  const broken: string[] = []
  const field: Field = { random, stop: stop.signal, counts, broken, faultSince: at => state.since(at) }
  try {
    const before = await gateway.sample(0)
    const [faulty, sdk] = [`${gateway.url}/faulty`, `${gateway.url}/sdk`]
    const cardUrl = `${sdk}/.well-known/agent-card.json`
    const leaving = await connect({ client: 'v1', transport: 'GRPC', cardUrl })
    const work = [
      ...Array.from({ length: 6 }, () => caller(field, faulty)),
      ...(await Promise.all(
        CLIENTS.map(async ([name, client, transport]) => ({
          running: sdkCaller(field, name, await connect({ client, transport, cardUrl }))
        }))
      )),
      refusedCaller(field, faulty),
      leaver(field, faulty),
      leaver(field, faulty),
      sdkLeaver(field, leaving),
      slowReader(field, faulty)
    ].map(one => ('running' in one ? one.running : one))
    const faults = faultsOn(field, bad, state)
    const reloads = reloading(field, gateway, yaml)
    const samples = await sampling(gateway, seconds, () => { good.received.length = good.grpcCalls.length = 0 }, say, counts)
    stop.abort()
    await Promise.all([...work, faults, reloads])
    await sleep(GRACE)
    for (const form of FORMS) {
      const last = await ask({ url: faulty }, form)
      if (last.status !== 200 || !last.text.includes(last.token)) {
        broken.push(`after all faults: ${form}: ${last.status ?? 'no answer'} ${last.text}`)
      }
    }
    const after = await settled(gateway, before.descriptors + SPARE)
    if (after > before.descriptors + SPARE) broken.push(`descriptors: ${before.descriptors} before, ${after} after`)
    const metrics = await gateway.metrics()
    for (const [, agent, n] of metrics.matchAll(/^a2a_gateway_streams_active\{agent="(\w+)"\} (\d+)$/gm)) {
      if (n !== '0') broken.push(`${n as string} streams of ${agent as string} are left`)
    }
    if (/outcome="gateway_error"\} [1-9]/.test(metrics)) broken.push('the gateway counts errors of its own')
    broken.push(...gateway.complaints().map(line => `the gateway reports a problem: ${line}`))
    const half = samples.slice(Math.floor(samples.length / 2))
    const trend = (of: 'heap' | 'rss' | 'descriptors'): Trend => trendOf(half.map(sample => [sample.at, sample[of]]))
    const trends = { heap: trend('heap'), rss: trend('rss'), descriptors: trend('descriptors') }
    if (memory) broken.push(...growths(trends))
    const code = await gateway.stop()
    if (code !== 0) broken.push(`exit code ${String(code)}`)
    return {
      seconds,
      seed,
      node: process.version,
      counts,
      faults: await faults,
      reloads: await reloads,
      trends,
      descriptors: { before: before.descriptors, after },
      samples,
      broken
    }
  } finally {
    stop.abort()
    if (gateway.running()) await gateway.stop()
    for (const ending of endings) await ending()
  }
}

/** Checks the growth over the second half: heap by at most 10 % or 3 MiB, resident memory by 15 % or 24 MiB, descriptors by 20 % or 10. */
function growths ({ heap, rss, descriptors }: SoakReport['trends']): string[] {
  const rises: readonly (readonly [string, Trend, number])[] = [
    ['the heap', heap, Math.max(heap.mean * 0.1, 3 * MIB)],
    ['resident memory', rss, Math.max(rss.mean * 0.15, 24 * MIB)],
    ['the number of descriptors', descriptors, Math.max(descriptors.mean * 0.2, 10)]
  ]
  return rises
    .filter(([, { rise }, bound]) => rise > bound)
    .map(
      ([what, { rise, mean }, bound]) =>
        `${what} grows by ${Math.round(rise)} over the second half, from a mean of ${Math.round(mean)}; at most ${Math.round(bound)} allowed`
    )
}

/** @param grpc address of the gRPC listener. @param i number of the configuration */
function configuration (bad: string, good: GrpcAgent, grpc: string, i: number): string {
  return [
    'version: 1',
    `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 10s, grpc: {listen: "${grpc}", publicAddress: "${grpc}"}}`,
    // A machine that does other work delays the event loop, which is no fault of the gateway.
    'shedding: {eventLoopDelay: 0s}',
    'telemetry: {logs: {level: info}, audit: {enabled: false}}',
    ...READS,
    'agents:',
    `  - {name: faulty, path: /faulty, upstream: {url: "${bad}", timeouts: {headers: 2s, idle: 2s}}, extensions: [any], responses: ${RESPONSES[i % 3] ?? 'off'}, grpc: {enabled: false}}`,
    `  - {name: sdk, path: /sdk, upstream: {url: "${good.url}"}, grpc: {upstream: "grpc://${good.grpcAddress}"}, responses: ${i % 2 === 0 ? 'observe' : 'enforce'}}`
  ].join('\n')
}

class FaultState {
  private on = false
  private ended = 0

  set (on: boolean): void {
    this.on = on
    if (!on) this.ended = Date.now()
  }

  since (at: number): boolean {
    return this.on || at <= this.ended + GRACE
  }
}

/** Starts one fault after another, with pauses of about the same length. @returns the number of faults */
async function faultsOn ({ random, stop }: Field, bad: FaultyAgent, state: FaultState): Promise<number> {
  const names = Object.keys(FAULTS) as FaultName[]
  let count = 0
  while (!stop.aborted) {
    await sleep(800 + random.below(800))
    if (stop.aborted) break
    count++
    state.set(true)
    if (random.below(5) === 0) {
      await bad.down()
      await sleep(random.below(300))
      await bad.up()
    } else {
      bad.fault = FAULTS[random.of(names)]
      await sleep(200 + random.below(600))
      bad.fault = null
    }
    state.set(false)
  }
  return count
}

async function reloading ({ random, stop }: Field, gateway: SoakedGateway, yaml: (i: number) => string): Promise<number> {
  let count = 0
  while (!stop.aborted) {
    await sleep(2_000 + random.below(3_000), undefined, { signal: stop }).catch(() => {})
    if (!stop.aborted) gateway.rewrite(yaml(++count))
  }
  return count
}

async function sampling (
  gateway: SoakedGateway,
  seconds: number,
  tidy: () => void,
  say: (text: string) => void,
  counts: Counts
): Promise<Sample[]> {
  const samples: Sample[] = []
  const begun = performance.now()
  const step = Math.max(1, Math.min(5, seconds / 20))
  for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - begun) / 1_000) {
    await sleep(Math.min(step, seconds - elapsed) * 1_000)
    const sample = await gateway.sample(Math.round((performance.now() - begun) / 100) / 10)
    samples.push(sample)
    tidy()
    say(
      `${sample.at} s: heap ${(sample.heap / MIB).toFixed(1)} MiB, resident ${(sample.rss / MIB).toFixed(0)} MiB, ${sample.descriptors} descriptors, ${counts.own} responses`
    )
  }
  return samples
}

/** Waits until idle connections are closed. @returns the number of open descriptors at that time */
async function settled (gateway: SoakedGateway, enough: number): Promise<number> {
  let { descriptors } = await gateway.sample(0)
  for (const end = Date.now() + 30_000; descriptors > enough && Date.now() < end; await sleep(500)) {
    ({ descriptors } = await gateway.sample(0))
  }
  return descriptors
}
