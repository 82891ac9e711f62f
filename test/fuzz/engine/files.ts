/** Inputs on disk: one file for each input, named by its content. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'

/** corpus: inputs of earlier runs that reach much code. regressions: inputs that once broke a promise. */
export type Kind = 'corpus' | 'regressions'

export interface InputFile { readonly name: string, readonly bytes: Buffer }

export function directoryOf (kind: Kind, target: string): string {
  return join(packageRoot(), 'test', 'fuzz', kind, target)
}

/** The inputs in the order of their names. The list is empty without the directory. */
export function readInputs (kind: Kind, target: string): InputFile[] {
  const directory = directoryOf(kind, target)
  if (!existsSync(directory)) return []
  return readdirSync(directory).toSorted().map(name => ({ name, bytes: readFileSync(join(directory, name)) }))
}

/** @returns the path of the file */
export function saveInput (kind: Kind, target: string, bytes: Buffer): string {
  const directory = directoryOf(kind, target)
  mkdirSync(directory, { recursive: true })
  const path = join(directory, createHash('sha256').update(bytes).digest('hex').slice(0, 12))
  writeFileSync(path, bytes)
  return path
}

export function clearInputs (kind: Kind, target: string): void {
  rmSync(directoryOf(kind, target), { recursive: true, force: true })
}
