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

const CONFIG = '--config FILE            the configuration; or A2A_GATEWAY_CONFIG; default: ./gateway.yaml, if it exists'
const FILE = 'FILE                     the configuration; or --config, or A2A_GATEWAY_CONFIG; default: ./gateway.yaml, if it exists'
const AS_FLAG = '--config FILE            the same as FILE'

const HELP: Readonly<Record<string, Help>> = {
  serve: {
    synopsis: 'serve [FILE] [--config FILE] [--upstream URL] [--listen HOST:PORT] [--admin HOST:PORT]',
    does: 'runs the gateway',
    more: [
      FILE,
      AS_FLAG,
      '--upstream URL           URL of the agent; enough without a file; or A2A_GATEWAY_UPSTREAM',
      '--listen HOST:PORT       address for clients, default 0.0.0.0:8080; or A2A_GATEWAY_LISTEN',
      '--admin HOST:PORT        address for health, metrics and state, default 127.0.0.1:9901; or A2A_GATEWAY_ADMIN',
      '',
      'A2A_GATEWAY_LOG_LEVEL sets the log level, A2A_GATEWAY_WORKERS the number of processes, OTEL_* configure traces, metrics and logs. Flags override variables, variables override the file.',
      'Exit: 0 stopped by a signal, 1 could not start, 2 wrong arguments, or a file that cannot be read'
    ]
  },
  check: {
    synopsis: 'check [FILE] [--config FILE] [--live] [--format text|json|junit|github] [--json]',
    does: 'reports all problems of a configuration',
    more: [
      FILE,
      AS_FLAG,
      "--live                   also requests the agents' cards, and compares them",
      '--format FORMAT          text, json, junit (for CI systems) or github (annotations in GitHub Actions); default: text',
      '--json                   the same as --format json',
      '',
      'Prints one line per problem: FILE:LINE:COLUMN: MESSAGE (HINT). Exit: 0 no problem, or warnings only; 1 there is a problem; 2 wrong arguments, or a file that cannot be read'
    ]
  },
  init: {
    synopsis: 'init [--upstream URL]... [--card FILE|URL]... [--from RECORDING]... [--output FILE] [--json] [URL...]',
    does: "creates a configuration and its tests from agents' cards and from recorded calls",
    more: [
      'URL                      URL of an agent or of its card; several URLs are several agents',
      '--upstream URL           the same as URL; can be repeated',
      '--card FILE|URL          the card of an agent, of the first --upstream if there is one; can be repeated',
      '--from RECORDING         a HAR file or other recording of calls: proposes rules and schemas from its data; can be repeated',
      '--output FILE            the file to create, which must not exist; writes tests and, for editors, the JSON Schema beside it; default: standard output',
      '--json                   prints what was written, and the proposals, as JSON',
      '',
      'A comment "guess:" marks each proposal.',
      'Exit: 0 done',
      '      1 no card, no A2A request in the recordings, or a file cannot be written',
      '      2 wrong arguments, or a file cannot be read'
    ]
  },
  explain: {
    synopsis:
      "explain [--config FILE] [--card FILE] [--upstream URL] [--agent NAME] [--caller FILE|JSON] [--header 'NAME: VALUE']... [--request NAME|NUMBER] [--answer FILE] [--json] REQUEST",
    does: 'explains how a recorded request and its response would be handled',
    more: [
      'REQUEST                  an .http file, captured JSON, a HAR file or entry, a curl command, or - for standard input; a curl command comes last.',
      '                         Or a rejection: the error that a client got, a decision of the console, or an audit line',
      CONFIG,
      "--card FILE              a card on disk, instead of the agent's own; enough without a configuration",
      '--upstream URL           an agent with default settings, without a configuration',
      '--agent NAME             the agent of the request, instead of finding it by address',
      '--caller FILE|JSON       who calls: source, subject, client, scopes, groups, tenant, spiffe, claims; each has a default',
      "--header 'NAME: VALUE'   replaces the recorded headers of that name; can be repeated",
      '--request NAME|NUMBER    one request of the file',
      "--answer FILE            the agent's response: status line, headers and body, or JSON, or an event stream",
      '--json                   prints the explanation as JSON',
      '',
      'Exit: 0 forwarded, 1 request or response rejected, or the call failed, 2 could not be explained'
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
      '--only TEXT              tests whose name contains TEXT',
      '--watch                  runs the tests again when a file changes, until Ctrl-C',
      '',
      'Exit: 0 all tests passed, 1 a test failed, 2 a file could not be used'
    ]
  },
  conform: {
    synopsis: 'conform --direct URL --through URL [FLAGS] | conform agent [--listen HOST:PORT] [--required] | conform diff BEFORE AFTER | conform cases | conform schema',
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
    does: 'makes an API key for a caller',
    more: [
      '--id NAME                names the key; no two keys of a file have the same id',
      '--client NAME            names the caller, if it has several keys, for example while it changes from one to the next',
      '--expires DATE           a date such as 2027-01-01, or a time such as 2027-01-01T12:00:00Z',
      '--json                   prints both as JSON',
      '',
      'Prints two lines: the key, for the caller, and the entry for your key file. The entry contains only a digest of the key.',
      'Exit: 0 done, 2 wrong arguments'
    ]
  },
  schema: {
    synopsis: 'schema [--tests] [--json]',
    does: 'prints the JSON Schema of the configuration, for editors',
    more: ['--tests                  the schema of policy test files instead', '--json                   accepted for consistency; the output is always JSON', '', 'Exit: 0 done, 2 wrong arguments']
  },
  health: {
    synopsis: 'health [--admin HOST:PORT] [--json]',
    does: 'checks whether a running gateway is alive',
    more: [
      '--admin HOST:PORT        its admin listener, default 127.0.0.1:9901; or A2A_GATEWAY_ADMIN',
      '--json                   prints the result as JSON',
      '',
      'Exit: 0 alive, 1 not alive, 2 wrong arguments'
    ]
  },
  completion: {
    synopsis: 'completion bash|zsh|fish',
    does: 'prints a script that completes commands, flags and files in a shell',
    more: ['Exit: 0 done, 2 another shell']
  },
  help: {
    synopsis: 'help [COMMAND|REASON|TOPIC|KEY]',
    does: 'describes a command, a rejection, or a key of the configuration, or prints a page of the documentation',
    more: [
      'COMMAND                  a command, with examples',
      'REASON                   the reason of a rejection: cause, examples, what client and operator do; a2a-gateway help reasons lists them',
      'TOPIC                    a page of the documentation; a2a-gateway help topics lists them',
      'KEY                      a key of the configuration, such as server.grpc.listen or activation.required',
      '',
      'Exit: 0 done, 2 there is no such name'
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
      `a2a-gateway ${packageVersion()} - enforces A2A extensions in front of agents, without changing them`,
      '',
      ...Object.entries(HELP).map(([name, { does }]) => `  a2a-gateway ${name.padEnd(width)}  ${does}`),
      '',
      'a2a-gateway help COMMAND describes one command, with examples; help REASON explains a rejection. Also: --version',
      'Exit codes: 0 done, 1 there are problems, 2 the command could not be run as given',
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
