/** The text of `--help`, for all commands or for one. */
import { packageVersion } from '#config/paths.js'
import type { Command, Flag } from './commands.js'
import { COMMANDS, exits } from './commands.js'

/** Column at which the descriptions of flags and arguments begin. */
const COLUMN = 25

/** What a command does, and each of its flags, in a few words: for completion. */
export function shortHelp (command: string): { readonly does: string, readonly flags: Readonly<Record<string, string>> } {
  const { does, flags } = COMMANDS[command] ?? { does: '', flags: {} }
  const short = Object.entries(flags).map(([name, { help }]) =>
    [name, help.replace(/(?:;| \(|:(?= )|, (?:default|such as|if|for example)\b).*$/, '')] as const)
  return { does, flags: { ...Object.fromEntries(short), help: 'describes the command, with examples' } }
}

/**
 * Returns the help text.
 * @param command null: all commands
 */
export function usage (command: string | null): string {
  const definition = command === null ? undefined : COMMANDS[command]
  if (definition === undefined) {
    const width = Math.max(...Object.keys(COMMANDS).map(name => name.length))
    return [
      `a2a-gateway ${packageVersion()} - checks every A2A call against the extensions of your agents`,
      '',
      ...Object.entries(COMMANDS).map(([name, { does }]) => `  a2a-gateway ${name.padEnd(width)}  ${does}`),
      '',
      'a2a-gateway help COMMAND describes one command, with examples; help REASON explains a rejection. Also: --version',
      ...exits('done', 'the command ran and found a problem', 'the command could not run with these arguments'),
      'Environment: A2A_GATEWAY_CONFIG, _UPSTREAM, _LISTEN, _ADMIN, _LOG_LEVEL, _WORKERS; OTEL_* for traces, metrics and logs'
    ].join('\n')
  }
  const { does, argumentsHelp = [], flags, notes = [], examples } = definition
  const described = [
    ...argumentsHelp, ...Object.entries(flags).map(([name, flag]) => `${withValue(name, flag).padEnd(COLUMN - 1)} ${flag.help}`)
  ]
  const below = [...described, ...described.length === 0 ? [] : [''], ...notes, ...definition.exits]
  return [
    `a2a-gateway ${synopsisOf(command ?? '', definition)}`,
    '',
    `  ${does}`,
    '',
    ...below.map(line => (line === '' ? '' : `  ${line}`)),
    '',
    'Examples',
    ...examples.flatMap(([line, purpose]) => [`  # ${purpose}`, `  ${line}`])
  ].join('\n')
}

function withValue (name: string, { value }: Flag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`
}

function synopsisOf (name: string, { synopsis, before, behind, flags }: Command): string {
  if (synopsis !== undefined) return synopsis
  const words = Object.entries(flags).map(([flag, options]) => {
    const { choices, many, required } = options
    const text = choices === undefined ? withValue(flag, options) : `--${flag} ${choices.join('|')}`
    return required === true ? text : `[${text}]${many === true ? '...' : ''}`
  })
  return [name, ...before === undefined ? [] : [before], ...words, ...behind === undefined ? [] : [behind]].join(' ')
}
