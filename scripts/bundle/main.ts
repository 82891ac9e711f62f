/**
 * Makes one script of `serve` and of a worker with all that every start of theirs loads, and keeps what V8 has made of it (src/bundled.ts). The last
 * step of a build: it puts two short modules in the place of `cli/serve.js` and `cluster/main.js`, which the compiler always writes again.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/config/paths.js'
import { bundle } from './bundle.js'

const dist = join(packageRoot(), 'dist')
const folder = join(dist, 'src/bundle')
/** What is in the bundle under which name, and what its module offers. */
const ENTRIES = {
  serve: { file: 'cli/serve.js', offers: 'runServe' },
  worker: { file: 'cluster/main.js', offers: null }
} as const

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const source = await bundle(join(dist, 'src'), Object.fromEntries(Object.entries(ENTRIES).map(([name, { file }]) => [name, file])))
// By its content: V8 tells sources apart by their length alone.
const name = `gateway-${createHash('sha256').update(source).digest('hex').slice(0, 16)}.cjs`
writeFileSync(join(folder, name), source)
execFileSync(process.execPath, ['--hash-seed=1', join(import.meta.dirname, 'compile.js'), join(folder, name)], { stdio: 'inherit' })
for (const [entry, { file, offers }] of Object.entries(ENTRIES)) {
  const run = `bundled('bundle/${name}').${entry}()`
  writeFileSync(join(dist, 'src', file), `import { bundled } from '../bundled.js'\n${offers === null ? run : `export const { ${offers} } = ${run}`}\n`)
}
