/** Problems of the configuration that a command line names. */
import { readText } from '#config/load.js'
import type { Diagnostic, LoadResult } from '#config/load.js'
import { kindOfFile, wrongKind } from '../command-line/file-kind.js'

/** A configuration that cannot be used. */
export interface Unusable {
  readonly problems: readonly Diagnostic[]
  /** True when the arguments or the environment are at fault: the file cannot be read, or all problems are of flags and variables. */
  readonly usage: boolean
}

/** @param file the file as the user named it; null: the defaults */
export function unusableConfiguration (file: string | null, loaded: Extract<LoadResult, { ok: false }>): Unusable {
  const content = file === null ? null : readText(file)
  if (content !== null && 'message' in content) return { problems: loaded.problems, usage: content.unreadable === true }
  const kind = content === null || file === null ? null : kindOfFile(file, content.text)
  const wrong = kind === null || kind === 'configuration' ? null : wrongKind(file ?? '', kind, 'configuration')
  if (wrong !== null) return { problems: [wrong], usage: false }
  return { problems: loaded.problems, usage: loaded.problems.every(({ file }) => /^(?:--|A2A_GATEWAY_)/.test(file)) }
}
