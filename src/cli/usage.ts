/** What `--help` prints, of all commands or of one. */
import { packageVersion } from '../config/paths.js'

interface Help {
  readonly synopsis: string
  /** What it does, one line in the list of commands. */
  readonly does: string
  /** Flags, variables and exit codes, a line each. */
  readonly more: readonly string[]
}

const CONFIG = '--config FILE            the configuration; or A2A_GATEWAY_CONFIG'

const HELP: Readonly<Record<string, Help>> = {
  serve: {
    synopsis: 'serve [--config FILE] [--upstream URL] [--listen HOST:PORT] [--admin HOST:PORT]',
    does: 'runs the gateway',
    more: [
      CONFIG,
      '--upstream URL           the agent, enough without a file; or A2A_GATEWAY_UPSTREAM',
      '--listen HOST:PORT       where clients call, default 0.0.0.0:8080; or A2A_GATEWAY_LISTEN',
      '--admin HOST:PORT        health, metrics, state, default 127.0.0.1:9901; or A2A_GATEWAY_ADMIN',
      '',
      'A2A_GATEWAY_LOG_LEVEL sets the log level, A2A_GATEWAY_WORKERS the number of processes, OTEL_* say where traces go. Flags win over variables, variables over the file.',
      'Exit: 0 stopped by a signal, 1 could not start'
    ]
  },
  check: {
    synopsis: 'check [--config FILE] [--live]',
    does: 'finds every problem of a configuration',
    more: [
      CONFIG,
      '--live                   asks the agents for their cards too, and compares',
      '',
      'Prints FILE:LINE:COLUMN: MESSAGE (HINT), a line each. Exit: 0 sound, warnings included; 1 there is a problem'
    ]
  },
  init: {
    synopsis: 'init URL [--output FILE]',
    does: 'makes a configuration from the card of an agent',
    more: [
      'URL                      of the agent, or of its card',
      '--output FILE            the file to write, which must not exist; without it, standard output'
    ]
  },
  explain: {
    synopsis: 'explain [--config FILE] [--card FILE] [--upstream URL] [--agent NAME] [--header \'NAME: VALUE\']... [--request NAME|NUMBER] [--answer FILE] [--json] REQUEST',
    does: 'says step by step what becomes of a recorded request and its answer',
    more: [
      'REQUEST                  an .http file, captured JSON, a HAR file, or - for standard input',
      CONFIG,
      '--card FILE              a card on disk, instead of asking the agent; enough without a configuration',
      '--upstream URL           an agent with defaults, where there is no configuration',
      '--agent NAME             whom the request is for, instead of by its address',
      '--header \'NAME: VALUE\'   instead of the recorded headers of that name; may be repeated',
      '--request NAME|NUMBER    one request of the file',
      '--answer FILE            what the agent answered: status line, headers and body, or JSON, or an event stream',
      '--json                   for machines',
      '',
      'Exit: 0 forwarded, 1 request or answer rejected, 2 could not be explained'
    ]
  },
  test: {
    synopsis: 'test [--config FILE] [--format tap|pretty] [--only TEXT] FILE...',
    does: 'runs policy tests written in YAML',
    more: [
      CONFIG,
      '--format tap|pretty      default: pretty on a terminal, else TAP',
      '--only TEXT              tests whose name contains TEXT',
      '',
      'Exit: 0 all pass, 1 a test failed, 2 a file could not be used'
    ]
  },
  schema: { synopsis: 'schema', does: 'prints the JSON Schema of the configuration, for editors', more: [] },
  health: {
    synopsis: 'health [--admin HOST:PORT]',
    does: 'asks a running gateway whether it is live',
    more: ['--admin HOST:PORT        its admin listener, default 127.0.0.1:9901; or A2A_GATEWAY_ADMIN', '', 'Exit: 0 live, 1 not']
  }
}

/** @param command null: all commands */
export function usage (command: string | null): string {
  const help = command === null ? undefined : HELP[command]
  if (help === undefined) {
    const width = Math.max(...Object.keys(HELP).map(name => name.length))
    return [
      `a2a-gateway ${packageVersion()} - enforces A2A AgentCard extensions in front of unmodified agents`,
      '',
      ...Object.entries(HELP).map(([name, { does }]) => `  a2a-gateway ${name.padEnd(width)}  ${does}`),
      '',
      'a2a-gateway COMMAND --help says more of one. Also: --version',
      'Environment: A2A_GATEWAY_CONFIG, _UPSTREAM, _LISTEN, _ADMIN, _LOG_LEVEL, _WORKERS; OTEL_* for traces'
    ].join('\n')
  }
  return [`a2a-gateway ${help.synopsis}`, '', `  ${help.does}`, ...(help.more.length === 0 ? [] : ['', ...help.more.map(line => line === '' ? '' : `  ${line}`)])].join('\n')
}
