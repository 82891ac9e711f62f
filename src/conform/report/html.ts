/** The report as one HTML page, without scripts and without other files. */
import { GROUPS, LEVELS } from '../model.js'
import type { Report, ReportedCase } from './report.js'
import { OUTCOMES } from './report.js'

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{border:1px solid #ccc;padding:.3rem .5rem;text-align:left;vertical-align:top}
td.n{text-align:right}pre{margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
.passed{color:#0a6b2d}.failed,.error{color:#a8071a;font-weight:600}.other{color:#666}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#161616}th,td{border-color:#444}.passed{color:#5fd38a}.failed,.error{color:#ff8080}.other{color:#aaa}}`

export function reportHtml (report: Report): string {
  const name = [report.proxy.name, report.proxy.version].filter(text => text !== '').join(' ')
  const title = `A2A proxy profile ${report.profile}: ${name}`
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body>
<h1>${escaped(title)}</h1>
<p class="${report.conformant ? 'passed' : 'failed'}">${report.conformant ? 'Conforms: no case with the level MUST failed.' : 'Does not conform: a case with the level MUST failed.'}</p>
<p>Digest of the cases: <code>${report.cases_digest}</code>. Agent: ${report.agent}.</p>
<h2>Counts</h2>
<table><thead><tr><th>Group</th><th>Level</th>${OUTCOMES.map(outcome => `<th>${outcome}</th>`).join('')}</tr></thead><tbody>
${counts(report)}
</tbody></table>
<h2>Cases</h2>
<table><thead><tr><th>Case</th><th>Level</th><th>Clause</th><th>Outcome</th></tr></thead><tbody>
${report.cases.map(row).join('\n')}
</tbody></table>
</body>
</html>
`
}

function counts ({ groups }: Report): string {
  return GROUPS.flatMap(group => LEVELS.map(level => {
    const of = groups[group]?.[level]
    if (of === undefined || OUTCOMES.every(outcome => of[outcome] === 0)) return ''
    return `<tr><th scope="row">${group}</th><td>${level.toUpperCase()}</td>${OUTCOMES.map(outcome => `<td class="n">${of[outcome]}</td>`).join('')}</tr>`
  })).filter(text => text !== '').join('\n')
}

function row ({ id, name, level, spec_ref: clause, outcome, lines }: ReportedCase): string {
  const details = lines.length === 0 ? '' : `<pre>${escaped(lines.join('\n'))}</pre>`
  const kind = outcome === 'passed' || outcome === 'failed' || outcome === 'error' ? outcome : 'other'
  return `<tr id="${escaped(id)}"><td><code>${escaped(id)}</code><br>${escaped(name)}${details}</td><td>${level.toUpperCase()}</td><td>${escaped(clause)}</td><td class="${kind}">${outcome}</td></tr>`
}

function escaped (text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
