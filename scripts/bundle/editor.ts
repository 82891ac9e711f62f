/** Bundles the editor of the playground (src/console/editor/) for the browser: one file beside the page, without any address. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { packageRoot } from '#config/paths.js'

/** Packages of the bundle; all have one license. */
const LICENSE = 'node_modules/@codemirror/view/LICENSE'

/** Writes the bundle to the files that the compiled server finds. */
export async function bundleEditor (): Promise<void> {
  const license = readFileSync(join(packageRoot(), LICENSE), 'utf8').trim()
  const { warnings } = await build({
    entryPoints: [join(packageRoot(), 'src/console/editor/editor.js')],
    outfile: join(packageRoot(), 'dist/src/console/page/playground/editor.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    charset: 'ascii',
    legalComments: 'none',
    banner: { js: `/* Contains CodeMirror and Lezer.\n\n${license}\n*/` },
    logLevel: 'silent'
  })
  if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join('\n'))
}
