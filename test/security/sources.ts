/** The project's own sources as text, for promises about what they do not use. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../helpers/paths.js'

/** Path from the root and text of every file below `src`. */
export function sourceFiles (): [string, string][] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [`src/${file}`, readFileSync(join(ROOT, 'src', file), 'utf8')])
}

/** Modules that a source file imports, types included. */
export function importsOf (text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((found) => found[1] as string)
}

export function installedVersion (name: string): string {
  return (JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version
}

export const ROOT_FOLDER = ROOT
