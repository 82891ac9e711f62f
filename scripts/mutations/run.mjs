/**
 * `npm run test:mutations [-- FROM TO]`: applies the small faults of list.mjs one by one to the compiled sources, and prints the first
 * suite that finds each fault. The script restores the compiled file after each fault. A fault that no suite finds is an error.
 *
 * To save time, the script runs the files that most likely find a fault before the whole suite: first the files with the name of the
 * source, then the files of its folder and of its top folder.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { transform } from 'esbuild'
import { ROOT, buildTests } from '../build-tests.mjs'
import { suiteOf } from '../suites.mjs'
import { MUTATIONS } from './list.mjs'

const [from = '1', to = String(MUTATIONS.length)] = process.argv.slice(2)
const run = (...args) => spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'ignore' }).status === 0

/** Modules that bundling replaces. Each bundle starts from the compiled ones. */
const REPLACED = ['cli/serve.ts', 'server/cluster/main.ts', ...readdirSync(join(ROOT, 'src/vendor')).map(file => `vendor/${file}`)]

/** Bundles the compiled sources. */
async function bundle (mutated) {
  for (const file of REPLACED) {
    if (file === mutated) continue
    const { code } = await transform(readFileSync(join(ROOT, 'src', file), 'utf8'), { loader: 'ts', format: 'esm', target: 'node20' })
    writeFileSync(join(ROOT, 'dist/src', file.replace(/\.ts$/, '.js')), code)
  }
  if (!run('dist/scripts/bundle/main.js')) throw new Error('the bundle cannot be built: node dist/scripts/bundle/main.js shows why')
}

/** Folders of tests for folders of sources with another name. */
const TESTED_IN = { jsonschema: 'policy', front: 'gateway' }

/** The suite of the first test that fails. The script runs the files near the source first, then whole suites. */
function finder (file, hint) {
  const [folder, name] = [dirname(file), basename(file, '.ts')]
  const [top] = folder.split('/')
  for (const prefix of [...hint === undefined ? [] : [hint], `${folder}/${name}`, `${folder}/`, `${TESTED_IN[top] ?? top}/`]) {
    for (const suite of ['unit', 'integration']) {
      const near = tests.filter(test => suiteOf(test) === suite && test.startsWith(prefix))
      if (near.length > 0 && !run('scripts/test.mjs', '--bail', ...near.map(test => `test/${test}.test.ts`))) return suite
    }
  }
  return ['unit', 'integration', 'system'].find(suite => !run('scripts/test.mjs', '--bail', suite)) ?? 'none'
}

const tests = readdirSync(join(ROOT, 'test'), { recursive: true })
  .filter(file => file.endsWith('.test.ts'))
  .map(file => file.slice(0, -'.test.ts'.length))
await buildTests()
const found = { unit: 0, integration: 0, system: 0, none: 0 }
for (const [index, [file, before, after, hint]] of MUTATIONS.entries()) {
  if (index + 1 < Number(from) || index + 1 > Number(to)) continue
  const source = readFileSync(join(ROOT, 'src', file), 'utf8')
  if (source.split(before).length !== 2) throw new Error(`${file}: "${before}" must occur once; adjust scripts/mutations/list.mjs`)
  const target = join(ROOT, 'dist/src', file.replace(/\.ts$/, '.js'))
  const compiled = readFileSync(target)
  const { code } = await transform(source.replace(before, () => after), { loader: 'ts', format: 'esm', target: 'node20' })
  writeFileSync(target, code)
  try {
    await bundle(file)
    const suite = finder(file, hint)
    found[suite]++
    console.log(`${String(index + 1).padStart(2)}  ${suite.padEnd(11)}  ${file}  ${after === '' ? `without: ${before}` : after}`)
  } finally {
    writeFileSync(target, compiled)
  }
}
await bundle()
console.log(JSON.stringify(found))
process.exitCode = found.none === 0 ? 0 : 1
