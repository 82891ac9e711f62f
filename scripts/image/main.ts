/**
 * `node dist/scripts/image/main.js FOLDER` lays out the image: FOLDER/runtime and FOLDER/app, each the root of a layer. The Dockerfile runs
 * this command.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { mebibytes, putApp } from './app.js'
import { settle, write } from './files.js'
import { distribution, putRuntime } from './runtime.js'
import { sbom } from './sbom.js'
import type { Bom } from './sbom.js'

export function layOut (folder: string, epoch: number): void {
  const app = join(folder, 'app/app')
  const { names, kept, left, own } = putApp(app)

  const runtime = putRuntime(join(folder, 'runtime'))
  const npm = JSON.parse(
    execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], { encoding: 'utf8', maxBuffer: 64 << 20 })
  ) as Bom
  write(
    join(app, 'sbom.cdx.json'),
    sbom(npm, { production: names, node: process.versions.node, packages: runtime.packages, distribution: distribution(), epoch })
  )
  settle(folder, new Set(runtime.programs), epoch)
  console.log(`packages: ${mebibytes(kept)}, without ${mebibytes(left)} that nothing loads; own code: ${mebibytes(own)}`)
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: main.js FOLDER')
layOut(folder, Number(process.env.SOURCE_DATE_EPOCH ?? 0))
