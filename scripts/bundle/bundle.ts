import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { build } from 'esbuild'
import type { Plugin } from 'esbuild'
import { packageRoot } from '#config/paths.js'

/**
 * Packages that stay outside of the bundle: few starts need them, or only development installs them. The project depends on them directly,
 * so `require` finds them from the bundle too. What V8 caches of a module takes time and memory in every start (src/bundled.ts).
 */
const APART = [
  '@fastify/http-proxy',
  're2js'
]

/**
 * Bundles the entries into one script.
 * @param root folder of the compiled sources
 * @param entries names of the entries, each with its file below `root`
 * @returns a script whose value is a function of `exports`, `require`, `__filename` and `__dirname`. The function adds one member to
 *   `exports` for each entry. A call of the member loads the entry.
 */
export async function bundle (root: string, entries: Readonly<Record<string, string>>): Promise<string> {
  const { outputFiles, warnings } = await build({
    stdin: {
      contents: Object.entries(entries)
        .map(([name, file]) => `exports.${name} = () => require('./${file}')`)
        .join('\n'),
      resolveDir: root
    },
    absWorkingDir: packageRoot(),
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node20.20',
    charset: 'ascii',
    external: APART,
    // The bundle loads external packages with `require`: code from V8's cache no longer knows the module that calls `import()`, and Node 20
    // throws an error.
    supported: { 'dynamic-import': false },
    plugins: [ownModules(root), generatedApart(root), unusedApart],
    logLevel: 'silent'
  })
  if (warnings.length > 0) {
    throw new Error(warnings.map(({ text, location }) => `${location?.file ?? ''}:${location?.line ?? 0}: ${text}`).join('\n'))
  }
  return `(function (exports, require, __filename, __dirname) { ${outputFiles[0]?.text ?? ''}\n})`
}

/**
 * Leaves two kinds of scripts out of the bundle. Few starts need those of `vendor/`. The others are the code that the build generates for
 * `src/`: the validators of the gateway's schemas, of JSON Schema's meta-schemas and of test files, and the policies of the catalogue. A
 * start runs little of this code, once. V8's cache contains all functions, and these are a fifth of them (measured in one interleaved run:
 * 84 instead of 90 MB when idle, 15 of 390 ms of CPU time more for a start).
 */
const generatedApart = (root: string): Plugin => ({
  name: 'generated-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/[a-z-]+\.cjs$/ }, ({ path, resolveDir }) => {
      const from = relative(root, resolveDir).split(sep).join('/')
      return from.endsWith('/built') || from === 'vendor' ? { path: `../${from}/${path.slice(2)}`, external: true } : undefined
    })
  }
})

/**
 * Leaves out the modules that Fastify and undici load for features that the gateway does not use: schemas of routes, `inject`, and bodies
 * of the type FormData. `require` finds them where they are installed.
 */
const unusedApart: Plugin = {
  name: 'unused-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^(@fastify\/(ajv-compiler|fast-json-stringify-compiler)|light-my-request)$/ }, ({ path }) => ({ path, external: true }))
    onResolve({ filter: /\/web\/fetch\/body\.js$/ }, () => ({ path: 'undici/lib/web/fetch/body.js', external: true }))
  }
}

/**
 * Replaces `import.meta` and `createRequire` in the project's own modules: in the bundle, each module has its path from `__dirname`, and
 * `require` itself loads packages.
 */
function ownModules (root: string): Plugin {
  return {
    name: 'own-modules',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const within = relative(root, path)
        if (within.startsWith('..')) return undefined
        const place = `require('node:path').join(__dirname, ${JSON.stringify(join('..', within).split(sep).join('/'))})`
        const contents = readFileSync(path, 'utf8')
          .replace(/^const require = createRequire\(import\.meta\.url\);?$/m, '')
          .replaceAll('createRequire(import.meta.url)(', 'require(')
          .replaceAll('import.meta.url', `require('node:url').pathToFileURL(${place}).href`)
          .replaceAll('import.meta.dirname', `require('node:path').dirname(${place})`)
        if (contents.includes('import.meta')) throw new Error(`${path}: import.meta is used in a way that the bundle does not know`)
        return { contents, loader: 'js' }
      })
    }
  }
}
