import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { build } from 'esbuild'
import type { Plugin } from 'esbuild'
import { packageRoot } from '../../src/config/paths.js'

/** Packages that few starts need, or that are not there outside development. They are ours to name: found from here as from anywhere. */
const APART = ['@opentelemetry/*', '@redis/client', 'pino-pretty']

/**
 * @param root folder of the compiled sources
 * @param entries file below it by name
 * @returns a script whose value is a function of `exports`, `require`, `__filename` and `__dirname`; it has a member of `exports` for each entry,
 *   which loads it when it is called
 */
export async function bundle (root: string, entries: Readonly<Record<string, string>>): Promise<string> {
  const { outputFiles, warnings } = await build({
    stdin: { contents: Object.entries(entries).map(([name, file]) => `exports.${name} = () => require('./${file}')`).join('\n'), resolveDir: root },
    absWorkingDir: packageRoot(),
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node20.20',
    charset: 'ascii',
    external: APART,
    // Such a package is required: code that V8 has kept no longer knows whose `import()` it calls (Node 20 refuses it).
    supported: { 'dynamic-import': false },
    plugins: [ownModules(root), testsApart],
    logLevel: 'silent'
  })
  if (warnings.length > 0) throw new Error(warnings.map(({ text, location }) => `${location?.file ?? ''}:${location?.line ?? 0}: ${text}`).join('\n'))
  return `(function (exports, require, __filename, __dirname) { ${outputFiles[0]?.text ?? ''}\n})`
}

/** No gateway validates files of tests. */
const testsApart: Plugin = {
  name: 'tests-apart',
  setup: ({ onResolve }) => { onResolve({ filter: /^\.\/tests\.cjs$/ }, () => ({ path: '../config/built/tests.cjs', external: true })) }
}

/** Our modules say where they are in terms of `import.meta`, and require packages as ECMAScript modules can: in the bundle it is `require` itself. */
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
