import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '#config/paths.js'

/**
 * Replaces a compiled module with a module that the build has made. The compiler writes its own module again on each run, so a compile
 * without a build removes the result of earlier builds.
 * @param file below `dist/`
 * @param code text of the module, which may call `require`
 * @param required CommonJS modules beside the file, by name without `.cjs`; they load when `code` requires them
 */
export function overwrite (file: string, code: string, required: Readonly<Record<string, string>>): void {
  const path = join(packageRoot(), 'dist', file)
  for (const [name, text] of Object.entries(required)) writeFileSync(join(dirname(path), `${name}.cjs`), text)
  writeFileSync(path, `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\n${code}\n`)
}
