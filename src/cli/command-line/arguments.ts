/** Parses the arguments of a command. Wrong arguments are usage errors, with the nearest valid name. */
import { parseArgs } from 'node:util'
import { nearest } from '#wire/nearest.js'
import type { ErrorCode } from '#operator-errors.js'
import { OperatorError } from '#operator-errors.js'
import type { Command } from '../commands.js'
import { COMMANDS } from '../commands.js'

/** A command line that cannot be used: exit code 2. The message names the fix. */
export class UsageError extends OperatorError {
  constructor (message: string, code: ErrorCode = 'A2AGW_ERR_USAGE') {
    super(code, message)
  }
}

/** Names of other tools for a command, so that their users find the command. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  run: 'serve',
  start: 'serve',
  validate: 'check',
  lint: 'check',
  verify: 'check',
  completions: 'completion',
  healthcheck: 'health'
}

export interface Parsed {
  readonly values: Readonly<Record<string, unknown>>
  readonly positionals: readonly string[]
  /** The words of a `curl` command, for a command that takes one. Null: there is none. */
  readonly curl: readonly string[] | null
}

interface Option { type: 'string' | 'boolean', multiple?: boolean, short?: string }

/** @throws {UsageError} for a name that is no command */
export function commandOf (name: string): Command {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command !== undefined) return command
  if (name === '-V' || name === '--v') throw new UsageError(`there is no flag ${name}; did you mean -v? (a2a-gateway --help)`)
  if (name.startsWith('-')) {
    throw new UsageError(
      'the command comes first, then its flags: a2a-gateway COMMAND [FLAGS] (a2a-gateway --help)'
    )
  }
  const names = Object.keys(COMMANDS)
  const near = (Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined) ?? nearest(name, names)
  const hint = near === null ? `commands are ${names.join(', ')}` : `did you mean "${near}"?`
  throw new UsageError(`there is no command "${name}"; ${hint} (a2a-gateway --help)`)
}

/**
 * Parses the arguments of one command.
 * @throws {UsageError} for unknown flags, missing values and too many arguments
 */
export function parse (name: string, command: Command, args: readonly string[]): Parsed {
  const options = optionsOf(command)
  const { positionals: most = 0 } = command
  const start = command.curl === true ? curlAt(args, options) : -1
  try {
    const { values, positionals } = parseArgs({ args: start < 0 ? [...args] : args.slice(0, start), options, allowPositionals: most > 0 })
    if (positionals.length > most) throw new UsageError(`${tooMany(command, positionals)} (a2a-gateway ${name} --help)`)
    return { values, positionals, curl: start < 0 ? null : args.slice(start) }
  } catch (error) {
    if (error instanceof UsageError) throw error
    const flags = Object.keys(options).filter(flag => flag !== 'help')
    throw new UsageError(`${problemOf((error as Error).message, flags)} (a2a-gateway ${name} --help)`)
  }
}

/**
 * Returns the words of a command line that belong to the gateway: all of them, or those before a pasted `curl` command.
 * @param argv the command and its arguments
 */
export function ownWords ([name = '', ...args]: readonly string[]): readonly string[] {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  const start = command?.curl === true ? curlAt(args, optionsOf(command)) : -1
  return start < 0 ? args : args.slice(0, start)
}

function tooMany ({ positionals: most = 0, words }: Command, positionals: readonly string[]): string {
  const extra = `unexpected argument "${positionals[most] ?? ''}"`
  return `${extra}; it takes one ` +
    `${words === undefined || words === 'yaml' ? 'FILE' : words === 'commands' ? 'NAME' : `of ${words.join(', ')}`}`
}

function optionsOf ({ flags }: Command): Record<string, Option> {
  return {
    ...Object.fromEntries(Object.entries(flags).map(([name, { value, many = false }]): readonly [string, Option] =>
      [name, value === undefined ? { type: 'boolean' } : { type: 'string', multiple: many }])),
    help: { type: 'boolean', short: 'h' }
  }
}

/** Position of the word `curl`, from which on all words are of that command. A flag's value does not count. */
function curlAt (args: readonly string[], options: Readonly<Record<string, Option>>): number {
  return args.findIndex((arg, i) => {
    const flag = /^--([^=]+)$/.exec(args[i - 1] ?? '')?.[1]
    return arg === 'curl' && (flag === undefined || options[flag]?.type !== 'string')
  })
}

/** @param message of `parseArgs`: a sentence about the argument, then advice that is not needed here */
function problemOf (message: string, flags: readonly string[]): string {
  const [text = ''] = message.split('. ')
  const unknown = /^Unknown option '--([^']*)'/.exec(text)?.[1]
  const near = unknown === undefined ? null : nearest(unknown, flags)
  if (near !== null) return `there is no flag --${unknown ?? ''}; did you mean --${near}?`
  const toggle = /^Option '(?:-\w, )?--([\w-]+)' does not take an argument/.exec(text)?.[1]
  if (toggle !== undefined) return `the flag --${toggle} takes no value`
  const without = /^Option '(?:-\w, )?--([\w-]+) <value>' argument missing/.exec(text)?.[1]
  if (without !== undefined) return `the flag --${without} needs a value`
  const alone = /^Unexpected argument '([^]*)'/.exec(text)?.[1]
  if (alone !== undefined) return `unexpected argument "${alone}"; the command takes only flags`
  const what = unknown === undefined ? text : `there is no flag --${unknown}`
  return `${what}; ${flags.length === 0 ? 'it takes no flags' : `its flags are ${flags.map(flag => `--${flag}`).join(', ')}`}`
}
