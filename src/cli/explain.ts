/** `explain`: explains what the gateway would do with recorded requests. Needs no running gateway. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { AgentStateOptions } from '#pipeline/agent-snapshot.js'
import { buildAgentState, schemasToCompile } from '#pipeline/agent-snapshot.js'
import type { Diagnostic } from '#config/load.js'
import { mergeOverrides, overridesFromEnvironment, printDiagnostic, readText } from '#config/load.js'
import type { AgentGrpcConfig } from '#config/model/model.js'
import type { AgentConfig, Config } from '#config/model/model.js'
import { cardCompiler, readySchemas } from '#agents/card/compiler.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'
import type { KnownAgent } from '#offline/explain/explain.js'
import { explainRequest } from '#offline/explain/explain.js'
import { explanationText } from '#offline/explain/explain-text.js'
import type { Explanation } from '#offline/explain/explanation.js'
import type { PastedRejection } from '#offline/explain/pasted-rejection.js'
import { foreignResponse, readRejection } from '#offline/explain/pasted-rejection.js'
import { readResponse } from '#offline/recording/recorded-response.js'
import type { RecordedRequest } from '#offline/recording/recording.js'
import {
  isCurl, openRecording, parseHeader, pickRequest, readCurlCommand, readRecording, RecordingError, STANDARD_INPUT
} from '#offline/recording/recording.js'
import type { ReadBeside, Recordings } from '#offline/recording/http-file.js'
import { cardsInForce } from '#agents/lock/agreement.js'
import { loadCardsOnce } from '#agents/card/card-once.js'
import { readTlsFiles } from '#upstream/tls.js'
import { readConfiguration } from '#offline/configuration.js'
import { askServers } from './external.js'
import type { RecordedAnswers } from '#offline/recorded-answers.js'
import { answersOf, recordedAnswers } from '#offline/recorded-answers.js'
import { COMMANDS } from './commands.js'
import { kindOfFile, wrongKind } from './command-line/file-kind.js'
import { withProgress } from './command-line/progress.js'
import { findRule, rejectionText } from './explain-rejection.js'
import { withCode } from '#operator-errors.js'
import type { Output } from './output.js'
import { JSON_FORMAT } from './output.js'
import { unusableConfiguration } from './reports/configuration-problems.js'
import { failureAsJson, usageProblem } from './reports/failure.js'
import { callerSources } from '#identity/schemes.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { didYouMean } from '#config/diagnostics.js'
import { validatorFor } from '#config/validate.js'
import { readYaml } from '#config/yaml/document.js'
import type { Chain } from '#identity/chain.js'
import type { Principal } from '#identity/principal.js'
import type { Schema } from '#config/schema/schema-builder.js'
import type { CallerSpec } from '#offline/caller.js'
import { callerSpec, chainOf, principalOf, sourcesOf } from '#offline/caller.js'

export interface ExplainArguments {
  /** Must have exactly one entry. */
  readonly recordings: readonly string[]
  /** The words of a curl command, instead of a recording. */
  readonly curl?: readonly string[] | null
  readonly config: string | null
  readonly card: string | null
  readonly upstream: string | undefined
  readonly agent: string | null
  /** JSON, or a JSON or YAML file, that describes who calls. Null: nobody. */
  readonly caller: string | null
  /** Each header has the form `Name: value`. */
  readonly headers: readonly string[]
  /** Name or number of a request. Null: all requests of the file. */
  readonly request: string | null
  /** File of the response to the one explained request. Null: the responses of the recording. */
  readonly response: string | null
  /** Answers of policy servers: JSON, or a JSON or YAML file. Null: none. */
  readonly external?: string | null
  /** True: the policy servers of the configuration are asked. */
  readonly ask?: boolean
  /** True: prints the steps of a call instead of an explanation. */
  readonly steps?: boolean
  readonly json: boolean
  readonly env: NodeJS.ProcessEnv
}

const BETWEEN = `\n${'-'.repeat(80)}\n\n`

/**
 * Runs the command.
 * @returns exit code: 0 all forwarded, 1 a request or a response is rejected, or the explained error is not of the gateway, 2 could not be
 * explained
 */
export async function runExplain (args: ExplainArguments, io: Output): Promise<number> {
  try {
    return args.steps === true ? await printSteps(args, io) : await explainAll(args, io)
  } catch (error) {
    if (!(error instanceof CannotExplain) && !(error instanceof RecordingError)) throw error
    if (args.json) io.out(failureAsJson(problemsOf(error)))
    else io.err(withCode(`a2a-gateway explain: ${error.message}`, listsProblems(error) ? null : error.code))
    return 2
  }
}

async function printSteps ({ recordings, curl = null, json }: ExplainArguments, io: Output): Promise<number> {
  if (recordings.length > 0 || curl !== null) {
    throw new CannotExplain(
      '--steps prints the steps of every call, and takes no recording', [], 'A2AGW_ERR_USAGE'
    )
  }
  const { stepLists } = await import('#call/step-descriptions.js')
  const lists = stepLists()
  if (json) {
    io.out(`${JSON.stringify({ format: JSON_FORMAT, steps: lists }, null, 2)}\n`)
    return 0
  }
  const width = Math.max(...lists.flatMap(({ steps }) => steps.map(({ step }) => step.length)))
  io.out(lists.map(({ list, requests, steps }) =>
    [`${list}: ${requests}`, ...steps.map(({ step, does }, i) => `${String(i + 1).padStart(4)}  ${step.padEnd(width)}  ${does}`), ''].join(
      '\n'
    )).join('\n'))
  return 0
}

/** True when the message has one line for each problem, with its code. */
function listsProblems (error: CannotExplain | RecordingError): boolean {
  return error instanceof CannotExplain && error.problems.length > 0
}

function problemsOf (error: CannotExplain | RecordingError): readonly Diagnostic[] {
  if (error instanceof RecordingError) return [error.problem]
  return listsProblems(error) ? error.problems : [usageProblem(error.message, error.code)]
}

async function explainAll (args: ExplainArguments, io: Output): Promise<number> {
  const input = await inputOf(args)
  const pasted = input.bytes === null ? null : readRejection(input.bytes)
  if (pasted !== null) return explainRejection(pasted, args, io)
  const { file } = input
  const { requests, warnings } = requestsOf(input)
  const picked = args.request === null ? requests : [pickRequest(requests, args.request, file)]
  const chosen = withResponse(picked, args.response, file)
  const headers = args.headers.flatMap(text => parseHeader(text))
  const config = await configOf(args)
  const knownAgents = new Map<string, Promise<KnownAgent>>()
  const options = {
    config,
    agent: args.agent,
    ...(args.caller === null ? { caller: null } : readCaller(args.caller, config)),
    headers,
    answers: (args.external ?? null) === null ? undefined : answersOf(readAnswers(args.external as string)),
    known: (agent: AgentConfig): Promise<KnownAgent> => {
      const promise = knownAgents.get(agent.name) ?? knownAgent(agent, config, args)
      knownAgents.set(agent.name, promise)
      return promise
    }
  }
  const explanations: Explanation[] = []
  for (const [i, recorded] of chosen.entries()) {
    const place = { file, number: requests.indexOf(picked[i] as RecordedRequest) + 1 }
    const first = await explainRequest(recorded, place, options)
    if (args.ask !== true) explanations.push(first)
    else explanations.push(await explainRequest(recorded, place, { ...options, answers: await askServers(first, config, args.env) }))
  }
  const ok = explanations.every(explanation => explanation.decision !== 'reject' && explanation.answer?.decision !== 'reject')
  if (args.json) {
    io.out(`${JSON.stringify({ format: JSON_FORMAT, ok, warnings, requests: explanations }, null, 2)}\n`)
  } else {
    for (const warning of warnings) io.err(`warning: ${warning}`)
    io.out(explanations.map(explanationText).join(BETWEEN))
  }
  return ok ? 0 : 1
}

const FLAGS = Object.entries(COMMANDS.explain?.flags ?? {})
  .flatMap(([name, { value, many }]) => value === undefined || many === true ? [] : [name])

function requestsOf (input: Input): Recordings {
  const { file } = input
  if (input.bytes === null) return readCurlCommand(input.curl, FLAGS)
  const foreign = foreignResponse(input.bytes)
  if (foreign !== null) throw new RecordingError(file, 0, foreign.what, foreign.remedy)
  const kind = kindOfFile(file, input.bytes.toString())
  if (kind === null || kind === 'recording') return readRecording(input.bytes, file, input.beside)
  const { message, hint = '' } = wrongKind(file, kind, 'recording')
  throw new RecordingError(file, 0, message, hint)
}

/** Input of `explain`: bytes of a file or of standard input, or a curl command. */
type Input =
  | { readonly file: string, readonly bytes: Buffer, readonly beside: ReadBeside }
  | { readonly file: string, readonly bytes: null, readonly curl: string | readonly string[] }

async function inputOf ({ recordings, curl = null }: ExplainArguments): Promise<Input> {
  const [path] = recordings
  if ((curl === null) === (path === undefined) || recordings.length > 1) {
    throw new CannotExplain(
      'give one recording: an .http file, a captured JSON, a HAR file, a curl command, or - for standard input', [], 'A2AGW_ERR_USAGE'
    )
  }
  if (curl !== null) return { file: 'curl', bytes: null, curl }
  if (path === '-') return { file: STANDARD_INPUT, bytes: await standardInput(), beside: name => readFileSync(name) }
  if (isCurl(path as string)) return { file: 'curl', bytes: null, curl: path as string }
  return { file: path as string, ...openRecording(path as string) }
}

/** Explains a rejection. Without a configuration, what the rejection itself says. */
function explainRejection (pasted: PastedRejection, { config: named, agent, json, env }: ExplainArguments, io: Output): number {
  const file = named ?? (env.A2A_GATEWAY_CONFIG || null)
  const rule = file === null ? null : findRule(pasted, read(file, overridesFromEnvironment(env), env), agent)
  const ok = pasted.decision !== 'rejected' && pasted.decision !== 'failed'
  if (json) {
    io.out(
    `${JSON.stringify({ format: JSON_FORMAT, ok, warnings: [], requests: [], rejection: { ...pasted, found: rule } }, null, 2)}\n`
    )
  } else io.out(rejectionText(pasted, rule, file !== null))
  return ok ? 0 : 1
}

function withResponse (picked: readonly RecordedRequest[], path: string | null, file: string): readonly RecordedRequest[] {
  if (path === null) return picked
  const [only] = picked
  if (only === undefined || picked.length > 1) {
    throw new CannotExplain(
      `${file} contains ${picked.length} requests, and --answer is the response to one of them (choose it with --request)`
    )
  }
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CannotExplain(
      `${path}: ${code === 'ENOENT' ? 'there is no such file' : `it cannot be read${code === undefined ? '' : ` (${code})`}`}`,
      [],
      'A2AGW_ERR_RECORDING'
    )
  }
  return [{ ...only, response: readResponse(bytes, path) }]
}

async function standardInput (): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const CARD = 'A2AGW_ERR_CARD'

/** Returns the agents of the file, or one agent at `/` with defaults. `--card` replaces the card of the explained agent. */
async function configOf ({ config: named, card, upstream, env }: ExplainArguments): Promise<Config> {
  const file = named ?? (env.A2A_GATEWAY_CONFIG || null)
  const overrides = mergeOverrides({ upstream }, overridesFromEnvironment(env))
  if (file !== null) return withCard(read(file, overrides, env), card)
  if (overrides.upstream !== undefined) return withGrpc(withCard(read(null, overrides, env), card))
  if (card === null) {
    throw new CannotExplain(
      'which agent is it for? Give a configuration (--config FILE), a card (--card FILE) or an agent (--upstream URL)'
    )
  }
  // There is no agent to connect to, so the address is that of the card's first interface.
  const [agent] = withCard(read(null, { upstream: 'http://agent.invalid' }, env), card).agents as [AgentConfig]
  const { limits } = read(null, { upstream: 'http://agent.invalid' }, env)
  const cards = await cardsOf(agent, limits, env)
  const origin = cards.byVersion['1.0'].card.interfaces[0]?.url.origin
  if (origin === undefined) throw new CannotExplain(`${card}: the card lists no interface that the gateway supports`, [], CARD)
  return withGrpc(withCard(read(null, mergeOverrides({ upstream: origin }, overridesFromEnvironment(env)), env), card))
}

/** Without a file, nothing says which listeners the gateway has. The agent is explained as if each binding of its card had one. */
function withGrpc (config: Config): Config {
  return { ...config, agents: config.agents.map(agent => ({ ...agent, grpc: agent.grpc ?? ANY_LISTENER })) }
}

const ANY_LISTENER: AgentGrpcConfig = { listen: null, publicAddress: 'localhost:443', upstream: null, passthrough: [] }

function read (file: string | null, overrides: Parameters<typeof readConfiguration>[0]['overrides'], env: NodeJS.ProcessEnv): Config {
  const loaded = readConfiguration({ file, env, overrides, secrets: false })
  if (loaded.ok) return loaded.config
  const { problems } = unusableConfiguration(file, loaded)
  throw new CannotExplain(
    `the configuration cannot be used:\n${problems.map(printDiagnostic).join('\n')}`, problems, 'A2AGW_ERR_CONFIG_INVALID'
  )
}

function withCard (config: Config, card: string | null): Config {
  if (card === null) return config
  const onDisk = { url: null, file: resolve(card), lock: null }
  return { ...config, agents: config.agents.map(agent => ({ ...agent, card: { ...agent.card, ...onDisk } })) }
}

async function cardsOf (
  agent: AgentConfig,
  limits: Config['limits'],
  env: NodeJS.ProcessEnv
): Promise<Extract<Awaited<ReturnType<typeof loadCardsOnce>>, { ok: true }>['cards']> {
  const loaded = await loadCardsOnce(
    agent,
    { card: limits.card, jsonDepth: limits.jsonDepth, jsonMembers: limits.jsonMembers },
    readTlsFiles(agent.upstream.tls),
    env
  )
  if (loaded.ok) {
    const cards = cardsInForce(agent, loaded.cards)
    if (typeof cards !== 'string') return cards
    throw new CannotExplain(`no card of agent ${agent.name} is in use: ${cards} (or give a card from disk with --card)`, [], CARD)
  }
  throw new CannotExplain(`no card of agent ${agent.name}: ${loaded.problem} (give one from disk with --card)`, [], CARD)
}

async function knownAgent (agent: AgentConfig, config: Config, args: Pick<ExplainArguments, 'card' | 'env'>): Promise<KnownAgent> {
  const cards = await withProgress(`loading the card of agent ${agent.name}`, cardsOf(agent, config.limits, args.env))
  try {
    const options: AgentStateOptions = {
      agent,
      maxExtensions: config.limits.extensions,
      previous: null,
      secretOf: SECRET_HIDDEN,
      sources: config.identity === null ? null : callerSources(config.identity)
    }
    const state = buildAgentState(cards, {
      ...options,
      ready: await readySchemas(await cardCompiler.write(schemasToCompile(cards, options)))
    })
    return { state, card: args.card ?? agent.card.file ?? cards.origin }
  } catch (error) {
    throw new CannotExplain(`agent ${agent.name}: ${(error as Error).message}`, [], CARD)
  }
}

/* Reads the values of `--caller` and `--external`. */

/**
 * @param argument JSON, or the name of a JSON or YAML file
 * @throws {CannotExplain} for a value that describes no caller
 */
function readCaller (argument: string, config: Config): { readonly caller: Principal, readonly chain: Chain | null } {
  const { value, fail } = readGiven(argument, '--caller', callerSpec('The caller.'), 'the caller')
  const spec = value as CallerSpec
  const sources = sourcesOf(config)
  if (spec.source !== undefined && config.identity !== null && !sources.includes(spec.source)) {
    const hint = didYouMean(spec.source, sources) ?? `its sources: ${sources.join(', ')}`
    return fail(`the configuration has no source "${spec.source}" (${hint})`)
  }
  return { caller: principalOf(spec, sources), chain: chainOf(spec, sources) }
}

/**
 * @param argument JSON, or the name of a JSON or YAML file
 * @returns the answers of policy servers, by name
 * @throws {CannotExplain} for a value that is not a list of answers
 */
function readAnswers (argument: string): RecordedAnswers {
  return readGiven(argument, '--external', recordedAnswers, 'the answers').value as RecordedAnswers
}

function readGiven (
  argument: string,
  flag: string,
  schema: Schema,
  what: string
): { readonly value: unknown, readonly fail: (message: string) => never } {
  const inline = argument.trimStart().startsWith('{')
  const content = inline ? { text: argument } : readText(argument)
  const fail = (message: string): never => {
    throw new CannotExplain(`${flag}${inline ? '' : ` ${argument}`}: ${message}`)
  }
  if ('message' in content) return fail(content.message)
  const { readable, root, problems } = readYaml(content.text, null)
  const [first] = problems
  if (first !== undefined) return fail(first.message)
  if (!readable || root === null || root.value === null) return fail('it is empty')
  const [problem] = validatorFor(schema, what, 'tests')(root.value)
  if (problem !== undefined) return fail(`${problem.message}${problem.hint === undefined ? '' : ` (${problem.hint})`}`)
  return { value: root.value, fail }
}
