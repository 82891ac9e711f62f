/**
 * The commands, with their flags, help and examples: the one table that the parser of arguments, `--help`, the completion of the shells and
 * the manual read. `main.ts` runs them.
 */

export interface Flag {
  readonly help: string
  /** The name of the value, as in `--config FILE`. Absent: the flag takes no value. */
  readonly value?: string
  /** The flag can be repeated. */
  readonly many?: true
  /** The command does not run without the flag. */
  readonly required?: true
  /** The values, if there are few: for completion. */
  readonly choices?: readonly string[]
}

export interface Command {
  /** What the command does, in one line of the list of commands. */
  readonly does: string
  /** The arguments in the synopsis, before and behind the flags. Default: none. */
  readonly before?: string
  readonly behind?: string
  /** The whole synopsis, for a command with several forms. */
  readonly synopsis?: string
  /** The number of arguments that are not flags. Default: none. */
  readonly positionals?: number
  /** Describes the arguments, one per line. */
  readonly argumentsHelp?: readonly string[]
  readonly flags: Readonly<Record<string, Flag>>
  /** Lines behind the flags. */
  readonly notes?: readonly string[]
  /** The exit codes, one per line. */
  readonly exits: readonly string[]
  /** From the argument `curl` on, all arguments are a curl command. */
  readonly curl?: true
  /** The values of the argument, for completion. `yaml`: YAML files. Default: files. */
  readonly words?: readonly string[] | 'commands' | 'yaml'
  /** Command lines, each with its purpose. */
  readonly examples: readonly (readonly [command: string, purpose: string])[]
}

const CONFIG: Flag = { value: 'FILE', help: 'the configuration file; or A2A_GATEWAY_CONFIG; default: ./gateway.yaml, if it exists' }
const SAME_AS_FILE: Flag = { value: 'FILE', help: 'the same as FILE' }
const FILE = 'FILE                     the configuration file; or --config, or A2A_GATEWAY_CONFIG; default: ./gateway.yaml, if it exists'
/** `serve` and `check` take the configuration file as an argument. */
const TAKES_FILE = { before: '[FILE]', positionals: 1, words: 'yaml', argumentsHelp: [FILE] } as const
const JSON_FORMAT: Flag = { help: 'the same as --format json' }
const HEADER: Flag = { value: "'NAME: VALUE'", many: true, help: 'replaces the recorded headers of that name; can be repeated' }
const WRONG = 'wrong arguments, or a file that cannot be read'

/** The exit codes of a command, one per line. @param problem null: the command never exits with 1 */
export function exits (done: string, problem: string | null, wrong: string): string[] {
  return [`Exit: 0 ${done}`, ...problem === null ? [] : [`      1 ${problem}`], `      2 ${wrong}`]
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    does: 'runs the gateway',
    ...TAKES_FILE,
    flags: {
      config: SAME_AS_FILE,
      upstream: { value: 'URL', help: 'URL of the agent, instead of a configuration file; or A2A_GATEWAY_UPSTREAM' },
      listen: { value: 'HOST:PORT', help: 'address for clients; or A2A_GATEWAY_LISTEN; default: 0.0.0.0:8080' },
      admin: { value: 'HOST:PORT', help: 'address for health, metrics and state; or A2A_GATEWAY_ADMIN; default: 127.0.0.1:9901' }
    },
    notes: [
      'A2A_GATEWAY_LOG_LEVEL sets the log level, A2A_GATEWAY_WORKERS sets the number of processes.',
      'OTEL_* variables configure traces, metrics and logs. Flags override variables, and variables override the file.'
    ],
    exits: exits('a signal stopped the gateway', 'the gateway could not start', WRONG),
    examples: [
      ['a2a-gateway serve', 'runs with ./gateway.yaml'],
      ['a2a-gateway serve staging.yaml --listen 127.0.0.1:8080', 'another file and address'],
      ['a2a-gateway serve --upstream http://127.0.0.1:9999', 'one agent, without a file']
    ]
  },
  check: {
    does: 'reports all problems of a configuration',
    ...TAKES_FILE,
    flags: {
      config: SAME_AS_FILE,
      live: { help: "also fetches the agents' cards, and compares them with the configuration" },
      format: {
        value: 'FORMAT',
        choices: ['text', 'json', 'junit', 'github'],
        help: 'text, json, junit (for CI systems) or github (annotations in GitHub Actions); default: text'
      },
      json: JSON_FORMAT
    },
    notes: ['Prints one line per problem: FILE:LINE:COLUMN: MESSAGE (HINT).'],
    exits: exits('no problem, or only warnings', 'at least one problem', WRONG),
    examples: [
      ['a2a-gateway check', 'checks ./gateway.yaml'],
      ['a2a-gateway check gateway.yaml --live', "also compares the file with the agents' cards"]
    ]
  },
  init: {
    does: "creates a configuration and its tests from agents' cards and from recorded calls",
    behind: '[URL...]',
    positionals: Infinity,
    argumentsHelp: ['URL                      URL of an agent or of its card; several URLs are several agents'],
    flags: {
      upstream: { value: 'URL', many: true, help: 'the same as URL; can be repeated' },
      card: {
        value: 'FILE|URL', many: true, help: 'the card of an agent: the first --card belongs to the first --upstream; can be repeated'
      },
      from: {
        value: 'RECORDING',
        many: true,
        help: 'a HAR file or another recording of calls, from whose data init proposes rules and schemas; can be repeated'
      },
      output: {
        value: 'FILE',
        help: 'a new file for the configuration; init writes tests and the JSON Schema for editors beside it; default: standard output'
      },
      json: { help: 'prints the names of the written files, and the proposals, as JSON' }
    },
    notes: ['A comment "guess:" marks each proposal.'],
    exits: exits(
      'done', 'no card, no A2A request in the recordings, or init cannot write a file', 'wrong arguments, or init cannot read a file'
    ),
    examples: [
      ['a2a-gateway init http://127.0.0.1:9999', 'prints a configuration for the agent'],
      ['a2a-gateway init http://127.0.0.1:9999 http://127.0.0.1:9998 --output ' +
        'gateway.yaml', 'two agents, into a file, with tests beside it'],
      ['a2a-gateway init --card card.json --output gateway.yaml', 'a card on disk'],
      ['a2a-gateway init http://127.0.0.1:9999 --from calls.har --output gateway.yaml', 'with rules for the data of recorded calls']
    ]
  },
  explain: {
    does: 'explains how the gateway would handle a recorded request and its response',
    behind: 'REQUEST',
    positionals: Infinity,
    curl: true,
    argumentsHelp: [
      'REQUEST                  an .http file, captured JSON, a HAR file or entry, a curl command (as the last argument), or - for ' +
        'standard input.',
      '                         Or a rejection: the error that a client got, a decision of the console, or an audit line'
    ],
    flags: {
      config: CONFIG,
      card: { value: 'FILE', help: "a card on disk, instead of the agent's own card; needs no configuration" },
      upstream: { value: 'URL', help: 'an agent with default settings, instead of a configuration' },
      agent: { value: 'NAME', help: 'the agent of the request; default: the agent at the address of the request' },
      caller: {
        value: 'FILE|JSON', help: 'the caller: source, subject, client, scopes, groups, tenant, spiffe, claims; each has a default'
      },
      header: HEADER,
      request: { value: 'NAME|NUMBER', help: 'explains only this request of the file' },
      answer: { value: 'FILE', help: "the agent's response: status line, headers and body, or JSON, or an event stream" },
      external: { value: 'FILE|JSON', help: 'answers of policy servers by name, such as {"corp": {"decision": false}}' },
      steps: { help: 'prints the steps of a call, in the order in which the gateway runs them; needs no REQUEST' },
      json: { help: 'prints the explanation as JSON' }
    },
    exits: exits(
      'the gateway forwards request and response', 'the gateway rejects the request or the response, or the call failed', 'explain could ' +
        'not explain the request'
    ),
    examples: [
      ['a2a-gateway explain call.http', 'all requests of a file, with ./gateway.yaml'],
      ['a2a-gateway explain --card card.json --request order calls.http', 'one request, without a configuration'],
      [
        'a2a-gateway explain curl http://localhost:8080/rpc --json @body.json -H "A2A-Version: 1.0"',
        'a curl command, as you would run it'
      ],
      ["pbpaste | a2a-gateway explain --header 'A2A-Version: 1.0' -", 'a JSON-RPC request, curl command or HAR entry of the clipboard'],
      ['pbpaste | a2a-gateway explain -', 'the error of a client, a decision of the console or an audit line: which rule rejected, and the fix']
    ]
  },
  external: {
    does: 'asks the policy servers of the configuration about a recorded request',
    before: 'ask',
    behind: 'REQUEST',
    positionals: 2,
    argumentsHelp: ['REQUEST                  as in "explain": an .http file, captured JSON, a HAR file, or - for standard input'],
    flags: {
      config: CONFIG,
      agent: { value: 'NAME', help: 'the agent of the request, instead of finding it by address' },
      caller: {
        value: 'FILE|JSON', help: 'who calls: source, subject, client, scopes, groups, tenant, spiffe, claims; each has a default'
      },
      header: HEADER,
      request: { value: 'NAME|NUMBER', help: 'one request of the file' },
      json: { help: 'prints questions, answers and their effects as JSON' }
    },
    notes: ['Sends the questions of decisionPoints to their servers, and explains the request with the answers.'],
    exits: exits('the gateway forwards the request', 'the gateway rejects the request', 'the servers could not be asked'),
    examples: [
      ['a2a-gateway external ask call.http', 'the questions of ./gateway.yaml about all requests of a file'],
      ["a2a-gateway external ask --caller '{subject: alice, groups: [finance]}' --request pay calls.http", 'one request, of a caller']
    ]
  },
  test: {
    does: 'runs policy tests written in YAML',
    behind: 'FILE...',
    positionals: Infinity,
    words: 'yaml',
    argumentsHelp: [
      'FILE                     a test file, a directory with files *.test.yaml, or a pattern such as "policies/**/*.test.yaml"'
    ],
    flags: {
      config: CONFIG,
      format: {
        value: 'FORMAT',
        choices: ['tap', 'pretty', 'json', 'junit', 'github'],
        help: 'tap, pretty, json, junit or github (annotations in GitHub Actions); default: pretty on a terminal, else tap'
      },
      json: JSON_FORMAT,
      only: { value: 'TEXT', help: 'runs only the tests whose name contains TEXT' },
      watch: { help: 'runs the tests again when a file changes, until Ctrl-C' }
    },
    exits: exits('all tests passed', 'a test failed', 'a file is not valid, or wrong arguments'),
    examples: [
      ['a2a-gateway test policies/', 'all files *.test.yaml of a directory, with ./gateway.yaml'],
      ["a2a-gateway test 'services/**/*.test.yaml' --only invoice", 'the tests whose name contains "invoice"'],
      ['a2a-gateway test policies/ --watch', 'while you write policies']
    ]
  },
  agents: {
    does: 'agrees on the cards of agents, or shows what has changed since',
    before: 'lock|diff',
    positionals: 1,
    words: ['lock', 'diff'],
    argumentsHelp: [
      'lock                     fetches the cards, and writes those that differ to agents.lock, beside the configuration file',
      'diff                     fetches the cards, and shows how they differ from agents.lock and what that does to enforcement'
    ],
    flags: {
      config: CONFIG,
      agent: { value: 'NAME', many: true, help: 'only this agent; can be repeated' },
      by: { value: 'NAME', help: 'who agrees, for lock; default: the user of the CI system or of the machine' },
      json: { help: 'prints the result as JSON' }
    },
    exits: [
      'Exit of lock: 0 written or unchanged, 1 a card cannot be fetched and its entry stays, 2 wrong arguments, or a file cannot be used',
      'Exit of diff: 0 all cards are as agreed, 1 a card differs or is new, 2 wrong arguments, or a file or card cannot be read'
    ],
    examples: [
      ['a2a-gateway agents lock', 'agrees on the current cards of all agents'],
      ['a2a-gateway agents diff', 'shows how the cards differ from the agreed cards, and what that does to enforcement'],
      ['a2a-gateway agents lock --agent billing --by "Ada Lovelace"', 'agrees on one card'],
      ['a2a-gateway agents diff --json || exit 1', 'in CI: fails when a card is not as agreed']
    ]
  },
  conform: {
    does: 'tests a proxy: compares what agent and client see directly and through the proxy',
    synopsis:
      'conform --direct URL --through URL [--grpc URL] [--declare FILE] [--profile LIST] [--binding LIST] [--protocol LIST] [--only ' +
        'TEXT] [--json] [--junit] [--html FILE] | conform agent [--listen HOST:PORT] [--required] | conform diff BEFORE AFTER | conform ' +
        'cases | conform schema',
    positionals: 3,
    words: ['agent', 'diff', 'cases', 'schema'],
    flags: {
      direct: { value: 'URL', help: 'URL of the agent; "conform agent" runs one that every case needs, other agents allow fewer cases' },
      through: { value: 'URL', help: 'URL of the same agent behind the proxy' },
      grpc: { value: 'URL', help: "URL of the proxy's gRPC listener, if its card does not name it" },
      declare: { value: 'FILE', help: 'what the proxy claims to do, as YAML; cases that it does not claim cannot fail' },
      profile: {
        value: 'LIST',
        choices: ['transparent', 'discovery', 'negotiation', 'errors', 'safety', 'observability', 'enforcing'],
        help: 'groups of cases: transparent, discovery, negotiation, errors, safety, observability, enforcing; default: all'
      },
      binding: {
        value: 'LIST', choices: ['jsonrpc', 'rest', 'grpc'], help: 'bindings: jsonrpc, rest, grpc; default: all that the card names'
      },
      protocol: { value: 'LIST', choices: ['1.0', '0.3'], help: 'versions of A2A: 1.0, 0.3; default: both' },
      only: { value: 'TEXT', help: 'cases whose id contains TEXT' },
      json: { help: 'prints the report as JSON: the same proxy has the same report' },
      junit: { help: 'prints the report for CI systems' },
      html: { value: 'FILE', help: 'also writes the report as a page' },
      listen: { value: 'HOST:PORT', help: 'address of "conform agent", default 127.0.0.1:9999' },
      required: { help: 'the card of "conform agent" requires two extensions, for the group enforcing' }
    },
    notes: ['conform diff compares two reports of --json; conform cases prints all cases; conform schema prints the JSON Schema of the ' +
      'file for --declare.'],
    exits: exits(
      'no case with the level MUST failed', 'such a case failed, or a report is worse than the one before', 'the suite could not run, or ' +
        'a case failed without the proxy'
    ),
    examples: [
      ['a2a-gateway conform agent --listen 127.0.0.1:9999', 'an agent for the tests; put the proxy in front of it'],
      ['a2a-gateway conform --direct http://127.0.0.1:9999 --through http://127.0.0.1:8080', 'all cases'],
      ['a2a-gateway conform --direct http://127.0.0.1:9999 --through http://127.0.0.1:8080 --declare proxy.yaml --json > ' +
        'report.json', 'a report to publish'],
      ['a2a-gateway conform diff before.json report.json', 'what another version of the proxy has changed']
    ]
  },
  key: {
    does: 'creates an API key for a caller',
    flags: {
      id: { value: 'NAME', required: true, help: 'name of the key, unique in the key file' },
      client: { value: 'NAME', help: 'name of the caller, for callers with several keys, such as an old and a new key' },
      expires: { value: 'DATE', help: 'end of validity: a date such as 2027-01-01, or a time such as 2027-01-01T12:00:00Z' },
      json: { help: 'prints key and entry as JSON' }
    },
    notes: ['Prints two lines: the key, for the caller, and the entry for your key file. The entry contains only a digest of the key.'],
    exits: exits('done', null, 'wrong arguments'),
    examples: [
      ['a2a-gateway key --id billing-2027 --client billing --expires 2027-12-31', 'a key of the caller billing'],
      ['a2a-gateway key --id ci --json | jq .entry', 'for a script']
    ]
  },
  schema: {
    does: 'prints the JSON Schema of the configuration, for editors',
    flags: {
      tests: { help: 'prints the schema of policy test files instead' },
      json: { help: 'accepted for consistency; the output is always JSON' }
    },
    exits: exits('done', null, 'wrong arguments'),
    examples: [
      ['a2a-gateway schema > gateway.schema.json', 'for the YAML extension of an editor'],
      ['a2a-gateway schema --tests > policy-test.schema.json', 'the same for policy test files']
    ]
  },
  health: {
    does: 'checks whether a running gateway is alive',
    flags: {
      admin: { value: 'HOST:PORT', help: 'admin listener of the gateway; or A2A_GATEWAY_ADMIN; default: 127.0.0.1:9901' },
      json: { help: 'prints the result as JSON' }
    },
    exits: exits('alive', 'not alive', 'wrong arguments'),
    examples: [
      ['a2a-gateway health', 'the gateway of this machine'],
      ['a2a-gateway health --json', 'for a script'],
      ['a2a-gateway health --admin 127.0.0.1:9902', 'another admin listener']
    ]
  },
  completion: {
    does: 'prints a script that completes commands, flags and files in a shell',
    before: 'bash|zsh|fish',
    positionals: 1,
    words: ['bash', 'zsh', 'fish'],
    flags: {},
    exits: exits('done', null, 'there is no script for this shell'),
    examples: [
      ['source <(a2a-gateway completion bash)', 'in ~/.bashrc; the same with zsh in ~/.zshrc'],
      ['a2a-gateway completion fish > ~/.config/fish/completions/a2a-gateway.fish', 'for fish']
    ]
  },
  help: {
    does: 'describes a command, a rejection, or a key of the configuration, or prints a page of the documentation',
    before: '[COMMAND|REASON|CODE|TOPIC|KEY]',
    positionals: 1,
    words: 'commands',
    argumentsHelp: [
      'COMMAND                  a command, with examples',
      'REASON                   the reason of a rejection: cause, examples, and the fix for client and operator; a2a-gateway help ' +
        'reasons lists them',
      'CODE                     the code of an error, such as A2AGW_ERR_CONFIG_FILE: cause and fix',
      'TOPIC                    a page of the documentation; a2a-gateway help topics lists them',
      'KEY                      a key of the configuration, such as server.grpc.listen or activation.required'
    ],
    flags: {},
    exits: exits('done', null, 'help does not know the name'),
    examples: [['a2a-gateway help serve', 'describes serve']]
  }
}
