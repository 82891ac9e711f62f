/** The programs of Node that parties run with: the version of the container image, and the oldest supported one. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '#config/paths.js'

export interface NodePrograms {
  /** Path of the version that the container image ships. */
  readonly shipped: string
  /** Path of the oldest supported version. */
  readonly oldest: string
}

interface Programs {
  readonly SHIPPED: string
  readonly OLDEST: string
  readonly programsOf: (majors: readonly string[]) => Readonly<Record<string, string>>
}

/**
 * The official programs, which the first run installs from npm (scripts/runtimes).
 * @throws Error with the reason when this platform has none, or the registry is not reachable
 */
export async function nodePrograms (): Promise<NodePrograms> {
  const { SHIPPED, OLDEST, programsOf } =
    await import(pathToFileURL(join(packageRoot(), 'scripts/runtimes/programs.mjs')).href) as Programs
  const programs = programsOf([SHIPPED, OLDEST])
  const all = { shipped: programs[SHIPPED] as string, oldest: programs[OLDEST] as string }
  for (const program of Object.values(all)) if (nodeVersion(program) !== process.version) writeCodeCache(program)
  return all
}

/** Writes the code cache of V8 for a version of Node that did not run the build. The image is built with the Node that it ships. */
function writeCodeCache (program: string): void {
  const folder = join(packageRoot(), 'dist/src/bundle')
  const compiler = join(packageRoot(), 'dist/scripts/bundle/compile.js')
  for (const script of readdirSync(folder).filter(name => name.endsWith('.cjs'))) {
    execFileSync(program, ['--hash-seed=1', compiler, join(folder, script)], { stdio: 'inherit' })
  }
}

/** For short runs and tests: this program for all parties. */
export const THIS_NODE: NodePrograms = { shipped: process.execPath, oldest: process.execPath }

/** @returns for example `v24.21.0` */
export function nodeVersion (program: string): string {
  return program === process.execPath ? process.version : spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.trim()
}
