/**
 * Runs the conformance suite in front of every proxy that is installed, and writes the results between the marks of
 * docs/explain/conformance-of-proxies.md:
 *
 *     npm run build && node scripts/build-tests.mjs && node dist/test/conform/publish/publish.js [--check] [NAME...]
 *
 * `--check` writes nothing, and exits 1 when this gateway has another result than the page says. `--reports DIRECTORY` also writes the
 * reports as JSON. ENVOY and TRAEFIK name programs, CONFORM_PACKAGES a folder whose node_modules has http-proxy.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '#config/paths.js'
import { startAgent } from '#conform/agent/agent.js'
import { REQUIRED } from '#conform/cases/enforcing.js'
import { casesDigest } from '#conform/cases/index.js'
import { GROUPS } from '#conform/model.js'
import type { Report } from '#conform/report/report.js'
import { reportJson } from '#conform/report/report.js'
import { runConform } from '#conform/run/conform.js'
import { readDeclaration } from '#conform/run/declaration.js'
import type { Proxy } from './proxies.js'
import { PROXIES } from './proxies.js'
import { ownFailures, withResults } from './page.js'
import type { Results } from './page.js'

const PAGE = join(packageRoot(), 'docs/explain/conformance-of-proxies.md')
const { values, positionals } = parseArgs({ allowPositionals: true, options: { check: { type: 'boolean' }, reports: { type: 'string' } } })
const chosen = PROXIES.filter(({ name }) => positionals.length === 0 || positionals.some(text => name.includes(text)))

/** All groups with an ordinary agent, and the group enforcing with an agent that requires extensions. */
async function resultsOf (proxy: Proxy, version: string): Promise<Report> {
  const reports: Report[] = []
  for (const required of [[], REQUIRED]) {
    const agent = await startAgent({ host: '127.0.0.1', port: 0, required })
    const running = await proxy.start(agent.url)
    try {
      const declared = readDeclaration(`name: "${proxy.name}"\nversion: "${version}"\n${proxy.claims}`)
      if (!declared.ok) throw new Error(JSON.stringify(declared.problems))
      reports.push(await runConform({
        direct: agent.url,
        through: running.url,
        throughGrpc: running.grpc,
        declaration: declared.declaration,
        groups: GROUPS.filter(group => (group === 'enforcing') === (required.length > 0))
      }))
    } finally {
      await running.stop()
      await agent.close()
    }
  }
  const [first, second] = reports
  if (first === undefined || second === undefined) throw new Error('no report')
  const { groups, cases, conformant } = first
  return {
    ...first,
    conformant: conformant && second.conformant,
    groups: { ...groups, ...second.groups },
    cases: [...cases, ...second.cases]
  }
}

const results: Results[] = []
for (const proxy of chosen) {
  const version = proxy.version()
  if (version === null) {
    console.log(`${proxy.name}: not installed, left out`)
    continue
  }
  const report = await resultsOf(proxy, version)
  results.push({ name: proxy.name, version, claims: proxy.claims, report })
  const failed = report.cases.filter(({ outcome }) => outcome === 'failed' || outcome === 'error')
  console.log(`${proxy.name} ${version}: ${report.cases.filter(({ outcome }) => outcome === 'passed').length} passed, ${failed.length} failed`)
  if (values.reports !== undefined) {
    mkdirSync(values.reports, { recursive: true })
    writeFileSync(join(values.reports, `${proxy.name.replaceAll(/[^\w-]+/g, '-')}.json`), reportJson(report))
  }
}
const before = readFileSync(PAGE, 'utf8')
if (values.check === true) {
  const problems = ownFailures(results).filter(line => !before.includes(line))
  for (const line of problems) console.log(`not on the page: ${line}`)
  if (!before.includes(casesDigest())) console.log('the page comes from other cases')
  process.exitCode = problems.length > 0 ? 1 : 0
} else writeFileSync(PAGE, withResults(before, results))
