#!/usr/bin/env node
/** Entry point of the command line: parses the arguments and runs the command. */
import type { Parsed } from './cli/command-line/arguments.js'
import { commandOf, ownWords, parse, UsageError } from './cli/command-line/arguments.js'
import { configurationFile } from './cli/command-line/configuration-file.js'
import { standardStreams } from './cli/command-line/standard-streams.js'
import { usage } from './cli/usage.js'
import { packageVersion } from './config/paths.js'

const argv = process.argv.slice(2)
const words = ownWords(argv)
const namedFormat = /(?:^|\0)--format[=\0]([^\0]*)/.exec(words.join('\0'))?.[1]
/** True when also wrong arguments are reported as JSON. */
const asJson = words.includes('--json') || namedFormat === 'json'
/** A format for machines has no colours. */
const forMachines = asJson || (namedFormat !== undefined && namedFormat !== 'text' && namedFormat !== 'pretty')
const asksHelp = words.includes('--help') || words.includes('-h')
const { out, err } = standardStreams(process, forMachines ? null : asksHelp ? 'help' : argv[0] ?? 'help', argv[0] === 'serve')

const VERSION = ['--version', '-v', 'version']
const HELP = ['--help', '-h']

async function main (): Promise<number> {
  const [command, ...rest] = argv
  if (command === undefined || HELP.includes(command)) {
    const write = command === undefined ? err : out
    write(usage(null))
    return command === undefined ? 2 : 0
  }
  if (VERSION.includes(command)) {
    out(packageVersion())
    return 0
  }
  let name = ''
  try {
    const allowed = commandOf(command)
    name = command
    const parsed = parse(command, allowed, rest)
    if (parsed.values.help !== true) return await run(command, parsed)
    out(usage(command))
    return 0
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const { reportFailure, usageProblem } = await import('./cli/reports/failure.js')
    reportFailure(name, [usageProblem(error.message, error.code)], asJson, { out, err })
    return 2
  }
}

/** Each command loads only its own code. `health`, which a container runs every few seconds, needs no code of the gateway. */
async function run (command: string, { values, positionals, curl }: Parsed): Promise<number> {
  const text = (name: string): string | undefined => typeof values[name] === 'string' ? values[name] : undefined
  const list = (name: string): string[] => (values[name] ?? []) as string[]
  const json = values.json === true
  const { env } = process
  const takesFile = command === 'serve' || command === 'check'
  const config = configurationFile({
    flag: text('config'),
    argument: takesFile ? positionals[0] : undefined,
    env,
    otherwise: text('upstream') !== undefined || text('card') !== undefined
  })
  if (json && text('format') !== undefined) throw new UsageError('--json and --format name two formats')
  const format = json ? 'json' : text('format')
  switch (command) {
    case 'serve':
      return await (
        await import('./cli/serve.js')
      ).runServe({ config, upstream: text('upstream'), listen: text('listen'), admin: text('admin'), env }, { out, err })
    case 'check':
      return await (await import('./cli/check.js')).runCheck({ config, live: values.live === true, format, env }, { out, err })
    case 'init':
      return await (
        await import('./cli/init.js')
      ).runInit(
        {
          urls: positionals,
          upstreams: list('upstream'),
          cards: list('card'),
          recordings: list('from'),
          output: text('output'),
          json
        },
        { out, err }
      )
    case 'explain':
      return await (
        await import('./cli/explain.js')
      ).runExplain(
        {
          recordings: positionals,
          curl,
          config,
          card: text('card') ?? null,
          upstream: text('upstream'),
          agent: text('agent') ?? null,
          caller: text('caller') ?? null,
          headers: list('header'),
          request: text('request') ?? null,
          response: text('answer') ?? null,
          external: text('external') ?? null,
          steps: values.steps === true,
          json,
          env
        },
        { out, err }
      )
    case 'external':
      return await (await import('./cli/external.js')).runExternal(
        {
          words: positionals,
          config,
          agent: text('agent') ?? null,
          caller: text('caller') ?? null,
          headers: list('header'),
          request: text(
            'request'
          ) ?? null,
          json,
          env
        },
        { out, err }
      )
    case 'test': {
      const { runTest } = await import('./cli/test.js')
      const only = text('only') ?? null
      const runOnce = (): number =>
        runTest({ files: positionals, config, only, format, terminal: process.stdout.isTTY || values.watch === true, env }, { out, err })
      if (values.watch !== true) return runOnce()
      if (format !== undefined && format !== 'pretty') {
        throw new UsageError('--watch is for people: the formats for machines have one result (leave out --json, or --format)')
      }
      return await (await import('./cli/policy-tests/watch.js')).watchUntilInterrupted(
        { names: positionals, config, run: runOnce }, { err }
      )
    }
    case 'agents':
      return await (await import('./cli/agents/agents.js')).runAgents(
        { action: positionals[0], config, agents: list('agent'), by: text('by'), json, env },
        { out, err }
      )
    case 'conform':
      return await (await import('./cli/conform.js')).runConformCommand(
        {
          words: positionals,
          direct: text('direct'),
          through: text('through'),
          throughGrpc: text('grpc'),
          declare: text('declare'),
          profile: text('profile'),
          binding: text('binding'),
          protocol: text('protocol'),
          only: text('only'),
          html: text('html'),
          listen: text('listen'),
          json,
          junit: values.junit === true,
          required: values.required === true,
          env
        },
        { out, err }
      )
    case 'key':
      return (await import('./cli/key.js')).runKey({ id: text('id'), client: text('client'), expires: text('expires'), json }, { out, err })
    case 'schema':
      return (await import('./cli/schema.js')).runSchema({ out }, { tests: values.tests === true })
    case 'completion':
      return (await import('./cli/command-line/completion.js')).runCompletion(positionals[0], { out })
    case 'help':
      out(positionals[0] === undefined ? usage(null) : (await import('./cli/help.js')).helpText(positionals[0]))
      return 0
    default:
      return await (await import('./cli/health.js')).runHealth({ admin: text('admin') ?? env.A2A_GATEWAY_ADMIN, json }, { out, err })
  }
}

process.exitCode = await main()
