/** The text of `--help`, for all commands or for one. */
import { packageVersion } from '#config/paths.js'
import { EXAMPLES } from './command-line/examples.js'

interface Help {
  readonly synopsis: string
  /** Description of the command, one line in the list of commands. */
  readonly does: string
  /** Flags, variables and exit codes, one per line. */
  readonly more: readonly string[]
}

const CONFIG = '--config FILE            the configuration file; or A2A_GATEWAY_CONFIG; default: ./gateway.yaml, if it exists'
const FILE = 'FILE                     the configuration file; or --config, or A2A_GATEWAY_CONFIG; default: ./gateway.yaml, if it exists'
const AS_FLAG = '--config FILE            the same as FILE'

const WRONG = 'wrong arguments, or a file that cannot be read'

/** The exit codes of a command, one per line. @param problem null: the command never exits with 1 */
function exits (done: string, problem: string | null, wrong: string): string[] {
  return [`Exit: 0 ${done}`, ...problem === null ? [] : [`      1 ${problem}`], `      2 ${wrong}`]
}

const HELP: Readonly<Record<string, Help>> = {
  serve: {
    synopsis: 'serve [FILE] [--config FILE] [--upstream URL] [--listen HOST:PORT] [--admin HOST:PORT]',
    does: 'runs the gateway',
    more: [
      FILE,
      AS_FLAG,
      '--upstream URL           URL of the agent, instead of a configuration file; or A2A_GATEWAY_UPSTREAM',
      '--listen HOST:PORT       address for clients; or A2A_GATEWAY_LISTEN; default: 0.0.0.0:8080',
      '--admin HOST:PORT        address for health, metrics and state; or A2A_GATEWAY_ADMIN; default: 127.0.0.1:9901',
      '',
      'A2A_GATEWAY_LOG_LEVEL sets the log level, A2A_GATEWAY_WORKERS sets the number of processes.',
      'OTEL_* variables configure traces, metrics and logs. Flags override variables, and variables override the file.',
      '',
      ...exits('a signal stopped the gateway', 'the gateway could not start', WRONG)
    ]
  },
  check: {
    synopsis: 'check [FILE] [--config FILE] [--live] [--format text|json|junit|github] [--json]',
    does: 'reports all problems of a configuration',
    more: [
      FILE,
      AS_FLAG,
      "--live                   also fetches the agents' cards, and compares them with the configuration",
      '--format FORMAT          text, json, junit (for CI systems) or github (annotations in GitHub Actions); default: text',
      '--json                   the same as --format json',
      '',
      'Prints one line per problem: FILE:LINE:COLUMN: MESSAGE (HINT).',
      ...exits('no problem, or only warnings', 'at least one problem', WRONG)
    ]
  },
  init: {
    synopsis: 'init [--upstream URL]... [--card FILE|URL]... [--from RECORDING]... [--output FILE] [--json] [URL...]',
    does: "creates a configuration and its tests from agents' cards and from recorded calls",
    more: [
      'URL                      URL of an agent or of its card; several URLs are several agents',
      '--upstream URL           the same as URL; can be repeated',
      '--card FILE|URL          the card of an agent: the first --card belongs to the first --upstream; can be repeated',
      '--from RECORDING         a HAR file or another recording of calls, from whose data init proposes rules and schemas; can be repeated',
      '--output FILE            a new file for the configuration; init writes tests and the JSON Schema for editors beside it; default: standard output',
      '--json                   prints the names of the written files, and the proposals, as JSON',
      '',
      'A comment "guess:" marks each proposal.',
      ...exits('done', 'no card, no A2A request in the recordings, or init cannot write a file', 'wrong arguments, or init cannot read a file')
    ]
  },
  explain: {
    synopsis:
      "explain [--config FILE] [--card FILE] [--upstream URL] [--agent NAME] [--caller FILE|JSON] [--header 'NAME: VALUE']... [--request NAME|NUMBER] [--answer FILE] [--external FILE|JSON] [--json] REQUEST",
    does: 'explains how the gateway would handle a recorded request and its response',
    more: [
      'REQUEST                  an .http file, captured JSON, a HAR file or entry, a curl command (as the last argument), or - for standard input.',
      '                         Or a rejection: the error that a client got, a decision of the console, or an audit line',
      CONFIG,
      "--card FILE              a card on disk, instead of the agent's own card; needs no configuration",
      '--upstream URL           an agent with default settings, instead of a configuration',
      '--agent NAME             the agent of the request; default: the agent at the address of the request',
      '--caller FILE|JSON       the caller: source, subject, client, scopes, groups, tenant, spiffe, claims; each has a default',
      "--header 'NAME: VALUE'   replaces the recorded headers of that name; can be repeated",
      '--request NAME|NUMBER    explains only this request of the file',
      "--answer FILE            the agent's response: status line, headers and body, or JSON, or an event stream",
      '--external FILE|JSON     answers of policy servers by name, such as {"corp": {"decision": false}}',
      '--json                   prints the explanation as JSON',
      '',
      ...exits('the gateway forwards request and response', 'the gateway rejects the request or the response, or the call failed', 'explain could not explain the request')
    ]
  },
  external: {
    synopsis: "external ask [--config FILE] [--agent NAME] [--caller FILE|JSON] [--header 'NAME: VALUE']... [--request NAME|NUMBER] [--json] REQUEST",
    does: 'asks the policy servers of the configuration about a recorded request',
    more: [
      'REQUEST                  as in "explain": an .http file, captured JSON, a HAR file, or - for standard input',
      CONFIG,
      '--agent NAME             the agent of the request, instead of finding it by address',
      '--caller FILE|JSON       who calls: source, subject, client, scopes, groups, tenant, spiffe, claims; each has a default',
      "--header 'NAME: VALUE'   replaces the recorded headers of that name; can be repeated",
      '--request NAME|NUMBER    one request of the file',
      '--json                   prints questions, answers and their effects as JSON',
      '',
      'Sends the questions of decisionPoints to their servers, and explains the request with the answers.',
      'Exit: 0 forwarded, 1 rejected, 2 could not be asked'
    ]
  },
  test: {
    synopsis: 'test [--config FILE] [--format tap|pretty|json|junit|github] [--json] [--only TEXT] [--watch] FILE...',
    does: 'runs policy tests written in YAML',
    more: [
      'FILE                     a test file, a directory with files *.test.yaml, or a pattern such as "policies/**/*.test.yaml"',
      CONFIG,
      '--format FORMAT          tap, pretty, json, junit or github (annotations in GitHub Actions); default: pretty on a terminal, else tap',
      '--json                   the same as --format json',
      '--only TEXT              runs only the tests whose name contains TEXT',
      '--watch                  runs the tests again when a file changes, until Ctrl-C',
      '',
      ...exits('all tests passed', 'a test failed', 'a file is not valid, or wrong arguments')
    ]
  },
  agents: {
    synopsis: 'agents lock|diff [--config FILE] [--agent NAME]... [--by NAME] [--json]',
    does: 'agrees on the cards of agents, or shows what has changed since',
    more: [
      'lock                     fetches the cards, and writes those that differ to agents.lock, beside the configuration file',
      'diff                     fetches the cards, and shows how they differ from agents.lock and what that does to enforcement',
      CONFIG,
      '--agent NAME             only this agent; can be repeated',
      '--by NAME                who agrees, for lock; default: the user of the CI system or of the machine',
      '--json                   prints the result as JSON',
      '',
      'Exit of lock: 0 written or unchanged, 1 a card cannot be fetched and its entry stays, 2 wrong arguments, or a file cannot be used',
      'Exit of diff: 0 all cards are as agreed, 1 a card differs or is new, 2 wrong arguments, or a file or card cannot be read'
    ]
  },
  conform: {
    synopsis: 'conform --direct URL --through URL [--grpc URL] [--declare FILE] [--profile LIST] [--binding LIST] [--protocol LIST] [--only TEXT] [--json] [--junit] [--html FILE] | conform agent [--listen HOST:PORT] [--required] | conform diff BEFORE AFTER | conform cases | conform schema',
    does: 'tests a proxy: compares what agent and client see directly and through the proxy',
    more: [
      '--direct URL             URL of the agent; "conform agent" runs one that every case needs, other agents allow fewer cases',
      '--through URL            URL of the same agent behind the proxy',
      "--grpc URL               URL of the proxy's gRPC listener, if its card does not name it",
      '--declare FILE           what the proxy claims to do, as YAML; cases that it does not claim cannot fail',
      '--profile LIST           groups of cases: transparent, discovery, negotiation, errors, safety, observability, enforcing; default: all',
      '--binding LIST           bindings: jsonrpc, rest, grpc; default: all that the card names',
      '--protocol LIST          versions of A2A: 1.0, 0.3; default: both',
      '--only TEXT              cases whose id contains TEXT',
      '--json                   prints the report as JSON: the same proxy has the same report',
      '--junit                  prints the report for CI systems',
      '--html FILE              also writes the report as a page',
      '--listen HOST:PORT       address of "conform agent", default 127.0.0.1:9999',
      '--required               the card of "conform agent" requires two extensions, for the group enforcing',
      '',
      'conform diff compares two reports of --json; conform cases prints all cases; conform schema prints the JSON Schema of the file for --declare.',
      'Exit: 0 no case with the level MUST failed',
      '      1 such a case failed, or a report is worse than the one before',
      '      2 the suite could not run, or a case failed without the proxy'
    ]
  },
  key: {
    synopsis: 'key --id NAME [--client NAME] [--expires DATE] [--json]',
    does: 'creates an API key for a caller',
    more: [
      '--id NAME                name of the key, unique in the key file',
      '--client NAME            name of the caller, for callers with several keys, such as an old and a new key',
      '--expires DATE           end of validity: a date such as 2027-01-01, or a time such as 2027-01-01T12:00:00Z',
      '--json                   prints key and entry as JSON',
      '',
      'Prints two lines: the key, for the caller, and the entry for your key file. The entry contains only a digest of the key.',
      ...exits('done', null, 'wrong arguments')
    ]
  },
  schema: {
    synopsis: 'schema [--tests] [--json]',
    does: 'prints the JSON Schema of the configuration, for editors',
    more: [
      '--tests                  prints the schema of policy test files instead',
      '--json                   accepted for consistency; the output is always JSON',
      '',
      ...exits('done', null, 'wrong arguments')
    ]
  },
  health: {
    synopsis: 'health [--admin HOST:PORT] [--json]',
    does: 'checks whether a running gateway is alive',
    more: [
      '--admin HOST:PORT        admin listener of the gateway; or A2A_GATEWAY_ADMIN; default: 127.0.0.1:9901',
      '--json                   prints the result as JSON',
      '',
      ...exits('alive', 'not alive', 'wrong arguments')
    ]
  },
  completion: {
    synopsis: 'completion bash|zsh|fish',
    does: 'prints a script that completes commands, flags and files in a shell',
    more: exits('done', null, 'there is no script for this shell')
  },
  help: {
    synopsis: 'help [COMMAND|REASON|TOPIC|KEY]',
    does: 'describes a command, a rejection, or a key of the configuration, or prints a page of the documentation',
    more: [
      'COMMAND                  a command, with examples',
      'REASON                   the reason of a rejection: cause, examples, and the fix for client and operator; a2a-gateway help reasons lists them',
      'TOPIC                    a page of the documentation; a2a-gateway help topics lists them',
      'KEY                      a key of the configuration, such as server.grpc.listen or activation.required',
      '',
      ...exits('done', null, 'help does not know the name')
    ]
  }
}

/** What a command does, and each of its flags, in a few words: for completion. */
export function shortHelp (command: string): { readonly does: string, readonly flags: Readonly<Record<string, string>> } {
  const { does, more } = HELP[command] ?? { does: '', more: [] }
  const flags = more.flatMap(line => {
    const [, flag = '', text = ''] = /^--([a-z]+)(?: \S.*?)?\s{2,}(\S.*)$/.exec(line) ?? /^--([a-z]+ '.*?') +(\S.*)$/.exec(line) ?? []
    return flag === '' ? [] : [[flag.replace(/ .*/, ''), text.replace(/(?:;| \(|:(?= )|, (?:default|such as|if|for example)\b).*$/, '')] as const]
  })
  return { does, flags: { ...Object.fromEntries(flags), help: 'describes the command, with examples' } }
}

/**
 * Returns the help text.
 * @param command null: all commands
 */
export function usage (command: string | null): string {
  const help = command === null ? undefined : HELP[command]
  if (help === undefined) {
    const width = Math.max(...Object.keys(HELP).map(name => name.length))
    return [
      `a2a-gateway ${packageVersion()} - checks every A2A call against the extensions of your agents`,
      '',
      ...Object.entries(HELP).map(([name, { does }]) => `  a2a-gateway ${name.padEnd(width)}  ${does}`),
      '',
      'a2a-gateway help COMMAND describes one command, with examples; help REASON explains a rejection. Also: --version',
      ...exits('done', 'the command ran and found a problem', 'the command could not run with these arguments'),
      'Environment: A2A_GATEWAY_CONFIG, _UPSTREAM, _LISTEN, _ADMIN, _LOG_LEVEL, _WORKERS; OTEL_* for traces, metrics and logs'
    ].join('\n')
  }
  return [
    `a2a-gateway ${help.synopsis}`,
    '',
    `  ${help.does}`,
    ...(help.more.length === 0 ? [] : ['', ...help.more.map(line => (line === '' ? '' : `  ${line}`))]),
    ...examplesOf(command ?? '')
  ].join('\n')
}

function examplesOf (command: string): string[] {
  const examples = EXAMPLES[command] ?? []
  return examples.length === 0 ? [] : ['', 'Examples', ...examples.flatMap(([line, purpose]) => [`  # ${purpose}`, `  ${line}`])]
}
