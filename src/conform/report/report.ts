/** The report of a run as data. Two runs of the same proxy have the same report: it has no times, ports or names of calls. */
import { casesDigest } from '../cases/index.js'
import { GROUPS, LEVELS } from '../model.js'
import type { Group, Level, Transport, Version } from '../model.js'
import type { Declaration } from '../run/declaration.js'
import type { Outcome, Result } from '../run/run.js'

/** The version of the profile, docs/reference/proxy-profile.md. */
export const PROFILE = '1.0'

export const OUTCOMES = ['passed', 'failed', 'not claimed', 'not applicable', 'error'] as const satisfies readonly Outcome[]
export type Counts = Readonly<Record<Outcome, number>>

export interface ReportedCase {
  readonly id: string
  readonly name: string
  readonly group: Group
  readonly level: Level
  readonly spec_ref: string
  readonly transport: Transport
  readonly version: Version
  readonly outcome: Outcome
  /** Why the case failed or did not run. */
  readonly lines: readonly string[]
}

export interface Report {
  readonly format: 1
  readonly profile: string
  /** SHA-256 of all cases. */
  readonly cases_digest: string
  readonly proxy: { readonly name: string, readonly version: string }
  readonly agent: 'scripted' | 'other'
  /** True when no case with the level MUST failed. */
  readonly conformant: boolean
  readonly totals: Counts
  readonly groups: Readonly<Record<string, Readonly<Record<string, Counts>>>>
  readonly cases: readonly ReportedCase[]
}

export function reportOf (results: readonly Result[], { name, version }: Declaration, scripted: boolean): Report {
  const cases = results.map(({ case: testCase, outcome, lines }): ReportedCase => ({
    id: testCase.id,
    name: testCase.name,
    group: testCase.group,
    level: testCase.level,
    spec_ref: testCase.spec_ref,
    transport: testCase.transport,
    version: testCase.version,
    outcome,
    lines
  }))
  const groups = GROUPS.filter(group => cases.some(reportedCase => reportedCase.group === group)).map(group => {
    const inGroup = cases.filter(reportedCase => reportedCase.group === group)
    const levels = LEVELS.map(level => [level, countsOf(inGroup.filter(testCase => testCase.level === level))] as const)
    return [group, Object.fromEntries(levels)] as const
  })
  return {
    format: 1,
    profile: PROFILE,
    cases_digest: casesDigest(),
    proxy: { name, version },
    agent: scripted ? 'scripted' : 'other',
    conformant: cases.every(({ level, outcome }) => outcome !== 'error' && (level !== 'must' || outcome !== 'failed')),
    totals: countsOf(cases),
    groups: Object.fromEntries(groups),
    cases
  }
}

export function countsOf (cases: readonly ReportedCase[]): Counts {
  const count = (outcome: Outcome): number => cases.filter(reportedCase => reportedCase.outcome === outcome).length
  return Object.fromEntries(OUTCOMES.map(outcome => [outcome, count(outcome)])) as Record<Outcome, number>
}

/** The report as JSON, with a final line break. */
export function reportJson (report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`
}
