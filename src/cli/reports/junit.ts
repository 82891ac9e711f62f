/** JUnit's XML, which CI systems read. */

export interface Suite {
  readonly name: string
  readonly cases: readonly Case[]
}

export interface Case {
  readonly name: string
  /** Null: passed. An `error` is a file that could not be used. */
  readonly failure: { readonly kind: 'failure' | 'error', readonly message: string, readonly text: string, readonly type?: string | undefined } | null
  readonly file?: string
  readonly line?: number
}

/** Formats suites as one document. */
export function junit (name: string, suites: readonly Suite[]): string {
  const lines = suites.map(suite => {
    const { tests, failures, errors } = count(suite.cases)
    const cases = suite.cases.map(testCase => caseOf(testCase, suite.name)).join('')
    return `  <testsuite name="${escaped(suite.name)}" tests="${tests}" failures="${failures}" errors="${errors}">\n${cases}  ` +
      '</testsuite>\n'
  })
  const { tests, failures, errors } = count(suites.flatMap(({ cases }) => cases))
  const attributes = `name="${escaped(name)}" tests="${tests}" failures="${failures}" errors="${errors}"`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${attributes}>\n${lines.join('')}</testsuites>\n`
}

function count (cases: readonly Case[]): { readonly tests: number, readonly failures: number, readonly errors: number } {
  const of = (kind: string): number => cases.filter(({ failure }) => failure?.kind === kind).length
  return { tests: cases.length, failures: of('failure'), errors: of('error') }
}

function caseOf ({ name, failure, file, line }: Case, suite: string): string {
  const place = `${file === undefined ? '' : ` file="${escaped(file)}"`}${line === undefined ? '' : ` line="${line}"`}`
  const start = `    <testcase name="${escaped(name)}" classname="${escaped(suite)}"${place}`
  if (failure === null) return `${start}/>\n`
  const { kind, message, text, type } = failure
  const attributes = `message="${escaped(message)}"${type === undefined ? '' : ` type="${escaped(type)}"`}`
  return `${start}>\n      <${kind} ${attributes}>${escaped(text)}</${kind}>\n    </testcase>\n`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\t': '&#9;' }

/** XML 1.0 has no other control characters, not even as entities. */
function escaped (text: string): string {
  return text
    .replaceAll(/[&<>"\n\t]/g, character => ENTITIES[character] as string)
    .replaceAll(/[^\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
}
