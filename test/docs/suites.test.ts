/** Every test file runs in exactly one suite. CONTRIBUTING.md names every suite and every folder of the unit suite. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { ROOT, inTests } from '../helpers/paths.js'

interface Suites {
  readonly SUITES: Readonly<Record<string, unknown>>
  readonly suiteOf: (file: string) => string
  readonly processesOf: (suite: string, files: readonly string[]) => ReadonlyMap<string, readonly string[]>
}

const { SUITES, suiteOf, processesOf } = await import(pathToFileURL(join(ROOT, 'scripts/suites.mjs')).href) as Suites
const files = readdirSync(inTests(), { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.test.ts'))
  .map(file => file.slice(0, -'.test.ts'.length))
  .sort()
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

t.test('every file runs in exactly one suite', async t => {
  const runs = Object.keys(SUITES).flatMap(suite => [...processesOf(suite, files).values()].flat())
  t.same(runs.toSorted(), files)
  t.same(files.filter(file => SUITES[suiteOf(file)] === undefined), [])
})

t.test('package.json and CONTRIBUTING.md name every suite', async t => {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const row = /^\| `npm test` \| unit tests of (.*?), grouped/m.exec(page)?.[1] ?? ''
  const folders = [...new Set(files.filter(file => suiteOf(file) === 'unit').map(file => file.split('/')[0] ?? ''))].filter(
    folder => folder !== 'e2e'
  )
  t.same(row.split(/, | and /).toSorted(), folders.toSorted())
  const commands = Object.keys(SUITES).map(suite => suite === 'unit' ? 'test' : `test:${suite}`)
  t.same(commands.filter(command => manifest.scripts[command] === undefined), [])
  t.same(
    [...commands.slice(1).map(command => `npm run ${command}`), 'npm test', 'npm run test:nightly'].filter(
      command => !page.includes(`| \`${command}\` |`)
    ),
    []
  )
})

t.test('each small fault of the mutations finds its text in the sources', async t => {
  const { MUTATIONS } = await import(pathToFileURL(join(ROOT, 'scripts/mutations/list.mjs')).href) as {
    MUTATIONS: readonly (readonly [file: string, before: string, after: string, hint?: string])[]
  }
  const occurrences = ([file, before]: typeof MUTATIONS[number]): number => readFileSync(join(ROOT, 'src', file), 'utf8').split(before).length - 1
  t.ok(MUTATIONS.length > 50)
  t.same(MUTATIONS.filter(mutation => occurrences(mutation) !== 1).map(([file, before]) => `${file}: ${before}`), [])
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  t.ok(page.includes(`| ${MUTATIONS.length} small faults, one by one,`), 'CONTRIBUTING.md has their number')
})
