/** Runs every attack of scenarios/ and checks its promises. docs/explain/security.md explains how to add a scenario. */
import t from 'tap'
import { runScenario } from './run.js'
import { readScenario, scenarioFiles } from './scenario.js'

/** `HOSTILE=name` runs the scenarios whose file name contains `name`. */
const only = process.env.HOSTILE ?? ''

t.jobs = 4

for (const [file, text] of scenarioFiles()) {
  if (!file.includes(only)) continue
  const scenario = readScenario(text)
  const measured = scenario.promise.stall !== undefined || scenario.promise.memory !== undefined
  // Time and memory are measured for the whole process, so a scenario with these promises runs alone.
  t.test(`${file}: ${scenario.name}`, { buffered: !measured, timeout: 90_000 }, async t => {
    await runScenario(t, scenario)
  }).catch(() => {})
}
