/** Generates `bench/RESULTS.md` from `bench/results.json` alone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import type { Measurement } from './goals.js'
import { GOALS, capacityRatio, verdict } from './goals.js'
import { FORGED } from './names.js'
import type { Conditions, Measured, Results, Row } from './results.js'
import { figures } from './results.js'
import type { Spread } from './statistics.js'
import { difference, pairwise, ratio, spread } from './statistics.js'

/** The page for the stored results. */
export function resultsPage (): string {
  return render(JSON.parse(readFileSync(join(packageRoot(), 'bench', 'results.json'), 'utf8')) as Results)
}

export function render (results: Results): string {
  return `${[
    '<!-- Made by bench/render.ts from bench/results.json. Run "npm run bench". -->',
    '# Benchmark results',
    'Medians of rounds, quartiles in parentheses. Method: [docs/contributing/benchmarks.md](../docs/contributing/benchmarks.md). Do not compare figures of two runs; compare ratios of one run.',
    ...conditions(results),
    '## Goals',
    goals(results),
    ...sections(results.measured)
  ].join('\n\n')}\n`
}

function conditions ({ conditions: c, parties }: Results): string[] {
  const absent = parties.filter(({ version }) => version === null)
  return [
    `Run of ${c.at.slice(0, 10)}, commit ${c.commit}: Node ${c.node}${c.oldest === undefined ? '' : ` (oldest: ${c.oldest})`}, Linux ${c.kernel}, ${c.cores} cores (${c.cpu}), ${c.pinned === null ? 'not pinned' : `proxy on core ${c.pinned.proxy}, load and agent on ${c.pinned.load}`}; ${c.tool}, ${c.rounds} rounds of ${c.seconds} s, ${Math.round(c.took / 60)} minutes in all. Load of the machine before: ${c.loadBefore.toFixed(2)}.${c.loadDuring === undefined ? '' : ` Other processes during the run: ${c.loadDuring.toFixed(2)} cores.`}${foreignLoad(c) > 0.5 ? ' **Other work used the machine during the run: these figures are not reliable.**' : ''}`,
    table(
      ['party', 'what it is', 'version'],
      parties.filter(one => !absent.includes(one)).map(({ name, title, version }) => [name, title, version ?? ''])
    ),
    ...(absent.length === 0 ? [] : [`Not measured, because not installed: ${absent.map(({ name }) => name).join(', ')}.`])
  ]
}

/** Cores that others used: before the run, or during it. */
export const foreignLoad = ({ loadBefore, loadDuring = 0 }: Conditions): number => Math.max(loadBefore, loadDuring)

function goals (results: Results): string {
  return table(['work', 'against', 'goal', 'measured', ''], GOALS.map(goal => {
    const found = goal.measure(results)
    const bound = `${goal.kind === 'at least' ? '≥' : '≤'} ${goal.bound}${goal.unit === '×' ? '×' : ` ${goal.unit}`}`
    return [
      goal.work,
      goal.against,
      bound,
      found === null ? 'not measured' : measurement(found, goal.unit),
      found === null ? '' : verdict(goal, found.median)
    ]
  }))
}

function sections (measured: readonly Measured[]): string[] {
  return [...new Set(measured.map(one => one.case))].flatMap(name => {
    const tables = measured.filter(one => one.case === name)
    const about = tables[0]?.about ?? ''
    return [
      `## ${name}`,
      `${about[0]?.toUpperCase() ?? ''}${about.slice(1)}.`,
      ...tables.flatMap(one => [`### ${one.work}`, (TABLES[`${name} ${one.work}`] ?? TABLES[name] ?? capacityTable)(one)])
    ]
  })
}

/** By case, or by case and work. */
const TABLES: Readonly<Record<string, (measured: Measured) => string>> = {
  [`identity ${FORGED}`]: timeTable,
  core: coreTable,
  latency: timeTable,
  cold: timeTable,
  'first-event': timeTable,
  memory: memoryTable,
  start: startTable,
  spread: spreadTable
}

/** Cases whose rows are configurations, which are compared with the first. In the others, the first party is compared with the rest. */
const CONFIGURATIONS = new Set(['size', 'reading', 'crowded', 'identity', 'decisions'])

/** The first row is the baseline for the others. */
function capacityTable ({ rows, case: name }: Measured): string {
  const [base] = rows
  const who = CONFIGURATIONS.has(name) ? 'configuration' : 'party'
  const compared = who === 'party' ? `${base?.party ?? ''} against it` : 'against the first'
  return table([who, compared, 'calls per second', 'CPU µs per call', 'core used'], rows.map(row => withFigures(row, 4, () => {
    const proxy = figures(row, 'busy').length > 0
    const against =
      base === undefined || base.broken !== undefined || row === base || !proxy
        ? ''
        : measurement(who === 'party' ? capacityRatio(base, row) : capacityRatio(row, base), '×')
    return [
      against,
      short(spread(figures(row, 'perSecond'))),
      proxy ? short(spread(figures(row, 'cpuPerCall'))) : '',
      proxy ? `${Math.round(spread(figures(row, 'busy')).median * 100)}%` : ''
    ]
  })))
}

/** The figures that users ask for. Without a whole core, the CPU time of a call says what a core carries. */
function coreTable ({ rows }: Measured): string {
  const base = rows.find(row => row.party === 'gateway')
  const direct = rows.find(row => row.party === 'direct')
  return table(
    ['party', 'gateway against it', 'calls per second and core', 'CPU µs per call', 'added p50, ms', 'added p99, ms', 'resident, MB'],
    rows.filter(row => row !== direct).map(row => withFigures(row, 6, () => {
      const cpu = figures(row, 'cpuPerCall')
      const added = (measure: string): string => direct === undefined
        ? ''
        : short(spread(pairwise(figures(row, measure), figures(direct, measure), difference).map(thousandth)))
      return [
        base === undefined || base.broken !== undefined || row === base ? '' : measurement(capacityRatio(base, row), '×'),
        cpu.length === 0 ? '' : short(spread(cpu.map(microseconds => 1e6 / microseconds))),
        cpu.length === 0 ? '' : short(spread(cpu)),
        added('p50'),
        added('p99'),
        short(spread(figures(row, 'resident').map(bytes => bytes / 1e6)))
      ]
    }))
  )
}

/** Times in microseconds, shown as milliseconds, as an addition to the times of `direct`. */
function timeTable ({ rows }: Measured): string {
  const direct = rows.find(row => row.party === 'direct')
  return table(
    ['party', 'added p50, ms', 'added p99, ms', 'p50, ms', 'p99, ms', 'longest, ms', 'sent late p99, ms', 'CPU µs per call'],
    rows.map(row =>
      withFigures(row, 7, () => {
        const added = (measure: string): string =>
          direct === undefined || row === direct
            ? ''
            : short(spread(pairwise(figures(row, measure), figures(direct, measure), difference).map(thousandth)))
        const own = (measure: string): string => short(spread(figures(row, measure).map(thousandth)))
        const cpu = figures(row, 'cpuPerCall')
        return [added('p50'), added('p99'), own('p50'), own('p99'), own('max'), own('late99'), cpu.length === 0 ? '' : short(spread(cpu))]
      })
    )
  )
}

function memoryTable ({ rows }: Measured): string {
  const kilobytes = (row: Row, measure: string): string => short(spread(figures(row, measure).map(thousandth)))
  const [base] = rows
  return table(
    ['party', `${base?.party ?? ''} against it`, 'resident, kB', 'heap, kB', 'buffers, kB'],
    rows.map(row =>
      withFigures(row, 4, () => [
        base === undefined || base.broken !== undefined || row === base
          ? ''
          : measurement(spread(pairwise(figures(base, 'rss'), figures(row, 'rss'), ratio)), '×'),
        kilobytes(row, 'rss'),
        kilobytes(row, 'heap'),
        kilobytes(row, 'external')
      ])
    )
  )
}

function startTable ({ rows }: Measured): string {
  const columns: ReadonlyArray<readonly [string, string, number]> = [
    ['ms without warm-up', 'milliseconds', 1], ['ms', 'ready', 1], ['CPU, ms', 'cpu', 1], ['idle memory, MB', 'idle', 1_000_000]
  ]
  // Results of version 1 have only the time.
  const shown = columns.filter(([, measure]) => rows.some(row => figures(row, measure).length > 0))
  return table(
    ['', ...shown.map(([title]) => title)],
    rows.map(row => withFigures(row, shown.length, () =>
      shown.map(([, measure, divisor]) => short(spread(figures(row, measure).map(figure => figure / divisor))))))
  )
}

function spreadTable ({ rows }: Measured): string {
  return table(
    ['', 'connections of a worker, most / mean', 'workers without a connection'],
    rows.map(row => withFigures(row, 2, () => ['spread', 'without'].map(measure => short(spread(figures(row, measure))))))
  )
}

const thousandth = (figure: number): number => figure / 1_000

function withFigures (row: Row, columns: number, cells: () => string[]): string[] {
  return [
    row.party,
    ...(row.broken === undefined
      ? cells()
      : [
          `**wrong responses**: ${row.broken.replaceAll('|', '\\|').replaceAll('\n', ' ')}`,
          ...Array.from({ length: columns - 1 }, () => '')
        ])
  ]
}

function measurement (found: Measurement, unit: string): string {
  return `${amount(found.median)}${unit === '×' ? '×' : ` ${unit}`} (${amount(found.low)}-${amount(found.high)})${found.note === undefined ? '' : `, ${found.note}`}`
}

function short ({ median, low, high }: Spread): string {
  return `${amount(median)} (${amount(low)}-${amount(high)})`
}

function amount (figure: number): string {
  const size = Math.abs(figure)
  return size >= 1_000
    ? Math.round(figure).toLocaleString('en-US')
    : size >= 100
      ? figure.toFixed(0)
      : size >= 10
        ? figure.toFixed(1)
        : figure.toFixed(2)
}

export function table (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}\|/g, ' |')).join('\n')
}
