/**
 * Each fault of the faulty proxy is found, each case finds a fault, and no case fails on the faultless proxy. The integration suite runs
 * the first case of each kind that a fault names; the nightly suite runs all cases, and fifty times without a fault.
 */
import t from 'tap'
import { CASES } from '#conform/cases/index.js'
import type { Case } from '#conform/model.js'
import type { ReportedCase } from '#conform/report/report.js'
import { NIGHTLY_ONLY } from '../helpers/seed.js'
import { runAgainst } from './kit.js'
import type { Fault, FaultName } from './proxy/faults.js'
import { FAULTS } from './proxy/faults.js'

/** Runs of the faultless proxy with all cases. */
const RUNS = 50
/** Milliseconds of one run, at most. */
const RUN_TIMEOUT = 180_000
/** Faults at once: most of a run is waiting. */
const AT_ONCE = 6
/** Faults that are found by waiting. They begin first. */
const SLOW: readonly FaultName[] = ['buffers-events', 'closes-idle-streams', 'ignores-leaving', 'wrong-card-path', 'opens-tunnels']
const isSlow = (name: FaultName): number => Number(SLOW.includes(name))
const faults = (Object.entries(FAULTS) as Array<[FaultName, Fault]>).toSorted(([a], [b]) => isSlow(b) - isSlow(a))
const failedOf = (cases: readonly ReportedCase[]): string[] => cases.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
const first = (prefix: string): Case | undefined => CASES.find(({ id }) => id.startsWith(prefix))
const firstCases = (finds: readonly string[]): Case[] => finds.flatMap(prefix => first(prefix) ?? [])

if (NIGHTLY_ONLY === false) t.setTimeout((RUNS + 3) * RUN_TIMEOUT)

t.test('each fault is found by the first case of each kind that is there for it, and none of them fails without a fault', { timeout: 60_000 }, async t => {
  t.ok(faults.length >= 40, `${faults.length} faults`)
  const all = [...new Set(faults.flatMap(([, { finds }]) => firstCases(finds)))]
  const faultless = async (): Promise<void> => {
    const cases = await runAgainst(t, [], all)
    t.same(cases.filter(({ outcome }) => outcome !== 'passed').map(({ id, outcome, lines }) => [id, outcome, ...lines]), [], 'without a fault')
    t.equal(cases.length, all.length, 'all of them have run')
  }
  const waiting = faults.map(([name, { finds }]) => async () => {
    const failed = failedOf(await runAgainst(t, [name], firstCases(finds)))
    t.same(finds.filter(prefix => !failed.some(id => id.startsWith(prefix))), [], `${name}: found by ${finds.join(', ')}`)
  })
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next()
  }
  await Promise.all([faultless(), ...Array.from({ length: AT_ONCE }, work)])
})

t.test('no case fails on the faultless proxy', { skip: NIGHTLY_ONLY, timeout: RUN_TIMEOUT * RUNS }, async t => {
  for (let i = 0; i < RUNS; i++) {
    const cases = await runAgainst(t, [])
    t.same(cases.filter(({ outcome }) => outcome !== 'passed').map(({ id, outcome, lines }) => [id, outcome, ...lines]), [], `run ${i + 1}: all cases pass`)
    t.equal(cases.length, CASES.length, 'all cases have run')
  }
})

t.test('each case fails on a proxy with a fault', { skip: NIGHTLY_ONLY, timeout: 2 * RUN_TIMEOUT }, async t => {
  const broken = new Set<string>()
  for (const [name, { finds }] of faults) {
    const cases = name === 'answers-html' ? CASES : CASES.filter(({ id }) => finds.some(prefix => id.startsWith(prefix)))
    for (const id of failedOf(await runAgainst(t, [name], cases))) broken.add(id)
  }
  t.same(CASES.filter(({ id }) => !broken.has(id)).map(({ id }) => id), [])
})
