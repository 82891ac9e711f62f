/** The gateway without what only development needs: its own code, and the packages that a running gateway may load. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { filesBelow, put } from './files.js'
import { needed, productionOf } from './trim.js'
import type { Lock } from './trim.js'

export interface App {
  /** `name@version` of the packages. */
  readonly names: ReadonlySet<string>
  /** Bytes of packages that were copied. */
  readonly kept: number
  /** Bytes of packages that were left out. */
  readonly left: number
  /** Bytes of the gateway's own code. */
  readonly own: number
}

/**
 * Copies the built gateway. The working directory is the root of the project.
 * @param app folder that becomes the root of the package, for example `/app` of the image
 */
export function putApp (app: string): App {
  const names = new Set<string>()
  let kept = 0
  let left = 0
  for (const folder of productionOf(JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock)) {
    if (!existsSync(folder)) continue
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string, version: string }
    names.add(`${name}@${version}`)
    const sizes = copy(folder, join(app, folder), path => needed(`${folder}/${path}`))
    kept += sizes.kept
    left += sizes.left
  }
  // Packages of which the scripts in dist/src/vendor contain code.
  const vendored = JSON.parse(readFileSync('dist/src/vendor/packages.json', 'utf8')) as readonly { readonly name: string, readonly version: string }[]
  for (const { name, version } of vendored) names.add(`${name}@${version}`)
  const own = copy('dist/src', join(app, 'dist/src'), path => !/\.(?:map|d\.ts)$/.test(path))
  copy('config', join(app, 'config'), path => !path.endsWith('.test.yaml'))
  for (const file of ['package.json', 'LICENSE']) put(file, join(app, file))
  return { names, kept, left, own: own.kept }
}

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

export function mebibytes (bytes: number): string {
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`
}
