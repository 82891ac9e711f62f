/**
 * `npm run fuzz [-- target...] [--seconds=60] [--seed=N] [--corpus]`: fuzzes each target for the given time, guided by coverage. The run
 * minimises inputs that break a promise and keeps them in test/fuzz/regressions. `--corpus` also replaces test/fuzz/corpus with the inputs
 * that reach the most code. The exit code is 1 when the run found something.
 */
import { Worker } from 'node:worker_threads'
import { newSeed, SEED } from '../helpers/seed.js'
import { readInputs, saveInput } from './engine/files.js'
import type { Progress } from './engine/fuzz.js'
import { TARGETS } from './targets/index.js'
import type { Done, Job } from './worker.js'
import { HEARTBEAT, INPUT, LENGTH, ROOM } from './worker.js'

/** Seconds of processor time, which a busy machine does not stretch. An input that takes longer counts as endless. */
const HANG_SECONDS = 20

const args = process.argv.slice(2)
const option = (name: string): string | undefined => args.find(one => one.startsWith(`--${name}=`))?.slice(name.length + 3)
const seconds = Number(option('seconds') ?? 60)
const seed = Number(option('seed') ?? (process.env.A2A_TEST_SEED === undefined ? newSeed() : SEED))
const names = args.filter(one => !one.startsWith('--'))
const unknown = names.filter(name => TARGETS[name] === undefined)
if (unknown.length > 0 || !Number.isFinite(seconds) || !Number.isInteger(seed)) {
  console.error(
    `usage: npm run fuzz [-- target...] [--seconds=60] [--seed=N] [--corpus]; the targets are ${Object.keys(TARGETS).join(', ')}`
  )
  process.exit(2)
}

let findings = 0
for (const name of names.length === 0 ? Object.keys(TARGETS) : names) findings += await fuzzOne(name)
process.exitCode = findings === 0 ? 0 : 1

/**
 * Fuzzes a target in a thread of its own, so that an input that never ends, or uses up all memory, ends only that thread. @returns the
 * number of inputs that broke a promise
 */
async function fuzzOne (name: string): Promise<number> {
  const shared = new SharedArrayBuffer(INPUT + ROOM)
  const header = new Int32Array(shared, 0, 2)
  const job: Job = { name, seconds, seed, shared, keepCorpus: args.includes('--corpus') }
  const before = readInputs('regressions', name).length
  console.log(`${name}: seed ${seed}, ${seconds} s, ${readInputs('corpus', name).length} inputs of the corpus, ${before} regressions`)
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: job, resourceLimits: { maxOldGenerationSizeMb: 1024 } })
  const current = (): Buffer => Buffer.from(new Uint8Array(shared, INPUT, Atomics.load(header, LENGTH)))
  return await new Promise<number>(resolve => {
    let beat = 0
    let since = used()
    const broken = (what: string): void => {
      clearInterval(watch)
      console.error(`${name}: ${what}; kept as ${saveInput('regressions', name, current())}`)
      worker.terminate().then(() => resolve(1), () => resolve(1))
    }
    const watch = setInterval(() => {
      const now = Atomics.load(header, HEARTBEAT)
      if (now !== beat) since = used()
      else if (beat > 0 && used() - since > HANG_SECONDS) broken(`an input does not end within ${HANG_SECONDS} s`)
      beat = now
    }, 500)
    worker.on('message', (message: Progress | Done) => {
      console.log(`${name}: ${line(message)}`)
      if (!('found' in message)) return
      clearInterval(watch)
      for (const { bytes, message: words } of message.found) {
        console.error(
          `${name}: kept as ${saveInput('regressions', name, Buffer.from(bytes))}\n  ${JSON.stringify(Buffer.from(bytes).toString())}\n  ${words.replaceAll('\n', '\n  ')}`
        )
      }
      resolve(message.found.length)
    })
    worker.on('error', error => broken(`the thread ended: ${error.message}`))
  })
}

/** Seconds of processor time of all threads. */
function used (): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function line ({ executions, corpus, covered, features, perSecond }: Progress & { perSecond?: number }): string {
  return `${executions} executions${perSecond === undefined ? '' : ` (${perSecond}/s)`}, covered ${covered} characters of code, ${features} in all numbers, corpus ${corpus}`
}
