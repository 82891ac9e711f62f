/** The suite that runs test kits directly and through the gateway: reports, differences, and missing checkouts. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { ROOT } from '../helpers/paths.js'

type Results = ReadonlyMap<string, string>
interface Reports {
  readonly fromJunit: (xml: string) => Results
  readonly fromGo: (lines: string) => Results
  readonly fromVitest: (json: string) => Results
  readonly totals: (results: Results) => string
  readonly differences: (direct: Results, through: Results) => unknown
}

const RUN = join(ROOT, 'scripts/conformance/run.mjs')
const { fromJunit, fromGo, fromVitest, totals, differences } =
  await import(pathToFileURL(join(ROOT, 'scripts/conformance/results.mjs')).href) as Reports

t.test('reports of pytest, go test and vitest', async t => {
  const junit = fromJunit(`<?xml version="1.0"?><testsuites><testsuite>
    <testcase classname="a.B" name="ok[&quot;x&quot;]" time="0.1" />
    <testcase classname="a.B" name="bad" time="0.1"><failure message="no">text</failure></testcase>
    <testcase classname="a.B" name="broken" time="0.1"><error message="no">text</error></testcase>
    <testcase classname="a.B" name="out" time="0.1"><skipped type="pytest.skip" message="no">text</skipped></testcase>
    <testcase classname="a.B" name="known" time="0.1"><skipped type="pytest.xfail" message="no" /></testcase>
  </testsuite></testsuites>`)
  t.same([...junit], [['a.B::ok["x"]', 'passed'], ['a.B::bad', 'failed'], ['a.B::broken', 'failed'], ['a.B::out', 'skipped'], ['a.B::known', 'xfailed']])
  t.equal(totals(junit), '1 passed, 2 failed, 1 skipped, 1 xfailed')
  t.same([...fromGo([
    '{"Action":"run","Package":"x.test/a/v2/e2e","Test":"T"}',
    'go: downloading x',
    '{"Action":"output","Package":"x.test/a/v2/e2e","Test":"T","Output":"..."}',
    '{"Action":"pass","Package":"x.test/a/v2/e2e","Test":"T/one"}',
    '{"Action":"fail","Package":"x.test/a/v2/e2e","Test":"T"}',
    '{"Action":"fail","Package":"x.test/a/v2/e2e"}'
  ].join('\n'))], [['v2/e2e: T/one', 'passed'], ['v2/e2e: T', 'failed']])
  const vitest = JSON.stringify({ testResults: [{ assertionResults: [{ fullName: 'a', status: 'passed' }, { fullName: 'b', status: 'pending' }] }] })
  t.same([...fromVitest(vitest)], [['a', 'passed'], ['b', 'skipped']])
})

t.test('differences: other outcomes, and tests of one run only', async t => {
  const direct = new Map([['same', 'passed'], ['worse', 'passed'], ['gone', 'passed']])
  const through = new Map([['same', 'passed'], ['worse', 'failed'], ['new', 'skipped']])
  t.same(differences(direct, through), [
    { test: 'gone', direct: 'passed', through: 'absent' },
    { test: 'new', direct: 'absent', through: 'skipped' },
    { test: 'worse', direct: 'passed', through: 'failed' }
  ])
})

t.test('a missing checkout is reported with the variable and the repository, and so is an unprepared one', async t => {
  const without = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('A2A_CONFORMANCE_')))
  const run = (env: NodeJS.ProcessEnv, ...args: string[]): { status: number | null, stderr: string } =>
    spawnSync(process.execPath, [RUN, ...args], { env: { ...without, ...env }, encoding: 'utf8' })
  t.match(run({}, 'tck', 'tck-0.3', 'js', 'go'), {
    status: 2,
    stderr: /js: set A2A_CONFORMANCE_JS to a prepared checkout of https:\/\/github\.com\/a2aproject\/a2a-js[^]*docs\/contributing\/interoperability\.md/
  })
  t.match(run({ A2A_CONFORMANCE_GO: t.testdir({ 'go.mod': '' }) }, 'go'), { status: 2, stderr: /has no e2e; prepare a checkout of/ })
  t.match(run({}, 'rust'), { status: 2, stderr: /unknown suite rust; use any of profile, tck, tck-required, tck-0\.3, js, go/ })
})

t.test('every expected difference names a suite, a test and the reason', async t => {
  const expected = parse(readFileSync(join(ROOT, 'scripts/conformance/expected.yaml'), 'utf8')) as readonly Record<string, string>[]
  for (const one of expected) {
    t.match(one, { suite: /^(?:profile|tck|tck-required|tck-0\.3|js|go)$/, test: /./, why: /\.$/ })
    t.doesNotThrow(() => new RegExp(one.test ?? ''))
  }
})
