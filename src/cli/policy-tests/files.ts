/** Finds the test files of `a2a-gateway test`: files, directories and patterns. */
import { readdirSync, statSync } from 'node:fs'
import { join, normalize, resolve } from 'node:path'

/** Names of test files. A directory stands for all of them below it. */
const TEST_FILE = /\.test\.ya?ml$/
const PATTERN = /[*?[{]/
/** Directories that hold no tests of the user's own. */
const SKIPPED = new Set(['node_modules', '.git'])
/** Largest number of directory entries that one search visits. A search of `/` must end. */
const MAX_ENTRIES = 200_000

export type FoundFiles = { readonly files: readonly string[] } | { readonly problem: string }

/**
 * Expands the arguments. Shells expand patterns themselves; this is for quoted patterns, `**` and CI systems without a shell.
 * @returns each file once, in the order of the arguments, the files of one argument sorted by name; or the problem
 */
export function testFiles (names: readonly string[]): FoundFiles {
  const pathsByName = new Map<string, string>()
  for (const name of names) {
    const kind = kindOf(name)
    let files: readonly string[] = [name]
    if (kind === 'directory') {
      files = below(name).filter(path => TEST_FILE.test(path))
      if (files.length === 0) return { problem: `${name}: there is no file *.test.yaml in this directory` }
    } else if (kind === 'none' && PATTERN.test(name)) {
      files = matching(name)
      if (files.length === 0) return { problem: `no file matches "${name}"` }
    }
    for (const file of files) if (!pathsByName.has(resolve(file))) pathsByName.set(resolve(file), file)
  }
  return { files: [...pathsByName.values()] }
}

function kindOf (path: string): 'file' | 'directory' | 'none' {
  try {
    return statSync(path).isDirectory() ? 'directory' : 'file'
  } catch {
    return 'none'
  }
}

/** Files below a directory, sorted. Symbolic links to directories are not followed: they can form a cycle. */
function below (directory: string): string[] {
  const files: string[] = []
  const pending = [directory]
  let left = MAX_ENTRIES
  for (let next = pending.pop(); next !== undefined && left > 0; next = pending.pop()) {
    for (const entry of entriesOf(next)) {
      left--
      const path = join(next, entry.name)
      if (entry.isDirectory()) {
        if (!SKIPPED.has(entry.name)) pending.push(path)
      } else {
        files.push(path)
      }
    }
  }
  return files.sort()
}

function entriesOf (directory: string): { readonly name: string, isDirectory: () => boolean }[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
}

function matching (pattern: string): string[] {
  const parts = pattern.split('/')
  const first = parts.findIndex(part => PATTERN.test(part))
  const base = parts.slice(0, first).join('/')
  const root = base === '' ? (pattern.startsWith('/') ? '/' : '.') : base
  const expression = expressionOf(pattern.startsWith('./') ? normalize(pattern) : pattern)
  // A pattern without `**` needs no deeper directories than it has parts.
  const depth = pattern.includes('**') ? Infinity : parts.length - first
  return (depth === 1 ? entriesOf(root).filter(entry => !entry.isDirectory()).map(entry => join(root, entry.name)).sort() : below(root))
    .filter(path => expression.test(path))
}

/**
 * `**` stands for any directories, `*` and `?` for characters of one name, `[...]` for one of them, `{a,b}` for one of the texts. A wrong
 * pattern matches nothing.
 */
function expressionOf (pattern: string): RegExp {
  let source = ''
  let braces = 0
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i] as string
    if (pattern.startsWith('**/', i) && (i === 0 || pattern[i - 1] === '/')) {
      source += '(?:[^/]+/)*'
      i += 2
    } else if (pattern.startsWith('**', i)) {
      source += '.*'
      i++
    } else if (character === '*') source += '[^/]*'
    else if (character === '?') source += '[^/]'
    else if (character === '[' && pattern.indexOf(']', i + 2) > 0) {
      const end = pattern.indexOf(']', i + 2)
      source += `[${pattern.slice(i + 1, end).replace(/^!/, '^').replaceAll(/[\\[]/g, '\\$&')}]`
      i = end
    } else if (character === '{' && pattern.includes('}', i)) {
      source += '(?:'
      braces++
    } else if (character === '}' && braces > 0) {
      source += ')'
      braces--
    } else if (character === ',' && braces > 0) source += '|'
    else source += character.replace(/[\\^$.*+?()[\]{}|]/, '\\$&')
  }
  try {
    return new RegExp(`^${source}${')'.repeat(braces)}$`)
  } catch {
    // A range such as [z-a].
    return /(?!)/
  }
}
