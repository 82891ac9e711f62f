/**
 * Makes one script of `serve` and of a worker with all modules that every start loads, and stores V8's code cache of the script
 * (src/bundled.ts). This is the last step of a build. The step replaces `cli/serve.js` and `server/cluster/main.js`, which the compiler
 * writes on every run, with two short modules.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { bundle } from './bundle.js'
import { bundleEditor } from './editor.js'
import { vendor } from './vendor.js'

const dist = join(packageRoot(), 'dist')
const folder = join(dist, 'src/bundle')
/** Names of the entries in the bundle, each with its module and the exports of the module. */
const ENTRIES = {
  serve: { file: 'cli/serve.js', offers: 'runServe' },
  worker: { file: 'server/cluster/main.js', offers: null }
} as const

await bundleEditor()
await vendor(join(dist, 'src/vendor'))
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const source = await bundle(join(dist, 'src'), Object.fromEntries(Object.entries(ENTRIES).map(([name, { file }]) => [name, file])))
// The file name contains the digest of the script, because V8 tells sources apart only by their length.
const name = `gateway-${createHash('sha256').update(source).digest('hex').slice(0, 16)}.cjs`
writeFileSync(join(folder, name), source)
execFileSync(process.execPath, ['--hash-seed=1', join(import.meta.dirname, 'compile.js'), join(folder, name)], { stdio: 'inherit' })
for (const [entry, { file, offers }] of Object.entries(ENTRIES)) {
  const run = `bundled('bundle/${name}').${entry}()`
  writeFileSync(
    join(dist, 'src', file),
    `import { bundled } from '#bundled.js'\n${offers === null ? run : `export const { ${offers} } = ${run}`}\n`
  )
}
