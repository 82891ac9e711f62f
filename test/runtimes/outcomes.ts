/**
 * Reads inputs that follow from a seed, and prints a digest of the outcomes of each batch. scripts/runtimes/compare.mjs runs this program
 * with several versions of Node.
 *
 *     node dist/test/runtimes/outcomes.js READER --seed=1 --count=1000 --batch=100   one line for each batch
 *     node dist/test/runtimes/outcomes.js READER --seed=1 --from=3 --show=7          reads the inputs 3 to 7, and prints the last
 *     node dist/test/runtimes/outcomes.js                                            the names of all readers and their costs, as JSON
 */
import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { readInputs } from '../fuzz/engine/files.js'
import { mutate } from '../fuzz/engine/mutate.js'
import { Random } from '../fuzz/engine/random.js'
import { exact } from './exact.js'
import { COSTS, READERS } from './readers.js'
import type { Reader } from './readers.js'

/** Inputs that mutations begin with, per seed of the reader. */
const KEPT_PER_SEED = 40

const { values, positionals: [name] } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '1000' },
    batch: { type: 'string', default: '100' },
    from: { type: 'string', default: '0' },
    show: { type: 'string' }
  }
})

if (name === undefined) {
  console.log(JSON.stringify(Object.fromEntries(Object.keys(READERS).map(one => [one, COSTS[one] ?? 1]))))
} else {
  const reader = await READERS[name]?.()
  if (reader === undefined) throw new Error(`no reader has the name ${name}; the readers are ${Object.keys(READERS).join(', ')}`)
  const from = Number(values.from)
  if (values.show === undefined) await digests(reader, from, Number(values.count), Number(values.batch))
  else await show(reader, from, Number(values.show))
  await reader.close?.()
}

/** The inputs: seeds, the corpus of the fuzz target, then mutations of both. The same seed gives the same inputs with every engine. */
function * inputs ({ name, seeds, dictionary, maxBytes }: Reader, seed: number): Generator<Buffer> {
  const random = new Random(seed)
  const kept = [...seeds.map(one => Buffer.from(one)), ...readInputs('corpus', name).map(({ bytes }) => bytes)]
  yield * kept
  const limit = kept.length + KEPT_PER_SEED * seeds.length
  for (;;) {
    const bytes = mutate(random.pick(kept), random, random.pick(kept), dictionary, maxBytes)
    if (kept.length < limit && random.chance(4)) kept.push(bytes)
    yield bytes
  }
}

async function outcome (reader: Reader, bytes: Buffer): Promise<string> {
  try {
    return exact(await reader.read(bytes))
  } catch (error) {
    return `throws ${exact(error)}`
  }
}

async function digests (reader: Reader, from: number, count: number, size: number): Promise<void> {
  let [given, read] = [createHash('sha256'), createHash('sha256')]
  let index = 0
  for (const bytes of inputs(reader, Number(values.seed))) {
    if (index >= from) {
      given.update(bytes).update('\0')
      read.update(await outcome(reader, bytes)).update('\0')
    }
    index++
    if (index % size === 0 || index === count) {
      console.log(`${given.digest('hex').slice(0, 16)} ${read.digest('hex').slice(0, 16)}`)
      ;[given, read] = [createHash('sha256'), createHash('sha256')]
    }
    if (index === count) return
  }
}

async function show (reader: Reader, from: number, last: number): Promise<void> {
  let index = 0
  for (const bytes of inputs(reader, Number(values.seed))) {
    const text = index >= from ? await outcome(reader, bytes) : ''
    if (index++ < last) continue
    console.log(JSON.stringify({ input: bytes.toString('base64'), outcome: text }))
    return
  }
}
