/** Every attack of scenarios/, with what is promised of it. docs/security.md says how to add one. */
import t from 'tap'
import { runScenario } from './run.js'
import { readScenario, scenarioFiles } from './scenario.js'

/** `HOSTILE=name` runs the scenarios whose file name holds that. */
const only = process.env.HOSTILE ?? ''

t.jobs = 4

for (const [file, text] of scenarioFiles()) {
  if (!file.includes(only)) continue
  const scenario = readScenario(text)
  const measured = scenario.promise.stall !== undefined || scenario.promise.memory !== undefined
  // Times and memory are those of the whole process: such a scenario runs alone.
  t.test(`${file}: ${scenario.name}`, { buffered: !measured, timeout: 90_000 }, async t => { await runScenario(t, scenario) }).catch(() => {})
}
