/** Runs the tests of one file, each in every version and binding that the test names. */
import { dirname } from 'node:path'
import type { Binding, Version } from '#a2a/versions.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { dotted } from '#config/diagnostics.js'
import type { Diagnostic, Path } from '#config/diagnostics.js'
import type { Check } from '#config/load.js'
import { problemAt } from '#config/yaml/values.js'
import type { Config } from '#config/model/model.js'
import { beforeMismatches, responseMismatches } from './response-expectations.js'
import type { Variant } from '#a2a/message/wire-spec.js'
import { exchange, Memory } from '../recording/exchange.js'
import type { Mismatch } from './expectations.js'
import { mismatches } from './expectations.js'
import { requestOf, variantsOf } from '../recording/requests.js'
import type { TestAgent } from './test-agent.js'
import { TestAgents } from './test-agent.js'
import type { LoadedTests } from './test-file.js'
import type { CallerSpec } from '../caller.js'
import { chainOf, principalOf, sourcesOf } from '../caller.js'
import type { PolicyTest } from './test-model.js'
import type { ResponseDryRun } from '#pipeline/response/recording-driver.js'
import type { DryRun, PlainRequest } from '#pipeline/dry-run-operation.js'

/** One test in one version and binding. */
export interface TestResult {
  readonly name: string
  readonly version: Version
  readonly binding: Binding
  /** Position of the test as `file:line:col`. */
  readonly at: string
  /** Empty when the test passed. */
  readonly mismatches: readonly Mismatch[]
  readonly dryRun: DryRun
  /** Null when the agent gets no request, or when the test gives no response. */
  readonly response: ResponseDryRun | null
  /** Warnings of the gateway about card and policies. */
  readonly warnings: readonly string[]
}

/** The results, or the problems that make the file unusable. */
export type FileResult =
  { readonly ok: true; readonly results: readonly TestResult[] } | { readonly ok: false; readonly problems: readonly Diagnostic[] }

export interface RunOptions {
  /** The configuration that was given in addition to the file, or null. */
  readonly base: Config | null
  /** Further checks of the file's policies. */
  readonly checks: readonly Check[]
  /** Substring of the names of the tests to run. Null: all tests. */
  readonly only: string | null
}

export function runTests (tests: LoadedTests, { base, checks, only }: RunOptions): FileResult {
  const agents = new TestAgents(tests, base, checks)
  const results: TestResult[] = []
  const problems = new Map<string, Diagnostic>()
  const surroundings = { directory: dirname(tests.file), sources: sourcesOf(base), caller: tests.value.caller ?? null }
  tests.value.tests.forEach((test, index) => {
    const testAgentResult = agents.of(index)
    if (!testAgentResult.ok) {
      for (const problem of testAgentResult.problems) problems.set(`${problem.line}:${problem.col} ${problem.message}`, problem)
      return
    }
    if (only !== null && !test.name.includes(only)) return
    const { agent } = testAgentResult
    for (const variant of variantsOf(test)) {
      const run = runTest(test, variant, agent, surroundings)
      if ('problem' in run) {
        const path = ['tests', index, ...run.at]
        const problem = tests.place(problemAt(path, `${dotted(path)} cannot be sent: ${run.problem}`))
        problems.set(problem.message, problem)
      } else {
        results.push({ name: test.name, at: tests.at(['tests', index]), warnings: agent.state.warnings, ...run })
      }
    }
  })
  return problems.size > 0 ? { ok: false, problems: [...problems.values()] } : { ok: true, results }
}

interface TestContext {
  /** Directory that files are relative to. */
  readonly directory: string
  /** Names of the configured sources. */
  readonly sources: readonly string[]
  /** Caller of tests that name none. */
  readonly caller: CallerSpec | null
}

type Run = Omit<TestResult, 'name' | 'at' | 'warnings'>

/**
 * Runs one test in one version and binding.
 * @returns the result, or the problem in words and the path of the test key that caused it
 */
function runTest (
  test: PolicyTest,
  variant: Variant | null,
  agent: TestAgent,
  { directory, sources, caller }: TestContext
): Run | { readonly problem: string; readonly at: Path } {
  const testRequest = requestOf(test.request, variant, agent, directory)
  if ('problem' in testRequest) return { problem: testRequest.problem, at: ['request'] }
  const memory = new Memory(test.memory, test.external)
  const asCaller = (spec: CallerSpec | null): Pick<PlainRequest, 'caller' | 'chain'> =>
    spec === null ? { caller: null, chain: null } : { caller: principalOf(spec, sources), chain: chainOf(spec, sources) }
  const mine = test.caller === undefined ? caller : test.caller
  const own = variant ?? dryRunRequest(agent, testRequest.request, agent.limits).caller
  const broken: Mismatch[] = []
  for (const [i, earlier] of (test.before ?? []).entries()) {
    const request = requestOf(earlier.request, own, agent, directory)
    if ('problem' in request) return { problem: request.problem, at: ['before', i, 'request'] }
    const by = asCaller(earlier.caller === undefined ? mine : earlier.caller)
    const ran = exchange(agent, { ...request.request, ...by }, earlier.answer, memory, directory)
    if (typeof ran === 'string') return { problem: ran, at: ['before', i, 'answer'] }
    broken.push(...beforeMismatches(i, ran))
  }
  const ran = exchange(agent, { ...testRequest.request, ...asCaller(mine) }, test.answer, memory, directory)
  if (typeof ran === 'string') return { problem: ran, at: ['answer'] }
  const { dryRun, received, response } = ran
  const { version, binding } = dryRun.caller
  const wrong = mismatches(test.expect, dryRun, testRequest.request.body)
  if (test.expect.answer !== undefined && response !== null && received !== null) {
    wrong.push(...responseMismatches(test.expect.answer, response, received, dryRun))
  }
  return { version: variant?.version ?? version, binding: variant?.binding ?? binding, mismatches: [...broken, ...wrong], dryRun, response }
}
