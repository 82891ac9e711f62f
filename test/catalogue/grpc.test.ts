/**
 * Every test of the catalogue over gRPC. The binding changes the bytes, and no decision: each test runs over HTTP+JSON and over gRPC, and
 * all that the gateway found is compared, with paths, texts and edits.
 */
import { join } from 'node:path'
import t from 'tap'
import { loadCatalogue } from '#config/load.js'
import { packageRoot } from '#config/paths.js'
import { CHECKS } from '#offline/configuration.js'
import type { TestResult } from '#offline/policy-test/run-tests.js'
import { runTests } from '#offline/policy-test/run-tests.js'
import type { LoadedTests } from '#offline/policy-test/test-file.js'
import { loadTests } from '#offline/policy-test/test-file.js'
import type { PolicyTest } from '#offline/policy-test/test-model.js'

/** Reasons for which gRPC cannot carry a test: data of 0.3 is an object, and the tests of SDKs that mix the forms of both versions. */
const REASONS = [/\[\d\]\.data\.data must be an object/, /message\.parts is not a field of/, /message\.role must be one of/]

/** Runs all tests that both bindings can carry. @param left gets what they cannot carry, in words */
function runBoth (tests: LoadedTests, left: string[]): readonly TestResult[] {
  let chosen = tests.value.tests
    .filter(({ request }) => request.http === undefined && request.method === undefined && !usesHttp(request.headers))
    .map((test): PolicyTest => ({ ...test, bindings: ['HTTP+JSON', 'GRPC'] }))
  for (;;) {
    if (chosen.length === 0) return []
    const run = runTests({ ...tests, value: { ...tests.value, tests: chosen } }, { base: null, checks: CHECKS, only: null })
    if (run.ok) return run.results
    const at = new Map(run.problems.map(({ message }) => [Number(/tests\[(\d+)\]/.exec(message)?.[1]), message]))
    if ([...at.keys()].some(Number.isNaN)) throw new Error(run.problems.map(({ message }) => message).join('\n'))
    chosen = chosen.flatMap((test, i) => {
      const problem = at.get(i)
      if (problem === undefined) return [test]
      left.push(problem)
      const only = test.versions ?? ['0.3', '1.0']
      return only.includes('1.0') && only.length > 1 ? [{ ...test, versions: ['1.0' as const] }] : []
    })
  }
}

/** A test about HTTP itself. */
function usesHttp (headers: PolicyTest['request']['headers'] = {}): boolean {
  return Object.keys(headers).some(name => /^(?:content-type|accept|content-encoding)$/i.test(name))
}

/** All that the gateway found, without bytes and without data of HTTP. */
function findings ({ dryRun: { evaluation, rejection }, response }: TestResult): unknown {
  const decision = evaluation?.decision
  return JSON.parse(JSON.stringify({
    rejection: rejection === null ? null : { ...rejection },
    violations: decision?.violations ?? [],
    sets: ['declared', 'listed', 'evidenced', 'active', 'injected', 'missing'].map(key => decision?.[key as 'active']),
    edited: decision?.edited,
    edits: decision?.edits.map(({ path, value }) => [path, value?.toString() ?? null]),
    response: response === null
      ? null
      : {
          stream: response.stream,
          rejection: response.rejection,
          event: response.rejectedEvent,
          activations: response.activationReport,
          // The trailers of a gRPC stream also name extensions that its messages prove; the head of an HTTP stream has gone out before.
          shown: response.stream ? null : response.shown,
          results: response.results.map(({ event, decision: found }) => [
            event, found.violations, found.edited, found.annotations, found.attributes, found.measures, [...found.remember?.fields ?? []]
          ])
        }
  }))
}

let compared = 0
const uncarried: string[] = []

for (const name of Object.keys(loadCatalogue())) {
  t.test(name, async t => {
    const loaded = loadTests(join(packageRoot(), 'config', 'extensions', `${name}.test.yaml`), {})
    if (!loaded.ok) return t.fail('cannot be read')
    const left: string[] = []
    const results = runBoth(loaded.tests, left)
    uncarried.push(...left)
    t.same(left.filter(problem => !REASONS.some(reason => reason.test(problem))), [], 'what gRPC cannot carry has a known reason')
    const others = new Map(results.filter(({ binding }) => binding === 'GRPC').map(one => [`${one.name} ${one.version}`, one]))
    const differences: unknown[] = []
    for (const one of results) {
      if (one.binding === 'GRPC') continue
      const other = others.get(`${one.name} ${one.version}`)
      if (other === undefined) differences.push([one.name, one.version, 'was not run'])
      else if (JSON.stringify(findings(other)) !== JSON.stringify(findings(one))) {
        differences.push({ name: one.name, version: one.version, http: findings(one), grpc: findings(other) })
      }
      compared++
    }
    t.same(differences, [])
  })
}

t.test('nearly all tests can be sent over gRPC', async t => {
  t.comment(`${compared} pairs, ${uncarried.length} tests that gRPC cannot carry in one version`)
  t.ok(compared > 10 * uncarried.length)
})
