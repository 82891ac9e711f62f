/** docs/reference/policy.md shows every key of the vocabulary with an example that the gateway accepts. */
import t from 'tap'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { policySchema } from '#config/schema/policy-schema.js'
import { POLICY_EXAMPLES } from '../../scripts/policy-examples.js'

t.same(Object.keys(POLICY_EXAMPLES), Object.keys(policySchema.properties ?? {}), 'an example for each key, in the order of the schema')

for (const [key, example] of Object.entries(POLICY_EXAMPLES)) {
  t.test(key, async t => {
    const body = [.../^uri/m.test(example) ? [] : ['uri: https://acme.example/ext/delivery-window/v1'], ...example.trim().split('\n')]
    const text = [
      'version: 1',
      'agents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [object-schemas, example]}]',
      'extensions:',
      '  example:',
      ...body.map(line => `    ${line}`)
    ].join('\n')
    const result = parseConfig(text, { file: key, baseDir: '.', env: {} })
    t.same(result.ok ? result.warnings : result.problems.map(formatDiagnostic), [])
    t.ok(body.some(line => line.startsWith(`${key}:`)), 'it is an example of that key')
  })
}
