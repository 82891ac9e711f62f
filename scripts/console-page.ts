/** Copies the files of the console's page to the folder where the compiled server finds them. No compiler handles these files. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'

const PAGE = 'src/console/page'

export function copyPage (): void {
  const target = join(packageRoot(), 'dist', PAGE)
  rmSync(target, { recursive: true, force: true })
  cpSync(join(packageRoot(), PAGE), target, { recursive: true })
}
