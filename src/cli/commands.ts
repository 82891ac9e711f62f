/** The command line options of each command. */

export interface Command {
  /** `flags` take a value, `lists` may be repeated, `switches` take no value. */
  readonly flags?: readonly string[]
  readonly lists?: readonly string[]
  readonly switches?: readonly string[]
  /** Number of arguments that are not flags. Default: none. */
  readonly positionals?: number
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { flags: ['config', 'upstream', 'listen', 'admin'] },
  check: { flags: ['config'], switches: ['live'] },
  init: { flags: ['output'], positionals: 1 },
  explain: {
    flags: ['config', 'card', 'upstream', 'agent', 'caller', 'request', 'answer'],
    lists: ['header'],
    switches: ['json'],
    positionals: Infinity
  },
  test: { flags: ['config', 'format', 'only'], positionals: Infinity },
  key: { flags: ['id', 'client', 'expires'] },
  schema: {},
  health: { flags: ['admin'] }
}
