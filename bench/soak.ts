/**
 * Sends ten minutes of mixed traffic through a real gateway, with an agent that misbehaves and a configuration that changes. The promises:
 * no response is lost or reaches another caller, and memory and descriptors stay constant. The script prints a table, writes
 * bench/soak.json, and exits with code 1 when a promise is broken.
 *
 *     npm run soak -- [--minutes=10] [--seed=1]
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '#config/paths.js'
import { soak } from './soak/run.js'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } } })
const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('--minutes must be a number above 0, --seed an integer')
  process.exit(2)
}
const report = await soak({ seconds: minutes * 60, seed, memory: true, say: text => { console.log(text) } })
writeFileSync(join(packageRoot(), 'bench/soak.json'), `${JSON.stringify(report, null, 2)}\n`)

const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(2)} MiB`
const { counts, trends, descriptors } = report
const rows: readonly (readonly [string, string | number])[] = [
  ['own responses', counts.own],
  ['rejected by the gateway, as expected', counts.refused],
  ['errors reported during a fault', counts.told],
  ['visibly interrupted during a fault', counts.cut],
  ['clients that disconnected', counts.left],
  ['lost', counts.lost],
  ['crossed', counts.crossed],
  ['faults', report.faults],
  ['reloads', report.reloads],
  ['heap, second half: mean, rise', `${mib(trends.heap.mean)}, ${mib(trends.heap.rise)}`],
  ['resident, second half: mean, rise', `${mib(trends.rss.mean)}, ${mib(trends.rss.rise)}`],
  ['descriptors: before, after', `${descriptors.before}, ${descriptors.after}`]
]
console.log(
  `\n${minutes} min, seed ${seed}, Node ${process.version}\n\n| | |\n|---|---|\n${rows.map(([what, value]) => `| ${what} | ${value} |`).join('\n')}\n`
)
for (const line of report.broken) console.log(`BROKEN: ${line}`)
process.exit(report.broken.length === 0 ? 0 : 1)
