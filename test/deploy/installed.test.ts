/** What an installation of the package contains: its size, the packages that the sources import, and the licences of joined packages. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, sep } from 'node:path'
import t from 'tap'
import { productionOf } from '../../scripts/image/trim.js'
import type { Lock } from '../../scripts/image/trim.js'
import { ROOT } from '../helpers/paths.js'

const read = <T>(file: string): T => JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as T
const lock = read<Lock>('package-lock.json')
const MB = 1 << 20

/** Bytes on a disk with blocks of 4 KiB, as `du` counts them. */
function onDisk (folder: string, skip: (path: string) => boolean = () => false): number {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map(path => path.split(sep).join('/'))
    .filter(path => !skip(path))
    .reduce((sum, path) => sum + Math.ceil(statSync(join(ROOT, folder, path)).size / 4_096) * 4_096, 0)
}

t.test('the installed package has at most 60 MB', async t => {
  const packages = [...productionOf(lock)].filter(folder => existsSync(join(ROOT, folder)))
  const sizes = packages.map(folder => [folder, onDisk(folder, path => path.startsWith('node_modules/'))] as const)
  const own = onDisk('dist/src', path => /\.map$|\.cache$/.test(path)) + onDisk('config')
  const total = sizes.reduce((sum, [, size]) => sum + size, own)
  t.ok(packages.length > 50, `${packages.length} packages`)
  const largest = sizes.toSorted(([, a], [, b]) => b - a).slice(0, 5).map(([folder, size]) => `${folder} ${(size / MB).toFixed(1)} MB`)
  t.ok(total < 60 * MB, `${(total / MB).toFixed(1)} MB, of it ${(own / MB).toFixed(1)} MB of this package; largest: ${largest.join(', ')}`)
})

t.test('the sources import only packages that an installation contains; src/vendor imports the others', async t => {
  const { dependencies } = read<{ readonly dependencies: Readonly<Record<string, string>> }>('package.json')
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).map(file => file.split(sep).join('/'))
    .filter(file => file.endsWith('.ts') && !file.startsWith('vendor/') && !file.startsWith('console/editor/'))
  const imported = files.flatMap(file => [...readFileSync(join(ROOT, 'src', file), 'utf8')
    .matchAll(/^(?:import (?!type )[^']*|\} )from '([^.#'][^']*)'|(?:await import|require)\('([^.#'][^']*)'\)/gm)]
    .map(([, fixed, late]) => [file, (fixed ?? late ?? '').split('/').slice(0, (fixed ?? late ?? '').startsWith('@') ? 2 : 1).join('/')] as const))
    .filter(([, name]) => !isBuiltin(name))
  t.ok(imported.length > 20, `${imported.length} imports`)
  t.same(imported.filter(([, name]) => dependencies[name] === undefined), [])
})

t.test('the licences of joined packages go with the scripts', async t => {
  const packages = read<readonly { readonly name: string, readonly version: string, readonly license: string }[]>('dist/src/vendor/packages.json')
  const texts = readFileSync(join(ROOT, 'dist/src/vendor/LICENSES.txt'), 'utf8')
  t.ok(packages.some(({ name }) => name === '@redis/client') && packages.some(({ name }) => name === '@opentelemetry/sdk-trace-base'))
  for (const { name, version, license } of packages) {
    t.match(texts, `${name} ${version} (${license})\n\n`)
    t.equal(read<{ readonly version: string }>(`node_modules/${name}/package.json`).version, version, name)
  }
  t.match(texts, 'Copyright (c) 2022-2025, Redis, inc.')
  t.match(texts, 'Apache License')
})
