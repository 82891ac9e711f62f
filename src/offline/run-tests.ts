/** Runs the tests of one file: each in every version and binding it names. */
import { dirname } from 'node:path'
import type { Binding, Version } from '../a2a/versions.js'
import type { Judgement } from '../agent/judge.js'
import { judge } from '../agent/judge.js'
import { dotted } from '../config/diagnostics.js'
import type { Diagnostic } from '../config/diagnostics.js'
import type { Check } from '../config/load.js'
import type { Config } from '../config/model.js'
import type { Mismatch } from './expectations.js'
import { mismatches } from './expectations.js'
import { requestsOf } from './requests.js'
import { TestAgents } from './test-agent.js'
import type { LoadedTests } from './test-file.js'

/** One test in one version and binding. */
export interface TestResult {
  readonly name: string
  readonly version: Version
  readonly binding: Binding
  /** `file:line:col` of the test. */
  readonly at: string
  /** None: it passed. */
  readonly mismatches: readonly Mismatch[]
  readonly judgement: Judgement
  /** What the gateway warns of in card and policies. */
  readonly warnings: readonly string[]
}

/** The results, or why the file cannot be used. */
export type FileResult = { readonly ok: true, readonly results: readonly TestResult[] } | { readonly ok: false, readonly problems: readonly Diagnostic[] }

export interface RunOptions {
  /** The configuration given beside the file, or null. */
  readonly base: Config | null
  /** Further checks of the file's policies. */
  readonly checks: readonly Check[]
  /** Part of the names of the tests to run; null: all. */
  readonly only: string | null
}

export function runTests (tests: LoadedTests, { base, checks, only }: RunOptions): FileResult {
  const agents = new TestAgents(tests, base, checks)
  const results: TestResult[] = []
  const problems = new Map<string, Diagnostic>()
  tests.value.tests.forEach((test, index) => {
    const made = agents.of(index)
    if (!made.ok) {
      for (const problem of made.problems) problems.set(`${problem.line}:${problem.col} ${problem.message}`, problem)
      return
    }
    if (only !== null && !test.name.includes(only)) return
    const { agent } = made
    for (const made of requestsOf(test, agent, dirname(tests.file))) {
      if ('problem' in made) {
        const problem = tests.place({ path: ['tests', index, 'request'], at: 'value', message: `${dotted(['tests', index, 'request'])} cannot be sent: ${made.problem}` })
        problems.set(problem.message, problem)
        continue
      }
      const { request, variant } = made
      const judgement = judge(agent, request, agent.limits)
      const { version, binding } = variant ?? judgement.caller
      results.push({ name: test.name, version, binding, at: tests.at(['tests', index]), mismatches: mismatches(test.expect, judgement, request.body), judgement, warnings: agent.state.warnings })
    }
  })
  return problems.size > 0 ? { ok: false, problems: [...problems.values()] } : { ok: true, results }
}
