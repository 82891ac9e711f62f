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
  /** The values of flags that have few, for completion. */
  readonly choices?: Readonly<Record<string, readonly string[]>>
  /** The values of the argument, for completion. `yaml`: YAML files. Default: files. */
  readonly words?: readonly string[] | 'commands' | 'yaml'
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { flags: ['config', 'upstream', 'listen', 'admin'], positionals: 1, words: 'yaml' },
  check: {
    flags: ['config', 'format'],
    switches: ['live', 'json'],
    positionals: 1,
    words: 'yaml',
    choices: { format: ['text', 'json', 'junit', 'github'] }
  },
  init: { flags: ['output'], lists: ['upstream', 'card', 'from'], switches: ['json'], positionals: Infinity },
  explain: {
    flags: ['config', 'card', 'upstream', 'agent', 'caller', 'request', 'answer', 'external'],
    lists: ['header'],
    switches: ['json'],
    positionals: Infinity,
    curl: true
  },
  external: { flags: ['config', 'agent', 'caller', 'request'], lists: ['header'], switches: ['json'], positionals: 2 },
  test: {
    flags: ['config', 'format', 'only'],
    switches: ['json', 'watch'],
    positionals: Infinity,
    words: 'yaml',
    choices: { format: ['tap', 'pretty', 'json', 'junit', 'github'] }
  },
  agents: { flags: ['config', 'by'], lists: ['agent'], switches: ['json'], positionals: 1, words: ['lock', 'diff'] },
  conform: {
    flags: ['direct', 'through', 'grpc', 'declare', 'profile', 'binding', 'protocol', 'only', 'html', 'listen'],
    switches: ['json', 'junit', 'required'],
    positionals: 3,
    words: ['agent', 'diff', 'cases', 'schema'],
    choices: {
      profile: ['transparent', 'discovery', 'negotiation', 'errors', 'safety', 'observability', 'enforcing'],
      binding: ['jsonrpc', 'rest', 'grpc'],
      protocol: ['1.0', '0.3']
    }
  },
  key: { flags: ['id', 'client', 'expires'], switches: ['json'] },
  schema: { switches: ['tests', 'json'] },
  health: { flags: ['admin'], switches: ['json'] },
  completion: { positionals: 1, words: ['bash', 'zsh', 'fish'] },
  help: { positionals: 1, words: 'commands' }
}
