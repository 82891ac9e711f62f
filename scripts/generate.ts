import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { resultsPage } from '../bench/render.js'
import { packageRoot } from '#config/paths.js'
import { schemaText } from '#config/schema/schema.js'
import { testsSchemaText } from '#offline/policy-test/test-schema.js'
import { writeCatalogue } from './catalogue.js'
import { catalogueGenerators, CATALOGUE_PAGES } from './catalogue-pages.js'
import { chartAlerts, chartSchema, prometheusRule } from './chart-schema.js'
import { conformancePage } from './conformance-page.js'
import { copyPage } from './console-page.js'
import { CONFIGURATION_PAGES } from './configuration-page.js'
import { dashboard } from './dashboard.js'
import { fullConfiguration } from './full-configuration.js'
import type { Generator } from './generator.js'
import { writeManual } from './manual.js'
import { writeMetaSchemas } from './meta-schemas.js'
import { OBSERVABILITY_PAGES } from './observability-pages.js'
import { operatorErrorsPage } from './operator-errors-page.js'
import { policyPage } from './policy-page.js'
import { ADDRESSED_FILES } from './public-address.js'
import { refusalsPage } from './rejections-page.js'
import { writeWebAssembly } from './web-assembly.js'
import { writeValidators } from './validators.js'

/** All generators. The build writes the file of each generator in this list, and the tests fail when a file is out of date. */
export const GENERATORS: readonly Generator[] = [
  ...ADDRESSED_FILES,
  { file: 'config/gateway.schema.json', render: schemaText },
  { file: 'config/gateway.full.yaml', render: fullConfiguration },
  { file: 'config/policy-test.schema.json', render: testsSchemaText },
  ...CONFIGURATION_PAGES,
  { file: 'docs/reference/policy.md', render: policyPage },
  { file: 'docs/reference/errors.md', render: refusalsPage },
  { file: 'docs/reference/operator-errors.md', render: operatorErrorsPage },
  { file: 'docs/contributing/conformance.md', render: conformancePage },
  ...OBSERVABILITY_PAGES,
  { file: 'deploy/grafana/dashboards/a2a-gateway.json', render: dashboard },
  { file: 'bench/RESULTS.md', render: resultsPage },
  { file: 'deploy/helm/a2a-extension-gateway/values.schema.json', render: chartSchema },
  { file: 'deploy/helm/a2a-extension-gateway/files/alerts.yaml', render: chartAlerts },
  { file: 'deploy/kubernetes/components/monitoring/prometheus-rule.yaml', render: prometheusRule },
  ...catalogueGenerators()
]

/** The generated files whose content differs from the output of their generator. */
export function drifted (): string[] {
  return GENERATORS.filter(({ file, render, edits }) => {
    const text = current(file)
    return (text !== null || edits !== true) && text !== render()
  }).map(({ file }) => file)
}

/** Writes the files that `drifted` finds. */
export function generate (): string[] {
  const files = drifted()
  for (const { file, render } of GENERATORS) {
    if (!files.includes(file)) continue
    const target = join(packageRoot(), file)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, render())
  }
  removeOldPages()
  return files
}

/** Removes the page of each policy that the catalogue no longer has. The pages are not committed, so Git does not remove them. */
function removeOldPages (): void {
  const folder = join(packageRoot(), CATALOGUE_PAGES)
  const made = GENERATORS.map(({ file }) => file)
  for (const name of readdirSync(folder)) if (!made.includes(`${CATALOGUE_PAGES}/${name}`)) rmSync(join(folder, name))
}

function current (file: string): string | null {
  try {
    return readFileSync(join(packageRoot(), file), 'utf8')
  } catch {
    return null
  }
}

async function main (args: readonly string[]): Promise<number> {
  if (!args.includes('--check')) {
    const files = generate()
    // The pages of the catalogue are not committed: a fresh clone has none.
    const pages = files.filter(file => file.startsWith(`${CATALOGUE_PAGES}/`))
    if (pages.length > 0) console.log(`wrote ${pages.length} pages to ${CATALOGUE_PAGES}`)
    for (const file of files) if (!pages.includes(file)) console.log(`wrote ${file}`)
    writeValidators()
    writeMetaSchemas()
    writeCatalogue()
    copyPage()
    writeManual(new Map(catalogueGenerators().map(({ file, render }) => [file.replace(/^docs\//, ''), render()])))
    await writeWebAssembly()
    return 0
  }
  const files = drifted()
  for (const file of files) console.error(`${file} is out of date: run "npm run build"`)
  return files.length === 0 ? 0 : 1
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2))
}
