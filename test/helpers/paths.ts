/** Paths of the repository. Tests run from `dist/test`, so a path that is relative to the running file points elsewhere. */
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'

/** The repository's root, absolute. */
export const ROOT = packageRoot()

/** The built command line. */
export const MAIN = join(ROOT, 'dist/src/main.js')

/** An absolute path below `test/`, for fixtures, corpora and scenarios. */
export function inTests (...path: string[]): string {
  return join(ROOT, 'test', ...path)
}
