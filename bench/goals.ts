/**
 * The performance goals of the gateway, and a check of each goal against a run. The check compares only figures of one run, as ratios where
 * a baseline exists.
 */
import {
  ALONE, ANONYMOUS, COLD, FLOODED, FORGED, GRPC_EVENTS, GRPC_JS_PROXY, GRPC_UNARY, HTTP2_PROXY, OBSERVED, QUIET, REMEMBERED, UNREAD, WARM,
  WITH_STREAMS
} from './names.js'
import type { Results, Row } from './results.js'
import { figures, rowOf } from './results.js'
import type { Spread } from './statistics.js'
import { difference, pairwise, ratio, spread } from './statistics.js'

export interface Goal {
  readonly work: string
  readonly against: string
  readonly kind: 'at least' | 'at most'
  readonly bound: number
  readonly unit: '×' | 'ms' | 'kB' | 'MB'
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

type Measure = Goal['measure']

/** The rows of two parties or configurations for one work, combined. */
const compared =
  (name: string, work: string, ours: string, theirs: string, combine: (a: Row, b: Row) => Measurement): Measure =>
    results => {
      const [a, b] = [rowOf(results, name, work, ours), rowOf(results, name, work, theirs)]
      return a === null || b === null ? null : combine(a, b)
    }

const capacity = (name: string, work: string, ours: string, theirs: string): Measure => compared(name, work, ours, theirs, capacityRatio)

/** A measure of two rows, combined round by round. */
const figureOf = (measure: string, combine: (a: number, b: number) => number) => (ours: Row, theirs: Row): Measurement =>
  spread(pairwise(figures(ours, measure), figures(theirs, measure), combine))

const milliseconds = (a: number, b: number): number => difference(a, b) / 1_000

/** A measure of the gateway alone. A quick run has the same rows for a smaller work. */
const alone = (name: string, measure: string, divisor: number): Measure => results => {
  const work = results.measured.find(one => one.case === name)?.work ?? ''
  const row = rowOf(results, name, work, 'gateway')
  return row === null ? null : spread(figures(row, measure).map(figure => figure / divisor))
}

/** How the page names the parties of goals. */
export const PARTIES: Readonly<Record<string, string>> = {
  'fastify-proxy': 'bare `@fastify/http-proxy`',
  'node-proxy': 'bare `node:http` and undici',
  [HTTP2_PROXY]: 'bare `node:http2`',
  [GRPC_JS_PROXY]: 'a proxy of `@grpc/grpc-js`',
  'envoy-lua': 'Envoy with checks in Lua',
  'nginx-njs': 'nginx with checks in njs'
}

/** Goals for the capacity of the gateway with one work of the case `core`, by party. */
function capacities (title: string, work: string, bounds: Readonly<Record<string, number>>): Goal[] {
  return Object.entries(bounds).map(([party, bound]) => ({
    work: title, against: PARTIES[party] ?? party, kind: 'at least', bound, unit: '×', measure: capacity('core', work, 'gateway', party)
  }))
}

export const GOALS: readonly Goal[] = [
  ...capacities('calls of 400 B', '400 B', {
    'fastify-proxy': 2, 'node-proxy': 0.75, 'envoy-lua': 1, 'nginx-njs': 0.45
  }),
  ...['Markdown', 'JSON in a string', 'Chinese'].flatMap(kind =>
    capacities(`calls of 50 kB of ${kind}`, `50 kB of ${kind}`, { 'fastify-proxy': 1.2, 'nginx-njs': 1.5 })
  ),
  ...capacities('calls of 50 kB of data', '50 kB of data', { 'fastify-proxy': 0.5, 'nginx-njs': 2 }),
  ...capacities('calls of 1 MB of base64', '1 MB', { 'node-proxy': 1.2 }),
  {
    work: 'stream with object schemas observed',
    against: 'stream that is not read',
    kind: 'at least',
    bound: 0.5,
    unit: '×',
    measure: capacity('reading', '500 events', OBSERVED, UNREAD)
  },
  {
    work: 'calls of 400 B with 2,000 streams open',
    against: 'no streams',
    kind: 'at least',
    bound: 0.9,
    unit: '×',
    measure: capacity('crowded', 'gateway', WITH_STREAMS, ALONE)
  },
  {
    work: 'tracing every call, CPU per call of 400 B',
    against: 'tracing off',
    kind: 'at most',
    bound: 1.1,
    unit: '×',
    measure: compared('throughput', '400 B', 'gateway-traced', 'gateway', figureOf('cpuPerCall', ratio))
  },
  {
    work: 'calls with a remembered token, CPU per call of 400 B',
    against: ANONYMOUS,
    kind: 'at most',
    bound: 1.05,
    unit: '×',
    measure: compared('identity', '400 B', REMEMBERED, ANONYMOUS, figureOf('cpuPerCall', ratio))
  },
  {
    work: 'calls with a remembered token beside a flood of forged ones, p99',
    against: QUIET,
    kind: 'at most',
    bound: 2,
    unit: '×',
    measure: compared('identity', FORGED, FLOODED, QUIET, figureOf('p99', ratio))
  },
  ...Object.entries({ [HTTP2_PROXY]: 0.75, [GRPC_JS_PROXY]: 1.8 }).map(([party, bound]): Goal => ({
    work: 'calls of 400 B over gRPC',
    against: PARTIES[party] ?? party,
    kind: 'at least',
    bound,
    unit: '×',
    measure: capacity('grpc', GRPC_UNARY, 'gateway', party)
  })),
  {
    work: 'streamed event of 400 B over gRPC, CPU',
    against: PARTIES[HTTP2_PROXY] ?? '',
    kind: 'at most',
    bound: 1.3,
    unit: '×',
    measure: compared('grpc', GRPC_EVENTS, 'gateway', HTTP2_PROXY, figureOf('cpuPerCall', ratio))
  },
  {
    work: 'latency added at 1,000 calls per second, p99, warm',
    against: 'direct',
    kind: 'at most',
    bound: 1,
    unit: 'ms',
    measure: compared('cold', WARM, 'gateway', 'direct', figureOf('p99', milliseconds))
  },
  {
    work: 'latency added at 1,000 calls per second, p99, first 2,000 calls',
    against: 'direct',
    kind: 'at most',
    bound: 2.5,
    unit: 'ms',
    measure: compared('cold', COLD, 'gateway', 'direct', figureOf('p99', milliseconds))
  },
  {
    work: 'first event of a stream, added p50',
    against: 'direct',
    kind: 'at most',
    bound: 1,
    unit: 'ms',
    measure: compared('first-event', '3 events, 10 ms apart', 'gateway', 'direct', figureOf('p50', milliseconds))
  },
  {
    work: 'connections of the worker with most of them',
    against: 'mean',
    kind: 'at most',
    bound: 1.5,
    unit: '×',
    measure: alone('spread', 'spread', 1)
  },
  { work: 'memory per open stream', against: '', kind: 'at most', bound: 20, unit: 'kB', measure: alone('memory', 'rss', 1_000) },
  { work: 'start to ready, without warm-up', against: '', kind: 'at most', bound: 350, unit: 'ms', measure: alone('start', 'milliseconds', 1) },
  { work: 'memory of an idle gateway', against: '', kind: 'at most', bound: 85, unit: 'MB', measure: alone('start', 'idle', 1_000_000) },
  ...['1,000 agents', '1,000 rules on other agents'].map((configuration): Goal => ({
    work: `${configuration}, calls of 400 B`,
    against: 'one agent',
    kind: 'at least',
    bound: 0.95,
    unit: '×',
    measure: capacity('size', '400 B', configuration, 'one agent')
  }))
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
