/**
 * The performance goals of the gateway, and a check of each goal against a run. The check compares only figures of one run, as ratios where
 * a baseline exists.
 */
import type { Results, Row } from './results.js'
import { figures, rowOf } from './results.js'
import type { Spread } from './statistics.js'
import { difference, pairwise, ratio, spread } from './statistics.js'

export interface Goal {
  readonly work: string
  readonly against: string
  readonly kind: 'at least' | 'at most'
  readonly bound: number
  readonly unit: '×' | 'ms' | 'kB'
  /** @returns null when the run did not measure the goal */
  measure (results: Results): Measurement | null
}

export interface Measurement extends Spread {
  /** A note that a reader needs to interpret the figure. */
  readonly note?: string
}

/** A proxy whose core was less busy than this was not the bottleneck: the load generator was. */
const SATURATED = 0.9

/**
 * The ratio of the calls per second. When one of the two did not use its whole core, the ratio of the CPU time per call estimates the
 * capacity instead.
 */
export function capacityRatio (ours: Row, theirs: Row): Measurement {
  const busy = [ours, theirs].map(row => spread(figures(row, 'busy')).median)
  if (busy.every(share => share >= SATURATED)) return spread(pairwise(figures(ours, 'perSecond'), figures(theirs, 'perSecond'), ratio))
  return { ...spread(pairwise(figures(theirs, 'cpuPerCall'), figures(ours, 'cpuPerCall'), ratio)), note: 'by CPU' }
}

const capacity = (name: string, work: string, party: string, than: string) => (results: Results): Measurement | null => {
  const [ours, theirs] = [rowOf(results, name, work, party), rowOf(results, name, work, than)]
  return ours === null || theirs === null ? null : capacityRatio(ours, theirs)
}

/** A measure of two rows, combined round by round. */
const times =
  (name: string, measure: string, party: string, than: string, combine: (a: number, b: number) => number) =>
    (results: Results): Measurement | null => {
      const [ours, theirs] = [rowOfCase(results, name, party), rowOfCase(results, name, than)]
      return ours === null || theirs === null ? null : spread(pairwise(figures(ours, measure), figures(theirs, measure), combine))
    }

const milliseconds = (a: number, b: number): number => difference(a, b) / 1_000

const alone = (name: string, measure: string, divisor: number) => (results: Results): Measurement | null => {
  const row = rowOfCase(results, name, 'gateway')
  return row === null ? null : spread(figures(row, measure).map(figure => figure / divisor))
}

/** The row of a party in a case with only one work. */
function rowOfCase (results: Results, name: string, party: string): Row | null {
  const work = results.measured.find(one => one.case === name)?.work
  return work === undefined ? null : rowOf(results, name, work, party)
}

export const GOALS: readonly Goal[] = [
  {
    work: 'calls of 400 B',
    against: 'bare `@fastify/http-proxy`',
    kind: 'at least',
    bound: 1.6,
    unit: '×',
    measure: capacity('throughput', '400 B', 'gateway', 'fastify-proxy')
  },
  {
    work: 'calls of 400 B',
    against: 'bare `node:http` and undici',
    kind: 'at least',
    bound: 0.95,
    unit: '×',
    measure: capacity('throughput', '400 B', 'gateway', 'node-proxy')
  },
  {
    work: 'calls of 400 B',
    against: 'nginx with checks in njs',
    kind: 'at least',
    bound: 0.6,
    unit: '×',
    measure: capacity('throughput', '400 B', 'gateway', 'nginx-njs')
  },
  {
    work: 'calls of 50 kB',
    against: 'nginx with checks in njs',
    kind: 'at least',
    bound: 1.5,
    unit: '×',
    measure: capacity('throughput', '50 kB', 'gateway', 'nginx-njs')
  },
  {
    work: 'calls of 1 MB',
    against: 'bare `node:http` and undici',
    kind: 'at least',
    bound: 0.7,
    unit: '×',
    measure: capacity('throughput', '1 MB', 'gateway', 'node-proxy')
  },
  {
    work: 'latency added at 1,000 calls per second, p50',
    against: 'direct',
    kind: 'at most',
    bound: 0.3,
    unit: 'ms',
    measure: times('latency', 'p50', 'gateway', 'direct', milliseconds)
  },
  {
    work: 'latency added at 1,000 calls per second, p99',
    against: 'direct',
    kind: 'at most',
    bound: 1.5,
    unit: 'ms',
    measure: times('latency', 'p99', 'gateway', 'direct', milliseconds)
  },
  {
    work: 'tracing every call, p99',
    against: 'tracing off',
    kind: 'at most',
    bound: 1.5,
    unit: '×',
    measure: times('latency', 'p99', 'gateway-traced', 'gateway', ratio)
  },
  {
    work: 'first event of a stream, added p50',
    against: 'direct',
    kind: 'at most',
    bound: 1,
    unit: 'ms',
    measure: times('first-event', 'p50', 'gateway', 'direct', milliseconds)
  },
  { work: 'memory per open stream', against: '', kind: 'at most', bound: 40, unit: 'kB', measure: alone('memory', 'rss', 1_000) },
  {
    work: '1,000 agents, calls of 400 B',
    against: 'one agent',
    kind: 'at least',
    bound: 0.95,
    unit: '×',
    measure: capacity('size', '400 B', '1,000 agents', 'one agent')
  },
  {
    work: '1,000 rules on other agents, calls of 400 B',
    against: 'one agent',
    kind: 'at least',
    bound: 0.95,
    unit: '×',
    measure: capacity('size', '400 B', '1,000 rules on other agents', 'one agent')
  },
  { work: 'start to ready', against: '', kind: 'at most', bound: 500, unit: 'ms', measure: alone('start', 'milliseconds', 1) }
]

/** @returns the distance from the bound, in words */
export function verdict ({ kind, bound }: Goal, figure: number): string {
  const reached = kind === 'at least' ? figure / bound : bound / Math.max(figure, Number.EPSILON)
  const percent = Math.round((kind === 'at least' ? figure / bound - 1 : 1 - figure / bound) * 100)
  if (percent >= 0 && reached >= 1) return `met, by ${percent}%`
  return reached < 0.5
    ? `**missed**: ${Math.round(1 / reached).toLocaleString('en-US')} times ${kind === 'at least' ? 'too little' : 'too much'}`
    : `**missed**, by ${Math.max(1, -percent)}%`
}
