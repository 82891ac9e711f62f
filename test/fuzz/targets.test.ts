/**
 * Checks every target with all stored inputs, and for a short time with new inputs. The new inputs are the same each time, so that only a
 * code change can cause a finding. `npm run fuzz` is the long run.
 */
import t from 'tap'
import { readInputs } from './engine/files.js'
import { fuzz } from './engine/fuzz.js'
import { runs, SEED } from '../helpers/seed.js'
import { TARGETS } from './targets/index.js'

/** Numbers of executions instead of times, so that the inputs do not depend on the machine. */
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
    const { found, executions } = fuzz(target, {
      seed: SEED,
      corpus: inputs.map(({ bytes }) => bytes),
      coverage: null,
      done: now => now.executions >= limit
    })
    t.same(found.map(({ bytes, message }) => `${JSON.stringify(bytes.toString('latin1'))}: ${message}`), [], 'every promise holds')
    t.comment(`seed ${SEED}, ${inputs.length} inputs kept, ${executions} executions`)
    t.ok(executions >= limit)
  })
}
