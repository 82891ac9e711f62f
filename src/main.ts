#!/usr/bin/env node
/** Command line to command. */
import { parseArgs } from 'node:util'
import { runCheck } from './cli/check.js'
import { runExplain } from './cli/explain.js'
import { runHealth } from './cli/health.js'
import { runSchema } from './cli/schema.js'
import { runServe } from './cli/serve.js'
import { runTest } from './cli/test.js'
import { packageVersion } from './config/paths.js'

const USAGE = `a2a-gateway ${packageVersion()} - enforces A2A AgentCard extensions in front of unmodified agents

  a2a-gateway serve [--config FILE] [--upstream URL] [--listen HOST:PORT] [--admin HOST:PORT]
      runs the gateway; --upstream alone, without a file, stands in front of one agent
  a2a-gateway check [--config FILE]
      reads the configuration and prints every problem as file:line:col: message (hint)
  a2a-gateway explain [--config FILE] [--card FILE] [--upstream URL] [--agent NAME] [--header 'NAME: VALUE']... [--request NAME|NUMBER] [--json] REQUEST
      says step by step what becomes of a recorded request (an .http file, captured JSON, HAR, or - for standard input):
      exit 0 forwarded, 1 rejected, 2 could not be explained
  a2a-gateway test [--config FILE] [--format tap|pretty] [--only TEXT] FILE...
      runs policy tests: exit 0 all pass, 1 a test failed, 2 a file could not be used
  a2a-gateway schema
      prints the JSON Schema of the configuration
  a2a-gateway health [--admin HOST:PORT]
      asks a running gateway whether it is live: exit 0 yes, 1 no

  --version, --help

Environment: A2A_GATEWAY_CONFIG, A2A_GATEWAY_UPSTREAM, A2A_GATEWAY_LISTEN, A2A_GATEWAY_ADMIN, A2A_GATEWAY_LOG_LEVEL,
and OpenTelemetry's OTEL_*. Flags win over the environment, the environment over the file.
`

const out = (text: string): void => { process.stdout.write(text.endsWith('\n') ? text : `${text}\n`) }
const err = (text: string): void => { process.stderr.write(text.endsWith('\n') ? text : `${text}\n`) }

interface Command {
  /** Flags that take a value, those that may be repeated, those that take none. */
  readonly flags?: readonly string[]
  readonly lists?: readonly string[]
  readonly switches?: readonly string[]
  /** Whether it takes arguments that are no flags. */
  readonly positionals?: true
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { flags: ['config', 'upstream', 'listen', 'admin'] },
  check: { flags: ['config'] },
  explain: { flags: ['config', 'card', 'upstream', 'agent', 'request'], lists: ['header'], switches: ['json'], positionals: true },
  test: { flags: ['config', 'format', 'only'], positionals: true },
  schema: {},
  health: { flags: ['admin'] }
}

function optionsOf ({ flags = [], lists = [], switches = [] }: Command): Record<string, { type: 'string' | 'boolean', multiple?: boolean, short?: string }> {
  return Object.fromEntries([
    ...flags.map(name => [name, { type: 'string' as const }] as const),
    ...lists.map(name => [name, { type: 'string' as const, multiple: true }] as const),
    ...switches.map(name => [name, { type: 'boolean' as const }] as const),
    ['help', { type: 'boolean' as const, short: 'h' }]
  ])
}

async function main (argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv
  if (command === undefined || command === '--help' || command === '-h' || command === 'help') {
    out(USAGE)
    return command === undefined ? 2 : 0
  }
  if (command === '--version' || command === '-v') {
    out(packageVersion())
    return 0
  }
  const allowed = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined
  if (allowed === undefined) {
    err(`a2a-gateway: there is no command "${command}"; commands are ${Object.keys(COMMANDS).join(', ')} (a2a-gateway --help)`)
    return 2
  }
  const options = optionsOf(allowed)
  let values: Record<string, unknown>
  let positionals: readonly string[]
  try {
    ({ values, positionals } = parseArgs({ args: rest, options, allowPositionals: allowed.positionals === true }))
  } catch (error) {
    const names = Object.keys(options).filter(name => name !== 'help')
    const flags = names.length === 0 ? 'it takes no flags' : `its flags are ${names.map(name => `--${name}`).join(', ')}`
    err(`a2a-gateway ${command}: ${(error as Error).message.split('. ')[0]}; ${flags} (a2a-gateway --help)`)
    return 2
  }
  if (values.help === true) {
    out(USAGE)
    return 0
  }
  const text = (name: string): string | undefined => typeof values[name] === 'string' ? values[name] : undefined
  const { env } = process
  const config = text('config') ?? null
  switch (command) {
    case 'serve': return await runServe({ config, upstream: text('upstream'), listen: text('listen'), admin: text('admin'), env }, { out, err })
    case 'check': return runCheck({ config, env }, { out, err })
    case 'explain': return await runExplain({ recordings: positionals, config, card: text('card') ?? null, upstream: text('upstream'), agent: text('agent') ?? null, headers: (values.header ?? []) as string[], request: text('request') ?? null, json: values.json === true, env }, { out, err })
    case 'test': return runTest({ files: positionals, config, only: text('only') ?? null, format: text('format'), terminal: process.stdout.isTTY, env }, { out, err })
    case 'schema': return runSchema({ out })
    default: return await runHealth({ admin: text('admin') ?? env.A2A_GATEWAY_ADMIN }, { out, err })
  }
}

process.exitCode = await main(process.argv.slice(2))
