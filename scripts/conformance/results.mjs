/** Results of test runs as maps from the name of a test to `passed`, `failed`, `skipped` or `xfailed`, and their comparison. */

/** Reads JUnit XML as pytest writes it. */
export function fromJunit (xml) {
  const results = new Map()
  for (const [, attributes, , body = ''] of xml.matchAll(/<testcase ([^>]*?)(\/>|>([^]*?)<\/testcase>)/g)) {
    const name = `${attribute(attributes, 'classname')}::${attribute(attributes, 'name')}`
    const outcome = /<(?:failure|error)[ >]/.test(body)
      ? 'failed'
      : /<skipped type="pytest\.xfail"/.test(body) ? 'xfailed' : /<skipped[ />]/.test(body) ? 'skipped' : 'passed'
    // Teardown errors are a second element of the same name.
    if (results.get(name) !== 'failed') results.set(name, outcome)
  }
  return results
}

/** Reads the lines of `go test -json`. */
export function fromGo (lines) {
  const results = new Map()
  for (const line of lines.split('\n')) {
    if (!line.startsWith('{')) continue
    const { Action, Package, Test } = JSON.parse(line)
    const outcome = { pass: 'passed', fail: 'failed', skip: 'skipped' }[Action]
    if (outcome !== undefined && Test !== undefined) results.set(`${Package.split('/').slice(-2).join('/')}: ${Test}`, outcome)
  }
  return results
}

/** Reads the JSON report of vitest. */
export function fromVitest (json) {
  const results = new Map()
  for (const { assertionResults } of JSON.parse(json).testResults) {
    for (const { fullName, status } of assertionResults) results.set(fullName, status === 'passed' || status === 'failed' ? status : 'skipped')
  }
  return results
}

/** `175 passed, 5 failed`. */
export function totals (results) {
  const counts = new Map()
  for (const outcome of results.values()) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return ['passed', 'failed', 'skipped', 'xfailed'].filter(outcome => counts.has(outcome)).map(outcome => `${counts.get(outcome)} ${outcome}`).join(', ')
}

/** The tests whose outcomes differ, by name. A test that ran on one way only is `absent` on the other. */
export function differences (direct, through) {
  return [...new Set([...direct.keys(), ...through.keys()])].sort()
    .map(test => ({ test, direct: direct.get(test) ?? 'absent', through: through.get(test) ?? 'absent' }))
    .filter(one => one.direct !== one.through)
}

function attribute (text, name) {
  const value = new RegExp(`(?:^| )${name}="([^"]*)"`).exec(text)?.[1] ?? ''
  return value.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}
