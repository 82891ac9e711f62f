/** Checks of files that the configuration names. */
import { accessSync, constants, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileErrorText } from '../describe.js'
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { problemAt } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

/** Checks that a file can be read. @param baseDir directory that the path is relative to */
export function unreadable (value: unknown, path: Path, baseDir: string): PathProblem[] {
  if (typeof value !== 'string' || value === '' || value.includes('\0')) return []
  const reason = whyUnreadable(resolve(baseDir, value))
  return reason === null
    ? []
    : [problemAt(
        path, `${dotted(path)}: cannot read ${formatValue(value)}: ${reason}`, 'paths are relative to the configuration file', 'value',
        'A2AGW_ERR_CONFIG_FILE'
      )]
}

function whyUnreadable (file: string): string | null {
  try {
    if (!statSync(file).isFile()) return 'not a file'
    accessSync(file, constants.R_OK)
    return null
  } catch (error) {
    return fileErrorText(error)
  }
}

/** Permission of everybody to read. */
const OTHERS_READ = 0o004

/** Warns of a file that every user of the machine can read. Windows has no such bit. */
export function readableByAll (file: unknown, path: Path, baseDir: string): PathProblem[] {
  if (typeof file !== 'string' || file === '' || file.includes('\0') || process.platform === 'win32') return []
  const mode = statSync(resolve(baseDir, file), { throwIfNoEntry: false })?.mode ?? 0
  return (mode & OTHERS_READ) === 0
    ? []
    : [problemAt(
        path, `${dotted(path)}: every user of this machine can read ${formatValue(file)}`, 'chmod 600, or defaultMode: 0400 of a ' +
          'Kubernetes volume'
      )]
}

/** Checks that a certificate has its key, and a key its certificate. @param tls mapping with `cert` and `key` */
export function unpaired (tls: Mapping, path: Path): PathProblem[] {
  return ([['cert', 'key'], ['key', 'cert']] as const)
    .filter(([key, other]) => typeof tls[key] === 'string' && tls[other] === null)
    .map(([key, other]) => problemAt([...path, key], `${dotted([...path, key])} also needs ${other}`))
}
