import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseJson } from '#wire/json/parse-json.js'

const NAME = 'a2a-extension-gateway'

interface Package { readonly root: string, readonly version: string }

let ownPackage: Package | null = null

/**
 * Returns the directory of this package: the same from `src/` under the test loader and from `dist/src/`.
 * @returns absolute path, without trailing slash
 */
export function packageRoot (): string {
  return locate().root
}

/** Returns the version in package.json. */
export function packageVersion (): string {
  return locate().version
}

function locate (): Package {
  ownPackage ??= walk(dirname(fileURLToPath(import.meta.url)))
  return ownPackage
}

function walk (start: string): Package {
  for (let directory = start; ; directory = dirname(directory)) {
    const file = join(directory, 'package.json')
    if (existsSync(file)) {
      const manifest = parseJson(readFileSync(file, 'utf8')) as { name?: unknown, version?: unknown }
      if (manifest.name === NAME) return { root: directory, version: String(manifest.version) }
    }
    if (dirname(directory) === directory) throw new Error(`no package.json named ${NAME} above ${start}`)
  }
}
