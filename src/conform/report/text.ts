/** The report for people: failures first as they matter, then the counts. */
import { inColour } from '#wire/terminal.js'
import { GROUPS, LEVELS } from '../model.js'
import type { Report, ReportedCase } from './report.js'
import { OUTCOMES } from './report.js'

const COLOURS = { must: 'red', should: 'yellow', may: 'dim' } as const

/** @param colours true for a terminal */
export function reportText (report: Report, colours: boolean): string {
  const colour = (text: string, name: 'red' | 'yellow' | 'green' | 'dim' | 'bold'): string => colours ? inColour(text, name) : text
  const lines: string[] = []
  for (const reportedCase of report.cases.filter(({ outcome }) => outcome === 'failed' || outcome === 'error')) {
    const mark = reportedCase.outcome === 'error' ? 'error' : `failed ${reportedCase.level.toUpperCase()}`
    lines.push(
      `${colour(mark, reportedCase.outcome === 'error' ? 'red' : COLOURS[reportedCase.level])} ${colour(reportedCase.id, 'bold')}: ` +
        `${reportedCase.name} (${reportedCase.spec_ref})`
    )
    lines.push(...reportedCase.lines.map(line => `    ${line}`))
  }
  if (lines.length > 0) lines.push('')
  lines.push(...countsTable(report), '')
  const { proxy } = report
  const name = [proxy.name, proxy.version].filter(text => text !== '').join(' ')
  lines.push(report.conformant
    ? colour(`${name} conforms to profile ${report.profile}: no case with the level MUST failed`, 'green')
    : colour(`${name} does not conform to profile ${report.profile}`, 'red'))
  lines.push(`digest of the cases: ${report.cases_digest.slice(0, 16)}`)
  return lines.join('\n')
}

/** One line for each group and level that has cases. */
function countsTable ({ groups }: Report): string[] {
  const rows = GROUPS.flatMap(group => LEVELS.flatMap(level => {
    const counts = groups[group]?.[level]
    if (counts === undefined || OUTCOMES.every(outcome => counts[outcome] === 0)) return []
    return [[group, level.toUpperCase(), ...OUTCOMES.map(outcome => String(counts[outcome]))]]
  }))
  const all = [['group', 'level', ...OUTCOMES], ...rows]
  const widths = all[0]?.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0))) ?? []
  return all.map(row => row.map((text, column) => column < 2
    ? text.padEnd(widths[column] ?? 0)
    : text.padStart(widths[column] ?? 0)).join('  '))
}

/** What differs between two reports, one line for each case. */
export function reportDiff (before: Report, after: Report): { readonly lines: readonly string[], readonly worse: number } {
  const earlier = new Map(before.cases.map(reportedCase => [reportedCase.id, reportedCase]))
  const lines: string[] = []
  let worse = 0
  if (before.cases_digest !== after.cases_digest) lines.push('the reports come from different versions of the cases')
  for (const reportedCase of after.cases) {
    const old = earlier.get(reportedCase.id)
    earlier.delete(reportedCase.id)
    if (old === undefined) lines.push(`new      ${reportedCase.id}: ${reportedCase.outcome}`)
    else if (old.outcome !== reportedCase.outcome) {
      const isWorse = rank(reportedCase) > rank(old)
      if (isWorse) worse++
      lines.push(`${isWorse ? 'worse  ' : 'better '}  ${reportedCase.id}: ${old.outcome} → ${reportedCase.outcome}`)
    }
  }
  for (const [id, { outcome }] of earlier) lines.push(`removed  ${id}: ${outcome}`)
  return { lines, worse }
}

const rank = ({ outcome }: ReportedCase): number => ['passed', 'not applicable', 'not claimed', 'failed', 'error'].indexOf(outcome)
