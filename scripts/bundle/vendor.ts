/**
 * Joins packages of which the gateway uses a small part: each file of `src/vendor/` becomes one script, with the code of its exports. The
 * packages are development dependencies, so an installation does not contain them. Their licences and versions go with the scripts:
 * `LICENSES.txt`, and `packages.json` for the bill of materials (scripts/image/sbom.ts).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { packageRoot } from '#config/paths.js'

/** A package of which the scripts contain code. */
export interface Vendored {
  readonly name: string
  readonly version: string
  /** SPDX expression. */
  readonly license: string
}

/** Texts of licences that packages leave out, from the repositories of the packages. */
const TEXTS: Readonly<Record<string, string>> = { '@redis/client': 'scripts/bundle/redis-license.txt' }

/** Packages that an installation contains anyway. */
const INSTALLED = ['@opentelemetry/api']

/**
 * Writes the scripts and their lists, and replaces each compiled file of the folder with a module that loads its script.
 * @param folder the compiled files of `src/vendor/`
 */
export async function vendor (folder: string): Promise<void> {
  const found = new Map<string, Vendored & { readonly text: string }>()
  for (const file of readdirSync(folder).filter(name => name.endsWith('.js'))) {
    const names = [...readFileSync(join(folder, file), 'utf8').matchAll(/export \{([^}]*)\}/g)].flatMap(([, list = '']) => list.split(',').map(one => one.trim()))
    const script = file.replace(/\.js$/, '.cjs')
    for (const input of await joined(join(folder, file), join(folder, script))) {
      const place = packageOf(input)
      if (place !== null && !found.has(place)) found.set(place, describe(place))
    }
    writeFileSync(join(folder, file), `import script from './${script}'\nexport const { ${names.filter(name => name !== '').join(', ')} } = script\n`)
  }
  const packages = [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1)
  writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(packages.map(({ text: _, ...one }) => one), null, 2)}\n`)
  writeFileSync(
    join(folder, 'LICENSES.txt'),
    packages.map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text.trim()}\n`).join(`\n${'-'.repeat(80)}\n\n`)
  )
}

/** @returns the files that the script contains, from the root of the project */
async function joined (entry: string, script: string): Promise<string[]> {
  const { metafile, warnings } = await build({
    entryPoints: [entry],
    outfile: script,
    absWorkingDir: packageRoot(),
    bundle: true,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.20',
    charset: 'ascii',
    // Modules of ECMAScript, where a package has them: esbuild leaves out what they export and nobody imports.
    mainFields: ['module', 'main'],
    external: INSTALLED,
    legalComments: 'inline',
    logLevel: 'silent'
  })
  if (warnings.length > 0) throw new Error(`${basename(script)}: ${warnings.map(({ text }) => text).join('\n')}`)
  return Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path))
}

/** @returns such as `node_modules/@redis/client`; null for a file of the project */
function packageOf (path: string): string | null {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path.replaceAll('\\', '/'))?.[1] ?? null
}

/** @throws Error if a package names no licence or has no file with its text */
function describe (place: string): Vendored & { readonly text: string } {
  const folder = join(packageRoot(), place)
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string, version: string, license?: string }
  const file = ['LICENSE', 'LICENSE.md', 'LICENCE', 'license'].map(one => join(folder, one)).find(path => existsSync(path))
  const text = TEXTS[name] === undefined ? file : join(packageRoot(), TEXTS[name])
  if (license === undefined || text === undefined) throw new Error(`${place}: the package has no licence: add the text to TEXTS`)
  return { name, version, license, text: readFileSync(text, 'utf8') }
}
