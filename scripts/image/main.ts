/**
 * `node dist/scripts/image/main.js FOLDER` lays out the image: FOLDER/runtime and FOLDER/app, each the root of a layer. The Dockerfile runs
 * this command.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { filesBelow, put, settle, write } from './files.js'
import { distribution, putRuntime } from './runtime.js'
import { sbom } from './sbom.js'
import type { Bom } from './sbom.js'
import { needed, productionOf } from './trim.js'
import type { Lock } from './trim.js'

/** Copies the files of `from` that `keep` accepts to `to`; @returns the bytes that were copied and the bytes that were left out */
function copy (from: string, to: string, keep: (path: string) => boolean): { kept: number, left: number } {
  const sizes = { kept: 0, left: 0 }
  // The files of nested packages are left out here, because each nested package is copied separately.
  for (const path of filesBelow(from).filter(path => !path.startsWith('node_modules/'))) {
    const kept = keep(path)
    sizes[kept ? 'kept' : 'left'] += statSync(join(from, path)).size
    if (kept) put(join(from, path), join(to, path))
  }
  return sizes
}

export function layOut (folder: string, epoch: number): void {
  const app = join(folder, 'app/app')
  const production = productionOf(JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock)
  const names = new Set<string>()
  let kept = 0
  let left = 0
  for (const folder of production) {
    if (!existsSync(folder)) continue
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string, version: string }
    names.add(`${name}@${version}`)
    const sizes = copy(folder, join(app, folder), path => needed(`${folder}/${path}`))
    kept += sizes.kept
    left += sizes.left
  }
  const own = copy('dist/src', join(app, 'dist/src'), path => !/\.(?:map|d\.ts)$/.test(path))
  copy('config', join(app, 'config'), path => !path.endsWith('.test.yaml'))
  for (const file of ['package.json', 'LICENSE']) put(file, join(app, file))

  const runtime = putRuntime(join(folder, 'runtime'))
  const npm = JSON.parse(
    execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], { encoding: 'utf8', maxBuffer: 64 << 20 })
  ) as Bom
  write(
    join(app, 'sbom.cdx.json'),
    sbom(npm, { production: names, node: process.versions.node, packages: runtime.packages, distribution: distribution(), epoch })
  )
  settle(folder, new Set(runtime.programs), epoch)
  console.log(`packages: ${mebibytes(kept)}, without ${mebibytes(left)} that nothing loads; own code: ${mebibytes(own.kept)}`)
}

function mebibytes (bytes: number): string {
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: main.js FOLDER')
layOut(folder, Number(process.env.SOURCE_DATE_EPOCH ?? 0))
