/** Figures of speed and memory in README.md and docs/how-to/size.md are those of bench/results.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'

const read = (file: string): string => readFileSync(join(packageRoot(), file), 'utf8')
const README = read('README.md')
const SIZE = read('docs/how-to/size.md')
const RESULTS = read('bench/RESULTS.md')

/** The median in a column of bench/RESULTS.md: of the table below these headings, in the row of a party. */
function median (heading: string, work: string, party: string, column: string): number {
  const section = RESULTS.split(/^## /m).find(one => one.startsWith(`${heading}\n`)) ?? ''
  const part = section.split(/^### /m).find(one => one.startsWith(`${work}\n`)) ?? ''
  const [head = [], , ...rows] = [...part.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(/ *\| */))
  const cell = rows.find(([name]) => name === party)?.[head.indexOf(column)] ?? ''
  const value = Number(/^[\d.,]+/.exec(cell)?.[0].replaceAll(',', ''))
  if (!Number.isFinite(value)) throw new Error(`${heading}, ${work}, ${party}, ${column}: ${cell}`)
  return value
}

/** The figure of a page, by the text around it, and the measured one. A page rounds, by at most 7 %. */
const FIGURES: readonly (readonly [text: string, pattern: RegExp, measured: number])[] = [
  [README, /calls of 400 B per second \| ([\d,]+)/, median('throughput', '400 B', 'gateway', 'calls per second')],
  [README, /calls of 400 B per second \| [\d,]+ \| ([\d,]+)/, median('throughput', '400 B', 'node-proxy', 'calls per second')],
  [README, /median, p99 \| [\d.]+ ms, ([\d.]+) ms/, median('latency', '400 B', 'gateway', 'added p99, ms')],
  [README, /median, p99 \| [^|]+ \| [\d.]+ ms, ([\d.]+) ms/, median('latency', '400 B', 'node-proxy', 'added p99, ms')],
  [README, /each open stream \| (\d+) MB/, median('start', 'start to ready', 'gateway', 'idle memory, MB')],
  [README, /each open stream \| \d+ MB; (\d+) kB/, median('memory', '2000 open streams', 'gateway', 'resident, kB')],
  [SIZE, /calls of 400 B \| ([\d,]+)/, median('throughput', '400 B', 'gateway', 'calls per second')],
  [SIZE, /calls of 50 kB of text \| ([\d,]+)/, median('throughput', '50 kB', 'gateway', 'calls per second')],
  [SIZE, /calls of 1 MB \| ([\d,]+)/, median('throughput', '1 MB', 'gateway', 'calls per second')],
  [SIZE, /streams of 50 events \| ([\d,]+)/, median('stream', '50 events', 'gateway', 'calls per second')],
  [SIZE, /over gRPC \| ([\d,]+)/, median('grpc', '400 B', 'gateway', 'calls per second')],
  [SIZE, /400 B, traced \| ([\d,]+)/, median('throughput', '400 B', 'gateway-traced', 'calls per second')],
  [SIZE, /calls of 400 B \| [\d,]+ \| (\d+) µs/, median('throughput', '400 B', 'gateway', 'CPU µs per call')],
  [SIZE, /CPU of a call of 400 B: (\d+) µs/, median('throughput', '400 B', 'node-proxy', 'CPU µs per call')],
  [SIZE, /an idle process; (\d+) MB measured/, median('start', 'start to ready', 'gateway', 'idle memory, MB')],
  [SIZE, /`ext_authz` takes ([\d.]+) times/, median('mesh', '400 B', 'envoy, ext_authz', 'CPU µs per call') / median('mesh', '400 B', 'gateway', 'CPU µs per call')]
]

for (const [text, pattern, measured] of FIGURES) {
  t.test(String(pattern), async t => {
    const shown = Number(pattern.exec(text)?.[1]?.replaceAll(',', ''))
    t.ok(Math.abs(shown - measured) <= 0.07 * measured, `the page has ${shown}, bench/RESULTS.md ${measured}`)
  })
}

t.test('the date and the machine', async t => {
  const [, date = ''] = /^Run of (\d{4}-\d\d-\d\d)/m.exec(RESULTS) ?? []
  for (const text of [README, SIZE]) t.ok(text.includes(date) && text.includes('2 cores of an AMD EPYC'), date)
})
