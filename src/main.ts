#!/usr/bin/env node
/** Entry point of the command line: parses the arguments and runs the command. */
import { parseArgs } from 'node:util'
import type { Command } from './cli/commands.js'
import { COMMANDS } from './cli/commands.js'
import { usage } from './cli/usage.js'
import { packageVersion } from './config/paths.js'

const out = (text: string): void => { process.stdout.write(text.endsWith('\n') ? text : `${text}\n`) }
const err = (text: string): void => { process.stderr.write(text.endsWith('\n') ? text : `${text}\n`) }

function optionsOf ({
  flags = [],
  lists = [],
  switches = []
}: Command): Record<string, { type: 'string' | 'boolean'; multiple?: boolean; short?: string }> {
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
    out(usage(null))
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
    const { positionals: most = 0 } = allowed;
    ({ values, positionals } = parseArgs({ args: rest, options, allowPositionals: most > 0 }))
    if (positionals.length > most) throw new Error(`Unexpected argument '${positionals[most]}'`)
  } catch (error) {
    const names = Object.keys(options).filter(name => name !== 'help')
    const flags = names.length === 0 ? 'it takes no flags' : `its flags are ${names.map(name => `--${name}`).join(', ')}`
    err(`a2a-gateway ${command}: ${(error as Error).message.split('. ')[0]}; ${flags} (a2a-gateway ${command} --help)`)
    return 2
  }
  if (values.help === true) {
    out(usage(command))
    return 0
  }
  const text = (name: string): string | undefined => typeof values[name] === 'string' ? values[name] : undefined
  const { env } = process
  const config = text('config') ?? null
  // Each command loads only its own code. `health`, which a container runs every few seconds, needs no code of the gateway.
  switch (command) {
    case 'serve':
      return await (
        await import('./cli/serve.js')
      ).runServe({ config, upstream: text('upstream'), listen: text('listen'), admin: text('admin'), env }, { out, err })
    case 'check':
      return await (await import('./cli/check.js')).runCheck({ config, live: values.live === true, env }, { out, err })
    case 'init':
      return await (await import('./cli/init.js')).runInit({ url: positionals[0], output: text('output') }, { out, err })
    case 'explain':
      return await (
        await import('./cli/explain.js')
      ).runExplain(
        {
          recordings: positionals,
          config,
          card: text('card') ?? null,
          upstream: text('upstream'),
          agent: text('agent') ?? null,
          caller: text('caller') ?? null,
          headers: (values.header ?? []) as string[],
          request: text('request') ?? null,
          response: text('answer') ?? null,
          json: values.json === true,
          env
        },
        { out, err }
      )
    case 'test':
      return (await import('./cli/test.js')).runTest(
        { files: positionals, config, only: text('only') ?? null, format: text('format'), terminal: process.stdout.isTTY, env },
        { out, err }
      )
    case 'key':
      return (await import('./cli/key.js')).runKey({ id: text('id'), client: text('client'), expires: text('expires') }, { out, err })
    case 'schema':
      return (await import('./cli/schema.js')).runSchema({ out })
    default:
      return await (await import('./cli/health.js')).runHealth({ admin: text('admin') ?? env.A2A_GATEWAY_ADMIN }, { out, err })
  }
}

process.exitCode = await main(process.argv.slice(2))
