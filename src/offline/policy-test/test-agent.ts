/** Builds the agent of a test from a card and the keys of an agent. Uses the same loader as the configuration. */
import { dirname, resolve } from 'node:path'
import { readFileSync } from 'node:fs'
import type { CardDocument } from '#a2a/card/loaded-cards.js'
import { callerSources } from '#identity/schemes.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { fileErrorText } from '#config/describe.js'
import type { Diagnostic, Path, PathProblem } from '#config/diagnostics.js'
import { dotted } from '#config/diagnostics.js'
import { loadCatalogue, loadValue } from '#config/load.js'
import { problemAt } from '#config/yaml/values.js'
import type { Check } from '#config/load.js'
import type { AgentGrpcConfig } from '#config/model/model.js'
import type { AgentConfig, Config, Limits, PolicyConfig } from '#config/model/model.js'
import { CONFIG_VERSION } from '#config/schema/schema.js'
import { readDocument } from '#agents/card/card-fetch.js'
import type { LoadedTests } from './test-file.js'
import type { JsonMap } from '#a2a/message/wire-spec.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'

export interface TestAgent {
  readonly config: AgentConfig
  readonly state: AgentState
  readonly limits: Limits
  readonly publicUrl: string
  readonly delegation: Config['delegation']
}

export type TestAgentResult =
  { readonly ok: true; readonly agent: TestAgent } | { readonly ok: false; readonly problems: readonly Diagnostic[] }

/** Upstream URL of an inline agent. The tests never connect to it. */
const UPSTREAM = 'http://agent.test'

const GRPC_UPSTREAM = 'agent.test:50051'

/** Address of the gateway in extended cards. */
const PUBLIC_URL = 'http://gateway.test'
const GRPC: AgentGrpcConfig = { listen: null, publicAddress: 'gateway.test:443', upstream: null, passthrough: [] }

/** Names of policy servers in an agent and in policies. */
function pointsOf (value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]: [string, unknown]) =>
    (key === 'use' || key === 'external') && typeof child === 'string' ? [child] : pointsOf(child))
}

/** Builds the agents of one file. Each pair of card and agent is built once. */
export class TestAgents {
  private readonly tests: LoadedTests
  private readonly base: Config | null
  private readonly checks: readonly Check[]
  private readonly made = new Map<string, TestAgentResult>()

  /**
   * Takes the tests of one file.
   * @param base the configuration that was given in addition to the file, or null
   * @param checks further checks, which the configuration loader also runs
   */
  constructor (tests: LoadedTests, base: Config | null, checks: readonly Check[]) {
    this.tests = tests
    this.base = base
    this.checks = checks
  }

  /** Returns the agent of test number `index`. */
  of (index: number): TestAgentResult {
    const test = this.tests.value.tests[index]
    const cardPath: Path = test?.card === undefined ? ['card'] : ['tests', index, 'card']
    const agentPath: Path = test?.agent === undefined ? ['agent'] : ['tests', index, 'agent']
    const key = `${dotted(cardPath)} ${dotted(agentPath)}`
    let testAgentResult = this.made.get(key)
    if (testAgentResult === undefined) {
      testAgentResult = this.make(test?.card ?? this.tests.value.card, cardPath, test?.agent ?? this.tests.value.agent ?? {}, agentPath)
      this.made.set(key, testAgentResult)
    }
    return testAgentResult
  }

  private make (card: string | JsonMap | undefined, cardPath: Path, agent: string | JsonMap, agentPath: Path): TestAgentResult {
    const agentUnderTest = typeof agent === 'string' ? this.named(agent, agentPath) : this.inline(agent, agentPath)
    if ('problems' in agentUnderTest) return { ok: false, problems: agentUnderTest.problems }
    const { config, limits } = agentUnderTest
    const fail = (message: string, hint?: string): TestAgentResult => ({
      ok: false,
      problems: [this.tests.place(problemAt(cardPath, message, hint))]
    })
    const source = card ?? config.card.file
    if (source === null) return fail('there is no card', 'write card beside tests: a JSON file, or the card itself')
    const document = this.card(source, limits, config.upstream.url)
    if (typeof document === 'string') return fail(document)
    const identity = typeof agent === 'string' ? (this.base?.identity ?? null) : null
    const sources = identity === null ? null : callerSources(identity)
    try {
      const state = buildAgentState(
        { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'card' },
        { agent: config, maxExtensions: limits.extensions, previous: null, secretOf: SECRET_HIDDEN, sources }
      )
      return {
        ok: true,
        agent: {
          config, state, limits, publicUrl: PUBLIC_URL, delegation: typeof agent === 'string' ? this.base?.delegation ?? null : null
        }
      }
    } catch (error) {
      return fail((error as Error).message)
    }
  }

  private named (name: string, path: Path): TestAgentConfig | Failed {
    const fail = (message: string, hint: string): Failed => ({ problems: [this.tests.place(problemAt(path, message, hint))] })
    if (this.base === null) return fail(`the agent "${name}" belongs to a configuration`, 'give the configuration with --config')
    const config = this.base.agents.find(agent => agent.name === name)
    if (config === undefined) {
      return fail(`the configuration has no agent "${name}"`, `its agents: ${this.base.agents.map(agent => agent.name).join(', ')}`)
    }
    return { config, limits: this.base.limits }
  }

  private inline (agent: JsonMap, path: Path): TestAgentConfig | Failed {
    const { file, value } = this.tests
    const upstream = { url: UPSTREAM, ...(agent.upstream as JsonMap | undefined) }
    const configuration = structuredClone({
      version: CONFIG_VERSION,
      agents: [{ name: 'agent', ...agent, upstream }],
      ...(value.extensions === undefined ? {} : { extensions: value.extensions }),
      ...(value.bundles === undefined ? {} : { bundles: value.bundles }),
      // Tests ask nobody: their answers are recorded.
      decisionPoints: Object.fromEntries(pointsOf([agent, value.extensions]).map(name => [name, { url: UPSTREAM }]))
    })
    const place = (problem: PathProblem): Diagnostic => {
      const [first, , ...rest] = problem.path
      const message = problem.message.replaceAll('agents[0]', dotted(path))
      return this.tests.place({ ...problem, message, path: first === 'agents' ? [...path, ...rest] : problem.path })
    }
    const catalogue: Readonly<Record<string, PolicyConfig>> = { ...loadCatalogue(), ...this.base?.extensions }
    const loaded = loadValue(configuration, {
      baseDir: dirname(resolve(file)),
      env: null,
      place,
      catalogue,
      checks: this.checks,
      found: []
    })
    if (!loaded.ok) return { problems: loaded.problems }
    const { config } = loaded
    const agentConfig = config.agents[0] as AgentConfig
    // The file of a test has no `server`, and so no listener that the keys of the agent could mean.
    return { config: { ...agentConfig, grpc: agentConfig.grpc ?? GRPC }, limits: this.base?.limits ?? config.limits }
  }

  private card (source: string | JsonMap, limits: Limits, upstream: string): CardDocument | string {
    const inline = typeof source !== 'string'
    const name = inline ? 'card' : source
    try {
      const bytes = inline
        ? Buffer.from(JSON.stringify(withInterfaces(source, upstream)))
        : readFileSync(resolve(dirname(this.tests.file), source))
      return readDocument({ kind: 'fetched', from: name, status: 200, bytes, contentType: '', validators: null, lifetime: null }, limits)
    } catch (error) {
      return `cannot read the card ${name}: ${fileErrorText(error)}`
    }
  }
}

interface TestAgentConfig { readonly config: AgentConfig, readonly limits: Limits }
interface Failed { readonly problems: readonly Diagnostic[] }

const INTERFACE_KEYS = ['url', 'supportedInterfaces', 'supported_interfaces', 'additionalInterfaces', 'additional_interfaces']

/** Adds all interfaces that the gateway supports to a card without interfaces, at the URL of the agent. */
function withInterfaces (card: JsonMap, upstream: string): JsonMap {
  if (INTERFACE_KEYS.some(key => key in card)) return card
  const supportedInterfaces = (['1.0', '0.3'] as const).flatMap(protocolVersion =>
    (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).map(protocolBinding => ({
      url: protocolBinding === 'GRPC' ? GRPC_UPSTREAM : upstream,
      protocolBinding,
      protocolVersion
    }))
  )
  return { ...card, supportedInterfaces }
}
