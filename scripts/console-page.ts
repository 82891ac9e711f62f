/** The files of the console's page, which nothing compiles: the build puts them where the compiled server looks for them. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../src/config/paths.js'

const PAGE = 'src/console/page'

export function copyPage (): void {
  const target = join(packageRoot(), 'dist', PAGE)
  rmSync(target, { recursive: true, force: true })
  cpSync(join(packageRoot(), PAGE), target, { recursive: true })
}
