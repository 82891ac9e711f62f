import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../src/config/paths.js'

/**
 * Puts a module that the build has made in the place of one that the compiler writes. The compiler always writes its own again: whoever
 * compiles and does not build has nothing of an earlier build in force.
 * @param file below `dist/`
 * @param code of the module, which may call `require`
 * @param required CommonJS modules beside it, by name without `.cjs`: loaded when `code` requires them
 */
export function overwrite (file: string, code: string, required: Readonly<Record<string, string>>): void {
  const path = join(packageRoot(), 'dist', file)
  for (const [name, text] of Object.entries(required)) writeFileSync(join(dirname(path), `${name}.cjs`), text)
  writeFileSync(path, `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\n${code}\n`)
}
