/** Runs the tests beside each policy of the catalogue with the runner that users have, and checks that these tests leave nothing out. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { routeKey } from '#a2a/extension-routes.js'
import { CHECKS } from '#offline/configuration.js'
import { formatDiagnostic, loadCatalogue } from '#config/load.js'
import { packageRoot } from '#config/paths.js'
import { compileSchema } from '#jsonschema/schema.js'
import { runTests } from '#offline/policy-test/run-tests.js'
import { loadTests } from '#offline/policy-test/test-file.js'

/** How a violation of each part of `state` reads. */
const STATE_PARTS = {
  taskStates: /^is not allowed in the state/,
  transitions: /^must (?:begin|not follow|not have|not change)/,
  monotonic: /^must not be less/,
  maxVisits: /^is entered too often/
}

for (const [name, policy] of Object.entries(loadCatalogue())) {
  t.test(name, async t => {
    const file = join(packageRoot(), 'config', 'extensions', `${name}.test.yaml`)
    if (!existsSync(file)) return t.fail(`has no tests: write config/extensions/${name}.test.yaml`)
    const loaded = loadTests(file, {})
    if (!loaded.ok) return t.fail(loaded.problems.map(formatDiagnostic).join('\n'))
    const run = runTests(loaded.tests, { base: null, checks: CHECKS, only: null })
    if (!run.ok) return t.fail(run.problems.map(formatDiagnostic).join('\n'))
    for (const result of run.results) t.same(result.mismatches, [], `${result.name} (${result.version} ${result.binding})`)

    const tests = loaded.tests.value.tests
    const accepting = tests.filter(({ expect }) => expect.decision === 'forward')
    t.same(
      ['0.3', '1.0'].filter(
        version => !accepting.some(({ versions }) => (versions as readonly string[] | undefined)?.includes(version) !== false)
      ),
      [],
      'a test in each version shows what is let pass'
    )

    const { params } = policy.card ?? {}
    if (params !== undefined) {
      const compiled = compileSchema(params)
      if (!compiled.ok) return t.fail(compiled.problem.message)
      const { capabilities } = loaded.tests.value.card as {
        readonly capabilities: { readonly extensions: readonly { readonly uri: string; readonly params?: unknown }[] }
      }
      const own = capabilities.extensions.filter(({ uri }) => uri === policy.uri || policy.uriPattern !== undefined)
      t.equal(own.length, 1, 'the card of the tests declares it')
      t.equal(compiled.schema.validate(own[0]?.params ?? {}), null, 'as the policy wants it')
    }

    const named = new Set(tests.flatMap(({ expect }) => [...expect.rule === undefined ? [] : [expect.rule], ...expect.violations ?? []]))
    t.same((policy.request ?? []).map(({ id }) => `${name}/${id}`).filter(rule => !named.has(rule)), [], 'a test provokes each rule')
    if (policy.inactive?.request === 'reject') t.ok(named.has(`${name}/inactive`), 'a test sends its data without activation')
    if (policy.activation?.requires !== undefined) t.ok(named.has(`${name}/requires`), 'a test leaves out what it requires')

    const judged = run.results.flatMap(({ response: answer }) => answer?.results ?? [])
    const provoked = [
      ...run.results.flatMap(({ dryRun: judgement }) => judgement.evaluation?.decision.violations ?? []),
      ...judged.flatMap(({ decision: verdict }) => verdict.violations)
    ]
    const rules = new Set(provoked.map(({ extension, rule }) => `${extension}/${rule}`))
    t.same(
      [...(policy.response ?? []), ...(policy.correlate ?? [])].map(({ id }) => `${name}/${id}`).filter(rule => !rules.has(rule)),
      [],
      'a test provokes each rule for answers, and each correlation'
    )
    for (const [part, told] of Object.entries(STATE_PARTS)) {
      if (policy.state?.[part as keyof typeof STATE_PARTS] !== undefined) {
        t.ok(
          provoked.some(({ rule, message }) => rule === 'state' && told.test(message)),
          `a test breaks state.${part}`
        )
      }
    }
    if (policy.inactive?.response === 'strip') {
      t.ok(
        judged.some(({ decision: verdict }) => verdict.edited.includes(`${name}/inactive`)),
        'a test shows what is removed from answers to clients that did not ask'
      )
    }
    if (policy.redact !== undefined) {
      t.ok(
        judged.some(({ decision: verdict }) => verdict.edited.includes(`${name}/redact`)),
        'a test shows what is removed from a history'
      )
    }
    const measured = new Set(judged.flatMap(({ decision: verdict }) => verdict.measures.map(({ metric }) => metric)))
    t.same(
      (policy.observe?.metrics ?? []).map(metric => metric.name).filter(metric => !measured.has(metric)),
      [],
      'a test shows each metric'
    )
    const attributes = new Set(judged.flatMap(({ decision: verdict }) => verdict.attributes.map(attribute => attribute.name)))
    t.same(
      Object.keys(policy.observe?.spanAttributes ?? {}).filter(attribute => !attributes.has(attribute)),
      [],
      'a test shows each span attribute'
    )
    if (policy.echo !== undefined) t.ok(tests.some(({ expect }) => expect.answer?.shown !== undefined), 'a test shows the echo')
    if (policy.response !== undefined) {
      const clean = tests.filter(({ expect }) => expect.answer?.decision === 'forward' && expect.answer.violations?.length === 0)
      t.same(
        ['0.3', '1.0'].filter(
          version => !clean.some(({ versions }) => (versions as readonly string[] | undefined)?.includes(version) !== false)
        ),
        [],
        'a test in each version shows an answer that keeps to it'
      )
    }

    const methods = Object.keys(policy.methods ?? {})
    t.same(methods.filter(method => !accepting.some(({ request }) => request.method === method)), [], 'a test calls each method')
    if (methods.some(method => policy.methods?.[method]?.params !== undefined)) {
      t.ok(named.has(`${name}/method-params`), 'a test calls one with parameters that it does not take')
    }

    const routes = (policy.routes ?? []).map(({ verb, path }) => routeKey(verb, path))
    const called = new Set(
      run.results.flatMap(({ dryRun: { route, rejection: refusal } }) =>
        refusal === null && route?.kind === 'operation' ? [route.extensionRoute] : []
      )
    )
    t.same(routes.filter(route => !called.has(route)), [], 'a test calls each route')
    if (policy.routes?.some(({ body }) => body !== undefined) === true) {
      t.ok(named.has(`${name}/route-body`), 'a test calls one with a body that it does not take')
    }
  })
}
