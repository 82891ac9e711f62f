/** The builds that two commands compare: commits in temporary worktrees, and the working tree with its current build. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { UsageError } from './options.js'

/** A gateway to build. Without a commit: the working tree with its current build. */
export interface Side { readonly name: string, readonly commit: string | null }

const TREE: Side = { name: 'working tree', commit: null }

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: packageRoot(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

/**
 * Two commits as named. One commit: that commit and the working tree. None: HEAD and the working tree, or without changes the parent of
 * HEAD, and HEAD.
 * @throws UsageError for more than two, and for a name that is no commit
 */
export function sides (named: readonly string[]): [Side, Side] {
  const [first, second, third] = named
  if (third !== undefined) throw new UsageError('two commits at the most')
  if (second !== undefined) return [sideOf(first as string), sideOf(second)]
  if (first !== undefined) return [sideOf(first), TREE]
  return git('status', '--porcelain', '--untracked-files=no') === '' ? [sideOf('HEAD~1'), sideOf('HEAD')] : [sideOf('HEAD'), TREE]
}

function sideOf (name: string): Side {
  try {
    const commit = git('rev-parse', '--verify', '--quiet', `${name}^{commit}`)
    return { name: `${commit.slice(0, 9)} ${git('log', '-1', '--format=%s', commit)}`, commit }
  } catch {
    throw new UsageError(`there is no commit "${name}"`)
  }
}

/** Builds of commits, which exist until `remove`. */
export class Builds {
  readonly #directory: string
  readonly #say: (line: string) => void
  readonly #worktrees: string[] = []

  /** @param directory an empty folder */
  constructor (directory: string, say: (line: string) => void) {
    this.#directory = directory
    this.#say = say
  }

  /** @returns the path of the built main.js */
  build ({ name, commit }: Side): string {
    this.#say(`building ${name}`)
    const root = packageRoot()
    if (commit === null) return join(root, 'dist/src/main.js')
    const directory = join(this.#directory, String(this.#worktrees.length))
    git('worktree', 'add', '--detach', '--force', directory, commit)
    this.#worktrees.push(directory)
    if (readFileSync(join(directory, 'package-lock.json'), 'utf8') !== readFileSync(join(root, 'package-lock.json'), 'utf8')) {
      this.#say(`${commit.slice(0, 9)} has other dependencies; it runs with those of the working tree`)
    }
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
    if (!existsSync(join(directory, 'tsconfig.build.json'))) {
      copyFileSync(join(root, 'tsconfig.build.json'), join(directory, 'tsconfig.build.json'))
    }
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--noCheck'], {
      cwd: directory,
      stdio: 'inherit'
    })
    // Generates the validators that are compiled ahead: this is a part of the build, and the measurement of the start depends on it.
    const generate = join(directory, 'dist/scripts/generate.js')
    if (existsSync(generate)) execFileSync(process.execPath, [generate], { cwd: directory, stdio: 'inherit' })
    return join(directory, 'dist/src/main.js')
  }

  remove (): void {
    for (const worktree of this.#worktrees) git('worktree', 'remove', '--force', worktree)
  }
}
