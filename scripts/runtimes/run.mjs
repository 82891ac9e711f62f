/**
 * `npm run test:runtimes [-- --versions=20,24] [--suites=unit,corpora]`: runs the suites on several versions of Node, compares what the
 * readers of the versions make of the same inputs, and prints a table. Without options: all suites on all versions.
 *
 *     --versions=oldest,shipped   the oldest supported version, and the one of the container image
 *     --except-own                not on the major version that runs this script, for a run after the suites themselves
 *     --count=5000                inputs for each cheap reader in the comparison (compare.mjs)
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { ROOT, buildTests } from '../build-tests.mjs'
import { compareVersions, differenceText } from './compare.mjs'
import { environmentOf, NO_PROGRAMS, OLDEST, programsOf, SHIPPED, VERSIONS } from './programs.mjs'

/** Arguments of Node for each suite. The integration suite contains the corpora and the hostile suite; it runs only when it is named. */
const SUITES = {
  unit: ['scripts/test.mjs', 'unit'],
  corpora: ['scripts/test.mjs', 'corpora'],
  hostile: ['scripts/test.mjs', 'hostile'],
  fuzz: ['dist/test/fuzz/run.js', '--seconds=2', `--seed=${process.env.A2A_TEST_SEED ?? '1'}`],
  integration: ['scripts/test.mjs', 'integration']
}
const COMPARE = 'compare'
const DEFAULT = ['unit', 'corpora', 'hostile', 'fuzz', COMPARE]

const { values } = parseArgs({
  options: {
    versions: { type: 'string', default: Object.keys(VERSIONS).join(',') },
    suites: { type: 'string', default: DEFAULT.join(',') },
    count: { type: 'string', default: '1000' },
    'except-own': { type: 'boolean', default: false }
  }
})
const own = process.versions.node.split('.')[0]
const named = [...new Set(values.versions.split(',').map(name => ({ oldest: OLDEST, shipped: SHIPPED })[name] ?? name))]
const suites = values.suites.split(',')
const unknown = [
  ...named.filter(major => VERSIONS[major] === undefined),
  ...suites.filter(name => SUITES[name] === undefined && name !== COMPARE)
]
if (unknown.length > 0 || !(Number(values.count) > 0)) {
  console.error(`usage: npm run test:runtimes [-- --versions=${Object.keys(VERSIONS).join(',')}] [--suites=${Object.keys(SUITES).join(',')},${COMPARE}] [--count=N] [--except-own]`)
  process.exit(2)
}
if (NO_PROGRAMS !== null) {
  console.log(`# skipped: ${NO_PROGRAMS}\n# { total: 1, pass: 0, fail: 0, skip: 1 }`)
  process.exit(0)
}
const programs = programsOf(named)

const rows = []
for (const suite of suites.filter(name => name !== COMPARE)) {
  for (const major of named) {
    if (values['except-own'] && major === own) continue
    console.log(`\n== ${suite} on Node ${VERSIONS[major]}`)
    rows.push({ suite, major, ...await run(programs[major], SUITES[suite]) })
  }
}
if (suites.includes(COMPARE)) {
  console.log(`\n== what the readers of Node ${named.join(', ')} make of the same inputs`)
  await buildTests()
  const begin = performance.now()
  const seed = Number(process.env.A2A_TEST_SEED ?? 1)
  const { compared, differences } = await compareVersions({ programs, count: Number(values.count), seed })
  for (const one of differences) console.log(`not ok - ${differenceText(one)}`)
  const [fail, seconds] = [differences.length, (performance.now() - begin) / 1_000]
  rows.push({ suite: COMPARE, major: named.join(' '), pass: compared - new Set(differences.map(({ reader }) => reader)).size, fail, skip: 0, seconds })
}

const WIDTHS = [13, 12, 9, 9, 9, 9]
const line = cells => cells.map((cell, i) => i === 0 ? String(cell).padEnd(WIDTHS[0]) : String(cell).padStart(WIDTHS[i])).join('')
console.log(`\n${line(['suite', 'Node', 'passed', 'failed', 'skipped', 'seconds'])}`)
for (const { suite, major, pass, fail, skip, seconds } of rows) {
  console.log(line([suite, VERSIONS[major] ?? major, pass, fail, skip, seconds.toFixed(1)]))
}
const sum = kind => rows.reduce((total, row) => total + row[kind], 0)
console.log(`# { total: ${sum('pass') + sum('fail') + sum('skip')}, ${['pass', 'fail', 'skip'].map(kind => `${kind}: ${sum(kind)}`).join(', ')} }`)
process.exitCode = sum('fail') === 0 ? 0 : 1

/** Runs a suite, prints its output, and returns its counts. A suite that fails without a count has one failure. */
async function run (program, args) {
  const begin = performance.now()
  const child = spawn(program, args, { cwd: ROOT, env: environmentOf(program), stdio: ['ignore', 'pipe', 'inherit'] })
  const output = []
  child.stdout.on('data', chunk => {
    output.push(chunk)
    process.stdout.write(chunk)
  })
  const code = await new Promise(resolve => { child.on('close', resolve).on('error', () => { resolve(1) }) })
  const text = Buffer.concat(output).toString()
  const counts = /^# \{ total: \d+, pass: (\d+), fail: (\d+), skip: (\d+) \}$/m.exec(text)
  // The fuzzer prints one line for each target that it has finished.
  const [pass, fail, skip] = counts === null ? [text.match(/executions \(\d+\/s\)/g)?.length ?? 0, 0, 0] : counts.slice(1).map(Number)
  return { pass, fail: code === 0 ? fail : Math.max(fail, 1), skip, seconds: (performance.now() - begin) / 1_000 }
}
