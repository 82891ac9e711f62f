/** Workflow commands of GitHub Actions, which become annotations of the changed files. */
import type { Finding } from './finding.js'
import { textOf } from './finding.js'

/** Returns one line per finding. */
export function annotations (findings: readonly (Finding & { readonly title?: string })[]): string {
  return findings.map(finding => {
    const { severity, file, line, col, title = finding.code } = finding
    const properties = [
      ...(line === 0 ? [] : [`file=${property(file)}`, `line=${line}`, `col=${col}`]),
      ...(title === undefined ? [] : [`title=${property(title)}`])
    ]
    const text = line === 0 ? `${file}: ${textOf(finding)}` : textOf(finding)
    return `::${severity}${properties.length === 0 ? '' : ` ${properties.join(',')}`}::${escaped(text)}\n`
  }).join('')
}

function escaped (text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property (text: string): string {
  return escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
