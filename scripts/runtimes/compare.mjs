/**
 * Gives all readers of test/runtimes/readers.ts the same inputs with several versions of Node, and compares the outcomes byte by byte. For
 * a difference, it finds the first input that differs and the shortest run of inputs before it that the difference needs.
 *
 *     node scripts/runtimes/compare.mjs [--versions=20,24] [--count=1000] [--seed=1] [READER...]
 *
 * `--count` is the number of inputs of a cheap reader; others get fewer. The exit code is 1 when outcomes differ.
 */
import { spawn, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../build-tests.mjs'
import { programsOf, VERSIONS } from './programs.mjs'

const OUTCOMES = join(ROOT, 'dist/test/runtimes/outcomes.js')
const LEAST = 20
/** Versions that must differ from the first: a comparison that does not find the fault of V8 13.6 in `JSON.parse` finds nothing else. */
const MUST_DIFFER = { control: ['24'] }
const BATCH = 50

/** @returns the number of readers, and the differences: of each, the reader, the versions, the input and both outcomes */
export async function compareVersions ({ programs, count, seed, readers = [] }) {
  const { stdout } = spawnSync(process.execPath, [OUTCOMES], { encoding: 'utf8' })
  const costs = JSON.parse(stdout)
  const names = readers.length === 0 ? Object.keys(costs) : readers
  const [first, ...others] = Object.keys(programs)
  const differences = []
  const waiting = [...names]
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const run = major => (...args) => outcomes(programs[major], [name, `--seed=${seed}`, ...args])
      const inputs = Math.max(LEAST, Math.ceil(count / costs[name]))
      const digests = {}
      for (const major of [first, ...others]) digests[major] = await run(major)(`--count=${inputs}`, `--batch=${BATCH}`)
      let differ = ''
      for (const major of others) {
        const batch = digests[first].findIndex((line, i) => line !== digests[major][i])
        const isEqual = batch === -1 && digests[major].length === digests[first].length
        if (MUST_DIFFER[name]?.includes(major) === true && first !== major) {
          if (isEqual) differences.push({ reader: name, versions: [first, major], seed, ...NOT_FOUND })
          continue
        }
        if (isEqual) continue
        const found = await bisect(run(first), run(major), batch, Math.min(inputs, (batch + 1) * BATCH))
        // Whether a request is incomplete is a matter of time for a busy machine: the difference must be found again.
        if (found.index === -1 && TIMED.includes(name)) continue
        differences.push({ reader: name, versions: [first, major], seed, ...found })
        differ += `, Node ${major} differs at input ${found.index}`
      }
      console.log(`${differ === '' ? 'ok    ' : 'not ok'} ${String(inputs).padStart(7)} inputs  ${name}${differ}`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return { compared: names.length, differences }
}

const TIMED = ['listener', 'frames']
const NOT_FOUND = { index: 0, from: 0, input: '', outcomes: ['the comparison does not find a known fault of Node 24', ''] }

async function bisect (one, other, batch, end) {
  const singles = [`--count=${end}`, '--batch=1']
  const [left, right] = [await one(...singles), await other(...singles)]
  const index = left.findIndex((line, i) => line !== right[i])
  if (index === -1) return { index, from: -1, input: '', outcomes: ['no difference in a second run of the same inputs', ''] }
  // A fault of an engine may need inputs before: the last start from which the outcomes still differ.
  let [from, beyond] = [0, index + 1]
  const pair = async start => (await Promise.all([one, other].map(run => run(`--from=${start}`, `--show=${index}`)))).map(([line]) => JSON.parse(line))
  while (beyond - from > 1) {
    const middle = Math.floor((from + beyond) / 2)
    const [a, b] = await pair(middle)
    if (a.outcome === b.outcome) beyond = middle
    else from = middle
  }
  const [a, b] = await pair(from)
  return { index, from, input: a.input, outcomes: a.input === b.input ? [a.outcome, b.outcome] : [`another input: ${a.input}`, b.input] }
}

/** @returns the lines that the program of outcomes prints with one version of Node */
function outcomes (program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [OUTCOMES, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    const [out, error] = [[], []]
    child.stdout.on('data', chunk => out.push(chunk))
    child.stderr.on('data', chunk => error.push(chunk))
    child.on('error', reject)
    child.on('close', code => {
      if (code === 0) resolve(Buffer.concat(out).toString().trim().split('\n'))
      else reject(new Error(`${program} ${args.join(' ')} ended with code ${code}: ${Buffer.concat(error).toString().slice(0, 2_000)}`))
    })
  })
}

/** The part of both outcomes around their first difference. */
function around ([a, b]) {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return [a, b].map(text => `${at > 100 ? '…' : ''}${text.slice(Math.max(0, at - 100), at + 200)}`)
}

export function differenceText ({ reader, versions, seed, index, from, input, outcomes: both }) {
  const [a, b] = around(both)
  return [
    `${reader}: Node ${versions.join(' and ')} differ at input ${index}${from < index ? `, after the inputs from ${from}` : ', also alone'}`,
    `  input:   ${JSON.stringify(Buffer.from(input, 'base64').toString('latin1'))}`,
    `  Node ${versions[0]}: ${a}`,
    `  Node ${versions[1]}: ${b}`,
    `  repeat:  NODE dist/test/runtimes/outcomes.js ${reader} --seed=${seed} --from=${from} --show=${index}`
  ].join('\n')
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { versions: { type: 'string', default: Object.keys(VERSIONS).join(',') }, count: { type: 'string', default: '1000' }, seed: { type: 'string', default: process.env.A2A_TEST_SEED ?? '1' } }
  })
  const programs = programsOf(values.versions.split(','))
  const { differences } = await compareVersions({ programs, count: Number(values.count), seed: Number(values.seed), readers: positionals })
  for (const one of differences) console.log(differenceText(one))
  process.exitCode = differences.length === 0 ? 0 : 1
}
