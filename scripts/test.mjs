/**
 * Compiles the tests once, runs them, and prints one line for each process, skipped tests with their reasons, and failures.
 *
 *     node scripts/test.mjs unit|integration|system|interop   one suite: see suites.mjs
 *     node scripts/test.mjs corpora|hostile   a part of the integration suite
 *     node scripts/test.mjs wire/json e2e/    or: npm test -- wire/json e2e/; the files whose path contains one of the texts
 *     node scripts/test.mjs --times unit                              prints the processes again, sorted by processor time
 *     node scripts/test.mjs --bail unit                               stops at the first failure
 *     node scripts/test.mjs --repeat=20 --busy=2 integration          20 runs beside two busy loops, then a table of what failed
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { ROOT, buildTests } from './build-tests.mjs'
import { PARTS, SUITES, processesOf } from './suites.mjs'
import { failuresOf, runAll, skippedOf } from './test-processes.mjs'

const BUILT = join(ROOT, 'dist/test')
const GROUPS = join(BUILT, 'groups')
const LAST = join(BUILT, 'last-run.tap')

const args = process.argv.slice(2)
const times = args.includes('--times')
const bail = args.includes('--bail')
const chosen = args.filter(arg => !arg.startsWith('--'))
const unknown = args.filter(arg => arg.startsWith('--') && !/^--(?:times|bail|(?:repeat=[1-9]\d*|busy=\d+))$/.test(arg))
if (chosen.length === 0 || unknown.length > 0) {
  console.error(
    `usage: node scripts/test.mjs [--times] [--bail] [--repeat=N] [--busy=N] ${[...Object.keys(SUITES), ...Object.keys(PARTS)].join('|')}\n       node scripts/test.mjs [--times] [--bail] [--repeat=N] [--busy=N] PATH...`
  )
  process.exit(2)
}
const numberOf = (name, otherwise) => Number(args.find(arg => arg.startsWith(`--${name}=`))?.split('=')[1] ?? otherwise)
const [repeat, busy] = [numberOf('repeat', 1), numberOf('busy', 0)]

const begin = performance.now()
const since = () => `${((performance.now() - begin) / 1_000).toFixed(1)} s`
await buildTests()
console.log(`# compiled in ${since()}`)
const files = readdirSync(BUILT, { recursive: true })
  .filter(file => file.endsWith('.test.js'))
  .map(file => file.slice(0, -'.test.js'.length))
  .sort()
// In `npm test -- wire/json`, the suite's name comes before the paths. When both are present, only the paths count.
const paths = Object.hasOwn({ ...SUITES, ...PARTS }, chosen[0]) ? chosen.slice(1) : chosen
const suite = paths.length === 0 ? chosen[0] : null
const { timeout, jobs } = SUITES[suite ?? 'interop'] ?? SUITES.integration
const processes = suite === null ? selected(paths) : processesOf(suite, files)
if (processes.size === 0) {
  console.error(`no test file has ${paths.join(' or ')} in its path`)
  process.exit(2)
}
const loops = Array.from({ length: busy }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
process.on('exit', () => { for (const loop of loops) loop.kill('SIGKILL') })
const results = []
for (let run = 1; run <= repeat; run++) {
  if (bail && results.some(({ ok }) => !ok)) break
  if (repeat > 1) console.log(`# run ${run} of ${repeat}`)
  results.push(...await runAll(
    [...processes].map(([name, members]) => [name, entryOf(name, members)]),
    { jobs: jobs(availableParallelism()), timeout, bail },
    result => {
      if (repeat === 1 || !result.ok) console.log(row(result))
      for (const line of repeat === 1 ? skippedOf(result) : []) console.log(`        ${line}`)
      if (!result.ok) console.log(failuresOf(result))
    }
  ))
}
// After several runs, the output of the failures only.
const kept = results.filter(({ ok }) => repeat === 1 || !ok)
writeFileSync(LAST, kept.map(({ name, output }) => `# ${name}\n${output}`).join('\n'))
if (times) for (const result of results.toSorted((a, b) => b.cpu - a.cpu)) console.log(row(result))
const failed = results.filter(({ ok }) => !ok)
console.log(`# whole output: ${relative(ROOT, LAST)}`)
for (const name of new Set(failed.map(({ name }) => name))) {
  const count = failed.filter(one => one.name === name).length
  console.log(`# failed${repeat === 1 ? '' : ` in ${count} of ${repeat} runs`}: ${name}`)
}
const cpu = results.reduce((sum, one) => sum + one.cpu, 0)
console.log(`# ${suite ?? 'selected files'}: ${processes.size} processes, ${since()}, ${cpu.toFixed(1)} s of processor time`)
const total = kind => results.reduce((sum, { counts }) => sum + counts[kind], 0)
console.log(`# { ${['total', 'pass', 'fail', 'skip'].map(kind => `${kind}: ${total(kind)}`).join(', ')} }`)
process.exitCode = failed.length === 0 ? 0 : 1

function row ({ name, ok, counts, seconds, cpu }) {
  const columns = [`${seconds.toFixed(1)} s`.padStart(8), `${cpu.toFixed(1)} s CPU`.padStart(11), `${counts.total} assertions`.padStart(17)]
  return `${(ok ? 'ok' : 'not ok').padEnd(6)} ${columns.join('')}  ${name}`
}

/** Runs each matching file in a process of its own. */
function selected (texts) {
  return new Map(files.filter(file => texts.some(text => `test/${file}.test.ts`.includes(text))).map(file => [file, [file]]))
}

/** The file that tap starts: the test itself, or a file that imports the members of a group one after another. */
function entryOf (name, members) {
  if (members.length === 1) return join(BUILT, `${members[0]}.test.js`)
  const entry = join(GROUPS, `${name}.test.js`)
  mkdirSync(dirname(entry), { recursive: true })
  writeFileSync(entry, members.map(file => `import '../${file}.test.js'\n`).join(''))
  return entry
}
