/** The part of docs/explain/conformance-of-proxies.md that a run writes. */
import { casesDigest } from '#conform/cases/index.js'
import { GROUPS } from '#conform/model.js'
import type { Report, ReportedCase } from '#conform/report/report.js'

export interface Results { readonly name: string, readonly version: string, readonly claims: string, readonly report: Report }

const BEGIN = '<!-- results: begin, written by test/conform/publish/publish.ts -->'
const END = '<!-- results: end -->'
/** Failures of one proxy that are listed, at most. */
const MOST = 400

/** @throws Error when the page has no marks */
export function withResults (page: string, results: readonly Results[]): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`the page needs the lines ${BEGIN} and ${END}`)
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text(results)}\n${page.slice(end)}`
}

/** The lines that the page has for failures of this gateway. */
export function ownFailures (results: readonly Results[]): string[] {
  return results.filter(({ name }) => name.startsWith('a2a-extension-gateway')).flatMap(({ report }) => failures(report))
}

function text (results: readonly Results[]): string {
  const head = ['proxy', ...GROUPS, 'MUST failed', 'conforms']
  const rows = results.map(({ name, version, report }) => [`${name} ${version}`, ...GROUPS.map(group => cell(report.cases.filter(one => one.group === group))), String(mustFailed(report).length), report.conformant ? 'yes' : 'no'])
  return [
    `Digest of the cases: \`${casesDigest()}\`.`,
    '',
    'Each cell has the cases that passed, of those that the proxy claims and the agent allows. A dash: the proxy claims none.',
    '',
    `| ${head.join(' | ')} |`,
    `|${'---|'.repeat(head.length)}`,
    ...rows.map(row => `| ${row.join(' | ')} |`),
    '',
    ...results.flatMap(({ name, version, claims, report }) => [
      `### ${name} ${version}`,
      '',
      `${name} declares ${claims.trim().split('\n').map(line => `\`${line}\``).join(', ')}.`,
      '',
      ...failures(report).length === 0 ? ['No case failed.'] : ['| case | level | what failed |', '|---|---|---|', ...failures(report).slice(0, MOST)],
      ''
    ])
  ].join('\n')
}

const judged = (cases: readonly ReportedCase[]): ReportedCase[] => cases.filter(({ outcome }) => outcome === 'passed' || outcome === 'failed' || outcome === 'error')
const mustFailed = ({ cases }: Report): ReportedCase[] => cases.filter(({ outcome, level }) => outcome === 'failed' && level === 'must')

function cell (cases: readonly ReportedCase[]): string {
  const all = judged(cases)
  return all.length === 0 ? '–' : `${all.filter(({ outcome }) => outcome === 'passed').length}/${all.length}`
}

/** One line for each name: the same failure in several bindings is one line. */
function failures ({ cases }: Report): string[] {
  const groups = new Map<string, ReportedCase[]>()
  for (const one of cases.filter(({ outcome }) => outcome === 'failed' || outcome === 'error')) {
    const key = `${one.level} ${one.id.replace(/-(?:jsonrpc|rest|grpc)-[\d.]+$/, '')}`
    groups.set(key, [...groups.get(key) ?? [], one])
  }
  return [...groups.values()].map(group => {
    const [first] = group
    if (first === undefined) return ''
    const places = first.transport === 'card' ? '' : `; ${group.map(({ transport, version }) => `${transport} ${version}`).join(', ')}`
    const order = first.level.toUpperCase()
    return `| \`${first.id.replace(/-(?:jsonrpc|rest|grpc)-[\d.]+$/, '')}\` | ${order} | ${first.name.replaceAll('|', '\\|')}${places} |`
  })
}
