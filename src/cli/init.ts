/** `init`: writes a configuration and its tests from cards of agents and from recorded calls. */
import { existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { formatDiagnostic, loadCatalogue, parseConfig } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { schemaText } from '#config/schema/schema.js'
import { CHECKS } from '#offline/configuration.js'
import type { RecordedRequest } from '#offline/recording/recording.js'
import { loadRecording, RecordingError } from '#offline/recording/recording.js'
import { testsSchemaText } from '#offline/policy-test/test-schema.js'
import type { Plan } from './init/plan.js'
import { planOf } from './init/plan.js'
import type { NamedAgent } from './init/sources.js'
import { InitError, recordedSources, sourceOf } from './init/sources.js'
import { SCHEMA_FILE, starterFile, TESTS_SCHEMA_FILE } from './init/starter.js'
import { starterTests } from './init/starter-tests.js'
import { callsOf, cardsOf, Traffic } from './init/traffic.js'
import { DEFAULT_FILE } from './command-line/configuration-file.js'
import { LOADING_CARD, LOADING_CARDS, withProgress } from './command-line/progress.js'
import type { Output } from './output.js'
import { JSON_FORMAT } from './output.js'
import { reportFailure, usageProblem } from './reports/failure.js'

export interface InitArguments {
  /** URLs of agents, or of their cards. */
  readonly urls: readonly string[]
  /** `--upstream`; the first `--card` belongs to the first of these, and so on. */
  readonly upstreams?: readonly string[]
  /** `--card`: URLs and files of cards. */
  readonly cards?: readonly string[]
  /** `--from`: recordings of calls. */
  readonly recordings?: readonly string[]
  /** File to write, which must not exist. Undefined: stdout. */
  readonly output: string | undefined
  readonly json?: boolean
}

/** A file to write. */
interface Written { readonly name: string, readonly text: string }

/**
 * Runs the command.
 * @returns exit code: 0 when the files were written, 1 when there is no card or a file cannot be written, 2 when the arguments name no
 * agent, or a file that cannot be read
 */
export async function runInit (args: InitArguments, io: Output): Promise<number> {
  try {
    return await init(args, io)
  } catch (error) {
    if (!(error instanceof InitError) && !(error instanceof RecordingError)) throw error
    reportFailure('init', [usageProblem(error.message, error.code)], args.json === true, io)
    return (error instanceof InitError ? error.usage : error.unreadable) ? 2 : 1
  }
}

async function init (args: InitArguments, io: Output): Promise<number> {
  const { recordings = [], output, json = false } = args
  const named = namedAgents(args)
  if (named.length === 0 && recordings.length === 0) {
    throw new InitError(
      'A2AGW_ERR_USAGE', 'the URL of an agent is required, such as http://127.0.0.1:9999, or --card FILE, or --from RECORDING',
      { usage: true }
    )
  }
  const plan = await plannedFrom(named, recordings)
  const file = output ?? DEFAULT_FILE
  const text = starterFile(plan, { file: output === undefined ? null : basename(output), directory: dirname(resolve(file)) })
  const config = configOf(text, file)
  if (output === undefined && !json) {
    io.out(text)
    return 0
  }
  const tests = testsOf(plan, config, file, output !== undefined)
  const written = output === undefined ? [] : write([{ name: output, text }, ...tests.files], output)
  if (json) {
    io.out(JSON.stringify({
      format: JSON_FORMAT,
      ok: true,
      written,
      configuration: text,
      tests: tests.files.map(({ name, text }) => ({ file: name, text })),
      agents: plan.agents.map(({ name, upstream, origin, known: policies, proposed }) => ({
        name,
        upstream,
        card: origin,
        policies: policies.map(knownPolicy => knownPolicy.name),
        proposed: proposed.map(({ proposal }) => ({ name: proposal.name, uri: proposal.uri }))
      })),
      warnings: tests.problems
    }, null, 2))
    return 0
  }
  for (const problem of tests.problems) io.err(`warning: ${problem}`)
  const flag = resolve(file) === resolve(DEFAULT_FILE) ? '' : ` --config ${file}`
  io.err(`written: ${written.join(', ')}`)
  io.err(`next: a2a-gateway check ${file} --live`)
  if (tests.files.length > 0) io.err(`      a2a-gateway test${flag} ${tests.files.map(({ name }) => name).join(' ')}`)
  return 0
}

/** A URL alone is an agent. The first `--card` is for the first `--upstream`, and so on; what remains stands alone. */
function namedAgents ({ urls, upstreams = [], cards = [] }: InitArguments): NamedAgent[] {
  return [
    ...urls.map(url => ({ url, card: null })),
    ...upstreams.map((url, i) => ({ url, card: cards[i] ?? null })),
    ...cards.slice(upstreams.length).map(card => ({ url: null, card }))
  ]
}

async function plannedFrom (named: readonly NamedAgent[], recordings: readonly string[]): Promise<Plan> {
  const requests: RecordedRequest[] = recordings.flatMap(file => loadRecording(file).requests)
  const calls = callsOf(requests)
  const files = recordings.join(', ')
  if (recordings.length > 0 && calls.length === 0) throw new InitError('A2AGW_ERR_RECORDING', `${files} contains no request of A2A`)
  const sources = await withProgress(named.length > 1 ? LOADING_CARDS : LOADING_CARD, Promise.all(named.map(sourceOf)))
  const all = sources.length > 0 ? sources : recordedSources(cardsOf(requests), calls, files)
  return planOf(all, recordings.length === 0 ? null : new Traffic(calls), loadCatalogue())
}

/** Loads what `init` is about to write. */
function configOf (text: string, file: string): Config {
  const loaded = parseConfig(text, { file, baseDir: dirname(resolve(file)), env: {}, checks: CHECKS })
  if (loaded.ok) return loaded.config
  throw new InitError(
    'A2AGW_ERR_CONFIG_INVALID',
    `the configuration would not be valid, which is a bug; please report it: ${loaded.problems.map(formatDiagnostic).join('; ')}`
  )
}

/** One file for one agent, else one file for each. */
function testsOf (
  plan: Plan,
  config: Config,
  file: string,
  written: boolean
): { readonly files: readonly Written[], readonly problems: readonly string[] } {
  const stem = join(dirname(file), basename(file).replace(/\.ya?ml$/i, ''))
  const starters = plan.agents.map(agent => {
    const name = `${stem}${plan.agents.length === 1 ? '' : `.${agent.name}`}.test.yaml`
    return { name, ...starterTests(plan, agent, config, name, written) }
  })
  return {
    files: starters.flatMap(starter => 'text' in starter ? [{ name: starter.name, text: starter.text }] : []),
    problems: starters.flatMap(starter => 'problem' in starter ? [`no tests in ${starter.name}: ${starter.problem}`] : [])
  }
}

/**
 * Writes the files and, for editors, the schemas of the configuration and of tests beside them, unless they are there.
 * @returns the names
 */
function write (files: readonly Written[], output: string): string[] {
  const schemas = [
    { name: join(dirname(output), SCHEMA_FILE), text: schemaText() },
    ...(files.length > 1 ? [{ name: join(dirname(output), TESTS_SCHEMA_FILE), text: testsSchemaText() }] : [])
  ]
  const taken = files.find(({ name }) => existsSync(name))
  if (taken !== undefined) {
    throw new InitError(
      'A2AGW_ERR_OUTPUT', `${taken.name} exists already; name another file with --output, or remove it`
    )
  }
  const all = [...files, ...schemas.filter(({ name }) => !existsSync(name))]
  for (const { name, text } of all) {
    try {
      writeFileSync(name, text, { flag: 'wx' })
    } catch (error) {
      throw new InitError('A2AGW_ERR_OUTPUT', `${name} cannot be written: ${(error as Error).message}`)
    }
  }
  return all.map(({ name }) => relative('.', name))
}
