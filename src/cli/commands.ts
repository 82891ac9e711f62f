/** The command line options of each command. */

export interface Command {
  /** `flags` take a value, `lists` may be repeated, `switches` take no value. */
  readonly flags?: readonly string[]
  readonly lists?: readonly string[]
  readonly switches?: readonly string[]
  /** Number of arguments that are not flags. Default: none. */
  readonly positionals?: number
  /** From the argument `curl` on, all arguments are a curl command. */
  readonly curl?: boolean
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { flags: ['config', 'upstream', 'listen', 'admin'], positionals: 1 },
  check: { flags: ['config', 'format'], switches: ['live', 'json'], positionals: 1 },
  init: { flags: ['output'], positionals: 1 },
  explain: {
    flags: ['config', 'card', 'upstream', 'agent', 'request', 'answer'],
    lists: ['header'],
    switches: ['json'],
    positionals: Infinity,
    curl: true
  },
  test: { flags: ['config', 'format', 'only'], switches: ['json'], positionals: Infinity },
  key: { flags: ['id', 'client', 'expires'] },
  schema: {},
  health: { flags: ['admin'] },
  help: { positionals: 1 }
}
