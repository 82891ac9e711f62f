/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { defaultConfig, formatDiagnostic, parseConfig } from '#config/load.js'
import { packageRoot, packageVersion } from '#config/paths.js'
import { configSchema } from '#config/schema/schema.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { duration, size } from '#config/model/units.js'
import { drifted, GENERATORS } from '../../scripts/generate.js'

// The schema is the source of truth; nothing that is made from it may drift.

const root = packageRoot()

t.test('generated files are up to date', t => {
  t.same(drifted(), [], 'run "npm run build"')
  t.end()
})

t.test('there is no page of a policy that the catalogue no longer has', t => {
  const made = GENERATORS.map(({ file }) => file)
  t.same(readdirSync(join(root, 'docs/extensions')).filter((name) => !made.includes(`docs/extensions/${name}`)), [])
  t.end()
})

t.test('.gitattributes marks every generated file that is committed, and no other of this repository', t => {
  const ignored = (file: string): boolean => /^docs\/extensions\/(?!README)/.test(file)
  const marked = [...readFileSync(join(root, '.gitattributes'), 'utf8').matchAll(/^(\S+) linguist-generated$/gm)].map(([, file = '']) => file)
  const made = GENERATORS.filter(({ edits, file }) => edits !== true && !ignored(file)).map(({ file }) => file)
  const elsewhere = ['bench/results.json', 'package-lock.json', 'scripts/site/package-lock.json']
  t.same(marked.toSorted(), [...made, ...elsewhere].toSorted())
  t.end()
})

/** Every property of the schema, with its path. */
function * properties (schema: Schema, path: string): Generator<[string, Schema, boolean]> {
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    yield [`${path}${key}`, child, schema.required?.includes(key) === true]
    yield * properties(child, `${path}${key}.`)
    if (child.items !== undefined) yield * properties(child.items, `${path}${key}[].`)
  }
}

/** The environment decides the default. */
const BY_ENVIRONMENT = 'telemetry.traces.enabled'
/**
 * Without `cert` the model has no `server.tls`, and without a listener no `server.grpc`; `access` is merged with `accessDefaults`, and the
 * defaults of the other sections are null.
 */
const OFF = [
  'accessDefaults', 'identity.', 'server.catalog', 'agentSources[].', 'server.tls.', 'server.grpc.', 'server.mesh.', 'server.adminAccess.',
  'agents[].access', 'agents[].grpc.',
  'agents[].card.extended.', 'agents[].push.', 'rates[].', 'budgets[].', 'agents[].card.verify.', 'agents[].card.sign.',
  'extensions.from', 'agents[].card.views[].', 'agents[].upstream.credentials.identity.', 'agents[].external[].', 'decisionPoints.', 'delegation.'
]
/** Keys of conditions have no defaults. */
const CONDITION = /^delegation\.agents\.|\.(?:allow\[\]|shared)\.|\.caller(?:\.|$)|\.external\[\]\.when(?:\.|$)/

t.test('the schema describes every key, and closes every mapping', t => {
  for (const [path, schema, required] of [
    ...properties(configSchema, ''),
    ...properties(configSchema.$defs?.policy ?? {}, 'extensions.<name>.')
  ]) {
    t.equal(typeof schema.description, 'string', `${path} has a description`)
    // The other keys of `extensions` are names of policies.
    if (schema.properties !== undefined && path !== 'extensions') t.equal(schema.additionalProperties, false, `${path} is closed`)
    if (path.startsWith('extensions.')) continue
    if (path === BY_ENVIRONMENT || CONDITION.test(path)) continue
    t.equal(required ? schema.default === undefined : schema.default !== undefined, true, `${path} is required or has a default`)
    if (schema.type === 'integer' && !required) {
      t.equal(typeof schema.minimum === 'number' && typeof schema.maximum === 'number', true, `${path} has bounds`)
    }
  }
  t.end()
})

t.test('the gateway runs with every default of the schema', t => {
  const result = defaultConfig({ env: {}, overrides: { upstream: 'http://h' } })
  if (!result.ok) throw new Error(result.problems.map(formatDiagnostic).join('\n'))
  let compared = 0
  for (const [path, schema] of properties(configSchema, '')) {
    if (schema.default === undefined || schema.properties !== undefined || OFF.some(off => path.startsWith(off))) continue
    let actual: unknown = result.config
    for (const step of path.replace('agents[]', 'agents.0').split('.')) actual = (actual as Record<string, unknown>)[step]
    t.same(actual, resolved(path, schema), path)
    compared++
  }
  t.ok(compared > 40)
  t.end()
})

function resolved (path: string, schema: Schema): unknown {
  if (path === 'server.listen') return { host: '0.0.0.0', port: 8080 }
  if (path === 'server.admin') return { host: '127.0.0.1', port: 9901 }
  if (path === 'agents[].path') return ''
  if (schema['x-duration'] !== undefined) return duration(String(schema.default))
  if (schema['x-size'] !== undefined) return size(String(schema.default))
  return schema.default
}

t.test('the published schema works in any validator, and on every configuration of the repository', t => {
  const published: unknown = JSON.parse(readFileSync(join(root, 'config/gateway.schema.json'), 'utf8'))
  const validate = new Ajv2020({ strict: false, allErrors: true }).compile(published as object)
  const page = readFileSync(join(root, 'docs/reference/configuration.md'), 'utf8')
  const texts = new Map(
    [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match, index) => [`docs/reference/configuration.md, example ${index + 1}`, match[1] ?? ''])
  )
  t.equal(texts.size, 2)
  for (const file of examples()) texts.set(file, readFileSync(join(root, file), 'utf8'))
  for (const [name, text] of texts) {
    const variables = Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map((match) => [match[1], 'http://127.0.0.1:1']))
    const result = parseConfig(text, { file: name, baseDir: join(root, name, '..'), env: variables })
    // Warnings about the release of Node.js that runs the tests say nothing about the example.
    const warnings = result.ok ? result.warnings.filter(({ message }) => !message.includes(`Node.js ${process.versions.node}`)) : []
    t.same(result.ok ? warnings : result.problems.map(formatDiagnostic), [], name)
    const concrete = text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    t.equal(validate(parse(concrete)), true, `${name}: ${JSON.stringify(validate.errors)}`)
  }
  t.equal(validate({ version: 1, agents: [], sever: {} }), false)
  t.equal(
    validate({ version: 1, agents: [{ name: 'a', upstream: { url: 'http://h', timeouts: { connect: '${T}' } } }] }),
    true,
    'variables are allowed for editors'
  )
  t.end()
})

t.test('the published schema of policy tests accepts the tests of the repository, and finds a misspelled key', t => {
  const published: unknown = JSON.parse(readFileSync(join(root, 'config/policy-test.schema.json'), 'utf8'))
  const validate = new Ajv2020({ strict: false, allErrors: true }).compile(published as object)
  const files = ['config/extensions', 'examples'].flatMap(directory => readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.yaml'))
    .map(name => `${directory}/${name}`))
  t.ok(files.length > 10, `${files.length} files`)
  const failed = files.filter(file => !validate(parse(readFileSync(join(root, file), 'utf8'))))
  t.same(failed, [], JSON.stringify(validate.errors))
  t.equal(validate({ test: [] }), false)
  t.equal(validate({ tests: [{ name: 'a', request: {}, expect: { decison: 'forward' } }] }), false)
  t.end()
})

/** Configurations in the directories that hold some. */
function examples (): string[] {
  return ['config', 'examples', 'deploy'].flatMap((directory) => readdirSync(join(root, directory), { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((name) => name.endsWith('.yaml') && statSync(join(root, name)).isFile())
    .filter((name) => /^version: 1$/m.test(readFileSync(join(root, name), 'utf8'))))
}

t.test('the package is found', t => {
  t.equal(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version, packageVersion())
  t.end()
})
