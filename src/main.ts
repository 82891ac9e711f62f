#!/usr/bin/env node
/** Command line to command. */
import { parseArgs } from 'node:util'
import { runCheck } from './cli/check.js'
import { runHealth } from './cli/health.js'
import { runInit } from './cli/init.js'
import { runSchema } from './cli/schema.js'
import { runServe } from './cli/serve.js'
import { packageVersion } from './config/paths.js'

const USAGE = `a2a-gateway ${packageVersion()} - enforces A2A AgentCard extensions in front of unmodified agents

  a2a-gateway serve [--config FILE] [--upstream URL] [--listen HOST:PORT] [--admin HOST:PORT]
      runs the gateway; --upstream alone, without a file, stands in front of one agent
  a2a-gateway check [--config FILE] [--live]
      reads the configuration and prints every problem as file:line:col: message (hint);
      --live reads the agents' cards too, and compares
  a2a-gateway init URL [--output FILE]
      reads the card of the agent there and prints a configuration to begin with
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

/** Commands that take something beside flags. */
const POSITIONAL: Readonly<Record<string, string>> = { init: 'URL' }

/** Flags without a value. */
const SWITCHES: Readonly<Record<string, readonly string[]>> = { check: ['live'] }

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  serve: ['config', 'upstream', 'listen', 'admin'],
  check: ['config', 'live'],
  init: ['output'],
  schema: [],
  health: ['admin']
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
  const allowed = Object.hasOwn(FLAGS, command) ? FLAGS[command] : undefined
  if (allowed === undefined) {
    err(`a2a-gateway: there is no command "${command}"; commands are ${Object.keys(FLAGS).join(', ')} (a2a-gateway --help)`)
    return 2
  }
  const takes = POSITIONAL[command]
  let values: Record<string, string | boolean | undefined>
  let positionals: readonly string[]
  try {
    const switches = SWITCHES[command] ?? []
    const options = Object.fromEntries([...allowed.map(name => [name, { type: switches.includes(name) ? 'boolean' as const : 'string' as const }]), ['help', { type: 'boolean' as const, short: 'h' }]]) as Record<string, { type: 'string' | 'boolean' }>
    const parsed = parseArgs({ args: rest, options, allowPositionals: takes !== undefined })
    values = parsed.values
    positionals = parsed.positionals
    if (positionals.length > 1) throw new Error(`Unexpected argument '${positionals[1]}'`)
  } catch (error) {
    const flags = allowed.length === 0 ? 'it takes no flags' : `its flags are ${allowed.map(name => `--${name}`).join(', ')}`
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
    case 'check': return await runCheck({ config, live: values.live === true, env }, { out, err })
    case 'init': return await runInit({ url: positionals[0], output: text('output') }, { out, err })
    case 'schema': return runSchema({ out })
    default: return await runHealth({ admin: text('admin') ?? env.A2A_GATEWAY_ADMIN }, { out, err })
  }
}

process.exitCode = await main(process.argv.slice(2))
