/** What of an installed package a running gateway may load, and what must go with it by its licence. */

const CODE = /\.(?:js|mjs|cjs|json|wasm|node)$/
const LICENCE = /^(?:licen[cs]e|notice|copying|copyright|patents|authors)(?:[.-].*)?$/i

/** Folders of a package, directly below its root, that publishers ship for people who change the package. */
const FOR_DEVELOPERS: ReadonlySet<string> = new Set(['test', 'tests', '__tests__', 'docs', 'example', 'examples', 'bench', 'benchmark', 'benchmarks', 'types', 'browser', '.github', 'eslint.config.js', 'tsconfig.json'])

/** The same code again for bundlers, which Node's resolution never picks: the condition of its `exports` is not one of Node's. */
const FOR_BUNDLERS = /^build\/(?:esm|esnext)\//

/** As far as it is read of a package-lock.json, version 3. */
export interface Lock { readonly packages: Readonly<Record<string, { readonly dev?: boolean, readonly devOptional?: boolean }>> }

/** Folders of the packages that a gateway runs with, such as `node_modules/a/node_modules/b`. */
export function productionOf (lock: Lock): ReadonlySet<string> {
  return new Set(Object.entries(lock.packages).filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true).map(([path]) => path))
}

/**
 * Whether the image needs a file below `node_modules`: code, data and licences; not source maps, type declarations, documents and tests.
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
