/** The configuration file of a command line. */
import { existsSync } from 'node:fs'
import { UsageError } from './arguments.js'

/** Used when the command line and the environment name neither a file nor an agent. */
export const DEFAULT_FILE = 'gateway.yaml'

export interface NamedFile {
  /** Value of `--config`. */
  readonly flag: string | undefined
  /** The file as an argument. */
  readonly argument?: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** True when the command line names an agent or a card, which is enough without a file. */
  readonly otherwise?: boolean
}

/**
 * Chooses the file: the argument or `--config`, else A2A_GATEWAY_CONFIG, else `./gateway.yaml` if it exists and no agent is named.
 * @returns null when there is no file. A file that is named but does not exist is the reader's problem
 * @throws {UsageError} when two files are named
 */
export function configurationFile ({ flag, argument, env, otherwise = false }: NamedFile): string | null {
  if (flag !== undefined && argument !== undefined) {
    throw new UsageError(`the configuration is named twice: ${argument} and --config ${flag}`)
  }
  const named = argument ?? flag ?? (env.A2A_GATEWAY_CONFIG || undefined)
  if (named !== undefined) return named
  const agent = otherwise || (env.A2A_GATEWAY_UPSTREAM ?? '') !== ''
  return !agent && existsSync(DEFAULT_FILE) ? DEFAULT_FILE : null
}
