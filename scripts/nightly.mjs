/**
 * `npm run test:nightly [-- --minutes=60]`: runs all other suites with new random input, and then the suites that take longer. Each
 * property test gets a new seed and ten times the runs. A failure prints the seed and the input to keep.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './build-tests.mjs'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' }, seed: { type: 'string' } } })
const minutes = Number(values.minutes)
const seed = values.seed === undefined ? randomBytes(4).readUInt32LE() % 1_000_000_000 : Number(values.seed)
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('usage: npm run test:nightly [-- --minutes=60] [--seed=N]')
  process.exit(2)
}
// On two cores, the first three suites take about 15 minutes, other versions of Node 15, the benchmarks 8, and the floods 14 at 30 s per
// kind. Fuzzing and soak share the rest.
const flood = Math.max(3, Math.min(30, Math.floor(minutes / 2)))
const spare = Math.max(2, minutes - 40 - Math.ceil(flood * 28 / 60))
const targets = readdirSync(join(ROOT, 'test/fuzz/targets')).filter(name => name !== 'index.ts').length
const env = { ...process.env, A2A_TEST_SEED: String(seed), A2A_TEST_RUNS: '10' }
const STEPS = [
  ['unit, integration and system suites, new seed, ten times the runs', 'node', ['scripts/test.mjs', 'unit']],
  [null, 'node', ['scripts/test.mjs', 'integration']],
  [null, 'node', ['scripts/test.mjs', 'system']],
  [
    'fuzz targets, guided by coverage',
    'node',
    ['dist/test/fuzz/run.js', `--seconds=${Math.ceil((spare * 60 * 0.5) / targets)}`, `--seed=${seed}`]
  ],
  [
    'suites on the other supported versions of Node, and what their readers make of the same inputs',
    'node',
    ['scripts/runtimes/run.mjs', '--except-own', `--count=${Math.ceil(spare * 300)}`]
  ],
  // Within one minute, the number of descriptors varies as much as a leak would add.
  ['soak', 'node', ['dist/bench/soak.js', `--minutes=${Math.max(3, Math.ceil(spare * 0.4))}`, `--seed=${seed % 1_000}`]],
  ['hostile floods on every listener', 'node', ['dist/test/hostile/flood.js', `--seconds=${flood}`, `--seed=${seed}`]],
  ['calls and streams through Envoy', 'node', ['dist/bench/soak-envoy.js', '--calls=50000', '--streams=1000']],
  ['conformance of proxies: this gateway, Envoy, nginx and others', 'node', ['dist/test/conform/publish/publish.js', '--check']],
  ['JSON Schema: this gateway and another validator', 'node', ['dist/test/interop/json-schema.test.js']],
  ['agent frameworks behind the gateway', 'node', ['dist/test/interop/frameworks.test.js']],
  ['documentation site', 'node', ['scripts/site/build.mjs', '--check']],
  ['benchmarks, quick', 'node', ['dist/bench/main.js', '--quick', '--out=dist/bench-nightly']]
]

console.log(`seed ${seed}: repeat with "npm run test:nightly -- --seed=${seed}"`)
const failed = []
for (const [title, program, args] of STEPS) {
  if (title !== null) console.log(`\n== ${title}`)
  const begin = performance.now()
  const { status } = spawnSync(program === 'node' ? process.execPath : program, args, { cwd: ROOT, env, stdio: 'inherit' })
  console.log(`-- ${args.join(' ')}: ${Math.round((performance.now() - begin) / 1_000)} s, exit code ${status}`)
  if (status !== 0) failed.push(args.join(' '))
}
console.log(failed.length === 0 ? '\nall steps passed' : `\nfailed: ${failed.join('; ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
