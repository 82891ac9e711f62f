/** Each fault of the faulty proxy is found, each case finds a fault, and no case fails on the faultless proxy. */
import t from 'tap'
import { CASES } from '#conform/cases/index.js'
import type { ReportedCase } from '#conform/report/report.js'
import { runAgainst } from './kit.js'
import type { Fault, FaultName } from './proxy/faults.js'
import { FAULTS } from './proxy/faults.js'

/** Runs of the faultless proxy. Fifty before a release: CONFORM_RUNS=50. */
const RUNS = Number(process.env.CONFORM_RUNS ?? 1)
const failedOf = (cases: readonly ReportedCase[]): ReportedCase[] => cases.filter(({ outcome }) => outcome === 'failed')
const broken = new Set<string>()

t.test('no case fails on the faultless proxy', { timeout: 180_000 * RUNS }, async t => {
  for (let i = 0; i < RUNS; i++) {
    const cases = await runAgainst(t, [])
    t.same(cases.filter(({ outcome }) => outcome !== 'passed').map(({ id, outcome, lines }) => [id, outcome, ...lines]), [], `run ${i + 1}: all cases pass`)
    t.equal(cases.length, CASES.length, 'all cases have run')
  }
})

t.test('each fault is found by the cases that are there for it', { timeout: 300_000 }, async t => {
  const faults = Object.entries(FAULTS) as Array<[FaultName, Fault]>
  t.ok(faults.length >= 40, `${faults.length} faults`)
  for (const [name, { finds }] of faults) {
    const cases = name === 'answers-html' ? CASES : CASES.filter(({ id }) => finds.some(prefix => id.startsWith(prefix)))
    const failed = failedOf(await runAgainst(t, [name], cases)).map(({ id }) => id)
    for (const id of failed) broken.add(id)
    t.same(finds.filter(prefix => !failed.some(id => id.startsWith(prefix))), [], `${name}: found by ${finds.join(', ')}`)
  }
})

t.test('each case fails on a proxy with a fault', async t => {
  t.same(CASES.filter(({ id }) => !broken.has(id)).map(({ id }) => id), [])
})
