/** What each command takes on its command line. */

export interface Command {
  /** Flags that take a value, those that may be repeated, those that take none. */
  readonly flags?: readonly string[]
  readonly lists?: readonly string[]
  readonly switches?: readonly string[]
  /** How many arguments it takes that are no flags. Default: none. */
  readonly positionals?: number
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { flags: ['config', 'upstream', 'listen', 'admin'] },
  check: { flags: ['config'], switches: ['live'] },
  init: { flags: ['output'], positionals: 1 },
  explain: { flags: ['config', 'card', 'upstream', 'agent', 'request', 'answer'], lists: ['header'], switches: ['json'], positionals: Infinity },
  test: { flags: ['config', 'format', 'only'], positionals: Infinity },
  schema: {},
  health: { flags: ['admin'] }
}
