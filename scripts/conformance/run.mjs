/**
 * `npm run test:conformance [-- SUITE...]`: runs the A2A test kits and the end-to-end suites of official SDKs twice, directly against an
 * agent and through the gateway, and prints the tests whose results differ. docs/contributing/interoperability.md describes how to prepare
 * the checkouts.
 *
 * Exit codes: 0 when expected.yaml explains every difference, 1 when it does not, 2 when a suite cannot run.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT, buildTests } from '../build-tests.mjs'
import { differences, totals } from './results.mjs'
import { SUITES, unprepared } from './suites.mjs'

const EXPECTED = 'scripts/conformance/expected.yaml'
const chosen = process.argv.slice(2)
const unknown = chosen.filter(name => !Object.hasOwn(SUITES, name))
if (unknown.length > 0) {
  console.error(`unknown suite ${unknown.join(', ')}; use any of ${Object.keys(SUITES).join(', ')}`)
  process.exit(2)
}

const problems = []
const prepared = (chosen.length > 0 ? chosen : Object.keys(SUITES)).filter(name => {
  const problem = unprepared(SUITES[name])
  if (problem !== null) problems.push(`${name}: ${problem}`)
  return problem === null
})
for (const problem of problems) console.error(problem)
if (prepared.length === 0 || (chosen.length > 0 && problems.length > 0)) {
  console.error('docs/contributing/interoperability.md describes how to prepare the checkouts')
  process.exit(2)
}

await buildTests()
const expected = parse(readFileSync(join(ROOT, EXPECTED), 'utf8')) ?? []
const scratch = mkdtempSync(join(tmpdir(), 'conformance-'))
let unexplained = 0
try {
  for (const name of prepared) {
    console.log(`\n== ${name}: ${SUITES[name].title}`)
    const direct = await run(name, false)
    const through = await run(name, true)
    const found = differences(direct, through)
    if (found.length === 0) console.log('   no difference')
    for (const { test, direct, through } of found) {
      const explanation = expected.find(one => one.suite === name && new RegExp(one.test).test(test))
      if (explanation === undefined) unexplained++
      console.log(`   ${test}: ${direct} directly, ${through} through the gateway`)
      console.log(`     ${explanation === undefined ? `unexplained: add the reason to ${EXPECTED}, or fix the gateway` : explanation.why}`)
    }
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
if (process.exitCode === undefined) {
  console.log(unexplained === 0 ? '\nevery difference is explained' : `\n${unexplained} differences are unexplained`)
  process.exitCode = unexplained === 0 ? 0 : 1
}

async function run (name, throughGateway) {
  const way = throughGateway ? 'through the gateway' : 'directly'
  const begin = performance.now()
  const results = await SUITES[name].run({ throughGateway, scratch })
  if (results.size === 0) throw new Error(`${name}, ${way}: the suite reported no tests`)
  console.log(`   ${way}: ${totals(results)}, ${Math.round((performance.now() - begin) / 1_000)} s`)
  return results
}
