/**
 * Selects the files of an installed package that a running gateway may load, and the files that the package's licence requires in a copy.
 */

const CODE = /\.(?:js|mjs|cjs|json|wasm|node)$/
const LICENCE = /^(?:licen[cs]e|notice|copying|copyright|patents|authors)(?:[.-].*)?$/i

/** Folders directly below the root of a package that publishers ship for developers of the package. */
const FOR_DEVELOPERS: ReadonlySet<string> = new Set([
  'test',
  'tests',
  '__tests__',
  'docs',
  'example',
  'examples',
  'bench',
  'benchmark',
  'benchmarks',
  'types',
  'browser',
  '.github',
  'eslint.config.js',
  'tsconfig.json'
])

/** A second copy of the code for bundlers. Node never loads this copy, because the condition in `exports` is not one of Node's. */
const FOR_BUNDLERS = /^build\/(?:esm|esnext)\//

/** The parts of a package-lock.json, version 3, that this module reads. */
export interface Lock {
  readonly packages: Readonly<Record<string, {
    readonly dev?: boolean
    readonly devOptional?: boolean
    readonly dependencies?: Readonly<Record<string, string>>
  }>>
}

/** Folders of the packages that a running gateway needs, such as `node_modules/a/node_modules/b`. */
export function productionOf (lock: Lock): ReadonlySet<string> {
  return new Set(
    Object.entries(lock.packages)
      .filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true)
      .map(([path]) => path)
  )
}

/**
 * True when the image needs a file below `node_modules`: code, data and licences. False for source maps, type declarations, documents and
 * tests.
 * @param path with slashes, such as `node_modules/@fastify/http-proxy/index.js`
 */
export function needed (path: string): boolean {
  const within = path.split('node_modules/').at(-1) as string
  const names = within.split('/')
  if (names[0]?.startsWith('.') === true) return false
  const inPackage = names.slice(within.startsWith('@') ? 2 : 1)
  const name = inPackage.at(-1) ?? ''
  if (LICENCE.test(name) && !CODE.test(name)) return true
  if (FOR_DEVELOPERS.has(inPackage[0] ?? '') || FOR_BUNDLERS.test(inPackage.join('/'))) return false
  return CODE.test(name)
}
