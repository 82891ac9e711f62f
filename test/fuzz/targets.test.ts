/**
 * Every target on all inputs that are kept, and for a moment on new ones; the same ones each time, so that a change is to blame for what is found.
 * `npm run fuzz` is the long run.
 */
import t from 'tap'
import { readInputs } from './engine/files.js'
import { fuzz } from './engine/fuzz.js'
import { runs, SEED } from '../helpers/seed.js'
import { TARGETS } from './targets/index.js'

/** By executions and not by time: what is tried must not depend on the machine. */
const EXECUTIONS: Readonly<Record<string, number>> = { config: 60, policy: 60, card: 150 }
const OTHERS = 500

for (const [name, load] of Object.entries(TARGETS)) {
  t.test(name, async t => {
    const target = await load()
    const inputs = [...readInputs('regressions', name), ...readInputs('corpus', name)]
    for (const input of inputs) {
      try {
        target.check(input.bytes)
      } catch (error) {
        t.error(error, `the input ${input.name} (${JSON.stringify(input.bytes.toString('latin1').slice(0, 200))})`)
      }
    }
    const limit = target.seeds.length + inputs.length + runs(EXECUTIONS[name] ?? OTHERS)
    const { found, executions } = fuzz(target, { seed: SEED, corpus: inputs.map(({ bytes }) => bytes), coverage: null, done: now => now.executions >= limit })
    for (const { bytes, message } of found) t.fail(`${JSON.stringify(bytes.toString('latin1'))}: ${message}`)
    t.comment(`seed ${SEED}, ${inputs.length} inputs kept, ${executions} executions`)
    t.pass('every promise holds')
  })
}
