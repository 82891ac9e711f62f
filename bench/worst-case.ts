/**
 * Measures the time of a request's whole budget, spent on the most expensive data known for each keyword: `node dist/bench/worst-case.js
 * [TEXT]`. Each line shows the time of a budget and the steps of one validation. Above 150 ms, the charge for a keyword is too low
 * (docs/reference/limits.md). The script measures wall time, because the event loop waits that long; V8's compiler threads would add to
 * processor time. Run it when nothing else runs.
 */
import { withBudget, MAX_STEPS, stepsLeft } from '#jsonschema/evaluation.js'
import { CardCompiler, readySchemas } from '#agents/card/compiler.js'
import { SCHEMA_CASES } from './worst-cases.js'

const DRAFTS = { 'draft-07': 'http://json-schema.org/draft-07/schema#', '2019-09': 'https://json-schema.org/draft/2019-09/schema' } as const
const wanted = process.argv[2] ?? ''
/** As for a card: the thread also prepares V8's compiled form of the code. */
const compiler = new CardCompiler({ time: 60_000 })

for (const { keyword, name, schema, data, draft } of SCHEMA_CASES) {
  if (!`${keyword}: ${name}`.includes(wanted)) continue
  const written = await compiler.write(
    new Map([['case', { schema: draft === undefined ? schema : { $schema: DRAFTS[draft], ...schema }, formats: 'assert' }]])
  )
  const result = (await readySchemas(written)).get('case')?.result
  if (result === undefined) continue
  if (!result.ok) {
    console.log(`${keyword}: ${name}: does not compile: ${result.problem.message}`)
    continue
  }
  let best = Number.POSITIVE_INFINITY
  let steps = 0
  // The first round measures a schema whose code V8 has not optimised.
  let first = 0
  for (let round = 0; round < 3; round++) {
    const begin = performance.now()
    let runs = 0
    withBudget(null, () => {
      do {
        const before = stepsLeft()
        result.schema.matches(data)
        steps = before - stepsLeft()
      } while (stepsLeft() > 0 && ++runs < 1_000_000)
    })
    const time = performance.now() - begin
    if (round === 0) first = time
    best = Math.min(best, time)
  }
  console.log(
    `${best.toFixed(0).padStart(6)} ms ${first.toFixed(0).padStart(6)} ms first ${steps.toFixed(1).padStart(12)} of ${MAX_STEPS} steps  ${keyword}: ${name}`
  )
}
await compiler.close()
