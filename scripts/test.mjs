/**
 * Compiles the tests once and runs them with tap.
 *
 *     node scripts/test.mjs unit|integration|system|interop   one suite: see suites.mjs
 *     node scripts/test.mjs wire/json e2e/    or: npm test -- wire/json e2e/; the files whose path contains one of the texts
 *     node scripts/test.mjs --times unit                              prints the time of each process, slowest first
 *     node scripts/test.mjs --bail unit                               stops at the first failure
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { ROOT, buildTests } from './build-tests.mjs'
import { SUITES, processesOf } from './suites.mjs'

const BUILT = join(ROOT, 'dist/test')
const GROUPS = join(BUILT, 'groups')

const args = process.argv.slice(2)
const times = args.includes('--times')
const chosen = args.filter(arg => !arg.startsWith('--'))
const unknown = args.filter(arg => arg.startsWith('--') && !['--times', '--bail'].includes(arg))
if (chosen.length === 0 || unknown.length > 0) {
  console.error(
    `usage: node scripts/test.mjs [--times] [--bail] ${Object.keys(SUITES).join('|')}\n       node scripts/test.mjs [--times] [--bail] PATH...`
  )
  process.exit(2)
}

const begin = performance.now()
const since = () => `${((performance.now() - begin) / 1_000).toFixed(1)} s`
await buildTests()
console.log(`# compiled in ${since()}`)
const files = readdirSync(BUILT, { recursive: true })
  .filter(file => file.endsWith('.test.js'))
  .map(file => file.slice(0, -'.test.js'.length))
  .sort()
// In `npm test -- wire/json`, the suite's name comes before the paths. When both are present, only the paths count.
const paths = Object.hasOwn(SUITES, chosen[0]) ? chosen.slice(1) : chosen
const suite = paths.length === 0 ? chosen[0] : null
const { timeout, jobs } = SUITES[suite ?? 'interop']
const processes = suite === null ? selected(paths) : processesOf(suite, files)
if (processes.size === 0) {
  console.error(`no test file has ${paths.join(' or ')} in its path`)
  process.exit(2)
}
const child = spawn(
  process.execPath,
  [
    join(ROOT, 'node_modules/tap/dist/esm/run.mjs'),
    '--disable-coverage',
    ...(args.includes('--bail') ? ['--bail'] : []),
    `--jobs=${jobs(availableParallelism())}`,
    `--timeout=${timeout}`,
    ...[...processes].map(([name, members]) => relative(ROOT, entryOf(name, members)))
  ],
  { cwd: ROOT, stdio: ['ignore', times ? 'pipe' : 'inherit', 'inherit'] }
)
let output = ''
child.stdout?.on('data', chunk => { output += chunk })
child.on('close', code => {
  if (times) printTimes()
  console.log(`# ${suite ?? 'selected files'}: ${processes.size} processes, ${since()}`)
  process.exitCode = code ?? 1
})

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

function printTimes () {
  const found = [...output.matchAll(/^(ok|not ok) \d+ - dist\/test\/(\S+)\.test\.js.* # time=([\d.]+)(ms|s)?/gm)]
  for (const [, result, name, time, unit] of found.sort((a, b) => Number(b[3]) - Number(a[3]))) {
    console.log(`${(Number(time) / (unit === 's' ? 1 : 1_000)).toFixed(1).padStart(7)} s  ${result.padEnd(6)}  ${name}`)
  }
  for (const line of output.split('\n')) if (/^ +not ok /.test(line) || /^# \{ total/.test(line)) console.log(line)
  writeFileSync(join(ROOT, 'dist/test/last-run.tap'), output)
}
