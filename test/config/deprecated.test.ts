/**
 * The removal path of a configuration key: a deprecated key still works, and a warning names its place in the file and the replacement. No
 * key of the configuration is deprecated now.
 */
import t from 'tap'
import { CONFIGURATION_PAGES } from '../../scripts/configuration-page.js'
import { tableRows } from '../../scripts/schema-table.js'
import { runCheck } from '#cli/check.js'
import { compile } from '#config/compile.js'
import { deprecations, formatDiagnostic, parseConfig } from '#config/load.js'
import { configSchema } from '#config/schema/schema.js'
import { count, deprecated, list, mapping, section, text } from '#config/schema/schema-builder.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { AGENT } from './rows.js'

const OLD = deprecated(count('How many.', 1, 0, 9), '0.9.0', 'use limits.many')

const SCHEMA: Schema = {
  ...mapping('A file.', [], {
    many: OLD,
    limits: section('Limits.', { many: count('How many.', 1, 0, 9), old: OLD }),
    parts: { type: 'array', items: { $ref: '#/$defs/part' } },
    named: { type: 'object', additionalProperties: mapping('One.', [], { old: OLD }) },
    either: { anyOf: [mapping('One.', [], { old: deprecated({ type: 'integer' }, '0.9.0', 'use limits.many') }), { type: 'string' }] },
    deprecated: list('A key of that very name.', { type: 'string' }, [])
  }),
  $defs: {
    part: mapping('Part.', [], { old: deprecated(section('A section.', { inner: text('Text.', 'name', 'x') }), '0.9.0', 'leave it out') })
  }
}

t.test('found at every place of a schema, at the key, with the replacement', async t => {
  const value = {
    many: 1,
    limits: { many: 2, old: 3 },
    parts: [{}, { old: { inner: 'y' } }],
    named: { a: { old: 1 } },
    either: { old: 1 },
    deprecated: [],
    unknown: 1
  }
  t.same(deprecations(SCHEMA, value).map(({ path, at, message, hint }) => [path.join('.'), at, message, hint]), [
    ['many', 'key', 'many is deprecated and will be removed in a later release', 'use limits.many'],
    ['limits.old', 'key', 'limits.old is deprecated and will be removed in a later release', 'use limits.many'],
    ['parts.1.old', 'key', 'parts[1].old is deprecated and will be removed in a later release', 'leave it out'],
    ['named.a.old', 'key', 'named.a.old is deprecated and will be removed in a later release', 'use limits.many'],
    ['either.old', 'key', 'either.old is deprecated and will be removed in a later release', 'use limits.many']
  ])
  for (const other of [{}, null, [], 'x', { many: undefined, limits: 1, parts: {}, either: 'x' }]) {
    t.ok(deprecations(SCHEMA, other).length <= 1)
  }
  t.same(
    deprecations(configSchema, {
      version: 1,
      agents: [{ name: 'a', extensions: [{ x: { mode: 'observe' } }] }],
      extensions: { x: { mode: 'observe' } }
    }),
    [],
    'no key is deprecated now'
  )
})

t.test('it still works: validators accept it, and fill in its default', async t => {
  const { whole } = compile(SCHEMA, null)
  const value: { limits?: object } = {}
  t.equal(whole(value), true)
  t.same(value.limits, { many: 1, old: 1 })
  t.same(whole({ many: 10 }), false, 'its bounds hold')
})

t.test('editors and the documentation show it', async t => {
  t.match(JSON.parse(JSON.stringify(SCHEMA)), {
    properties: { many: { deprecated: true, description: 'Deprecated since 0.9.0: use limits.many. How many. From 0 to 9.' } }
  })
  t.match(
    tableRows(SCHEMA, '', new Set()).find(row => row.includes('`limits.old`')),
    /\| Deprecated since 0\.9\.0: use limits\.many\. How many\. \|$/
  )
  t.notMatch(CONFIGURATION_PAGES.map(({ render }) => render()).join('\n'), /Deprecated since/)
})

t.test('check and serve report its place', async t => {
  const properties = configSchema.properties?.limits?.properties as Record<string, Schema>
  const body = properties.body as Schema
  t.teardown(() => { properties.body = body })
  properties.body = deprecated(body, '0.9.0', 'use limits.request')
  const text = `${AGENT}limits:\n  jsonDepth: 3\n  body: 1MiB\n`
  const loaded = parseConfig(text, { file: 'g.yaml', baseDir: '/', env: {} })
  t.same(
    loaded.ok && loaded.warnings.map(formatDiagnostic),
    ['g.yaml:7:3: limits.body is deprecated and will be removed in a later release (use limits.request)'],
    'what serve logs'
  )
  t.equal(loaded.ok && loaded.config.limits.body, 1024 * 1024, 'and it counts')
  const without = parseConfig(AGENT, { file: 'g.yaml', baseDir: '/', env: {} })
  t.same(without.ok && without.warnings, [], 'its default is no reason to warn')
  const said: string[] = []
  const config = `${t.testdir({ 'g.yaml': text })}/g.yaml`
  t.equal(await runCheck({ config, env: {} }, { out: line => { said.push(line) }, err: line => { said.push(line) } }), 0)
  t.match(
    said.join(''),
    /g\.yaml:7:3: warning: limits\.body is deprecated and will be removed in a later release \(use limits\.request\)\n/
  )
})
