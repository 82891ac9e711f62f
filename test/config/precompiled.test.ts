import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import t from 'tap'
import { validatorsModule } from '../../scripts/validators.js'
import { validatorsOf } from '#config/built/validators.js'
import { compile } from '#config/compile.js'
import { readYaml } from '#config/yaml/document.js'
import { forgetFaults } from '#config/keywords.js'
import { packageRoot } from '#config/paths.js'
import { precompiled } from '#config/precompiled.js'
import type { Precompiled } from '#config/precompiled.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'
import { POLICY } from '#config/validate.js'
import { testFileSchema } from '#offline/policy-test/test-schema.js'
import { ANSWER_ROWS } from './response-rows.js'
import { CREDENTIALS_ROWS } from './credentials-rows.js'
import { EDIT_ROWS } from './edit-rows.js'
import { CARD_ROWS } from './card-rows.js'
import { IDENTITY_ROWS } from './identity-rows.js'
import { OWNERSHIP_ROWS } from './ownership-rows.js'
import { ROWS, policyWith } from './rows.js'

// What the build has compiled says what compiling says.

const require = createRequire(import.meta.url)
const directory = mkdtempSync(join(tmpdir(), 'precompiled-'))
t.teardown(() => { rmSync(directory, { recursive: true }) })

/** The module that the build writes, with paths as if the module were part of this package, because it requires parts of Ajv. */
function built (name: string, schema: Schema, part: string | null): Precompiled {
  const file = join(directory, name)
  const local = validatorsModule(schema, part).replaceAll('require("', `require("${packageRoot()}/node_modules/`)
  writeFileSync(file, local)
  return require(file) as Precompiled
}

function found (schema: Schema, made: Precompiled) {
  const validators = precompiled(schema, made)
  if (validators === null) throw new Error('not found')
  return validators
}

/** All that a validator leaves behind, read anew: it fills in defaults. */
function outcome (validate: ValidateFunction, text: string): string {
  const value: unknown = readYaml(text, {}).root?.value ?? null
  forgetFaults()
  const valid = validate(value)
  const errors = (valid ? [] : validate.errors ?? []) as ErrorObject[]
  return JSON.stringify([valid, errors, value], (_key, one: unknown) => typeof one === 'symbol' ? String(one) : one)
}

const config = found(configSchema, built('configuration.cjs', configSchema, POLICY))
const atRunTime = compile(configSchema, POLICY)

t.test('configurations', t => {
  const rows = [
    ...Object.values(ROWS).flat(), ...Object.values(ANSWER_ROWS).flat(), ...EDIT_ROWS, ...IDENTITY_ROWS, ...OWNERSHIP_ROWS,
    ...CREDENTIALS_ROWS, ...CARD_ROWS
  ]
  let refused = 0
  for (const [name, text] of rows) {
    const expected = outcome(atRunTime.whole, text)
    if (outcome(config.whole, text) !== expected) t.equal(outcome(config.whole, text), expected, name)
    if (expected.startsWith('[false')) refused++
  }
  t.ok(rows.length > 300 && refused > 150, `${rows.length} configurations, ${refused} of them refused, all alike`)
  t.end()
})

t.test('more faults than are reported', t => {
  const text = policyWith(
    `uriPattern: [${Array.from({ length: 1_500 }, (_none, i) => `"${i} x"`).join(', ')}]\nowns: {metadata: [${Array.from({ length: 1_500 }, () => '""').join(', ')}]}`
  )
  t.equal(outcome(config.whole, text), outcome(atRunTime.whole, text))
  t.end()
})

t.test('policies of the catalogue', t => {
  const folder = join(packageRoot(), 'config/extensions')
  const policies = readdirSync(folder)
    .filter(name => name.endsWith('.yaml') && !name.endsWith('.test.yaml'))
    .map(name => readFileSync(join(folder, name), 'utf8'))
  for (const text of [...policies, 'null', 'uri: ""\nnothing: {}\nrequest: [{id: r, select: {part: {}}}]']) {
    const expected = outcome(atRunTime.part as ValidateFunction, text)
    if (outcome(config.part as ValidateFunction, text) !== expected) {
      t.equal(outcome(config.part as ValidateFunction, text), expected, text.slice(0, 200))
    }
  }
  t.ok(policies.length > 20, `${policies.length} policies, all alike`)
  t.end()
})

t.test('test files', t => {
  const validate = found(testFileSchema, built('tests.cjs', testFileSchema, null)).whole
  const { whole } = compile(testFileSchema, null)
  for (const text of [
    'null',
    'card: 1\nagent: []\ntests: [{name: 1, request: {operation: SendMesage}, expect: {status: 1}}]',
    'tests: []\nnothing: 1'
  ]) {
    t.equal(outcome(validate, text), outcome(whole, text), text)
    t.ok(outcome(whole, text).startsWith('[false'))
  }
  t.end()
})

t.test('a missing or outdated validator is compiled again', t => {
  t.equal(precompiled(configSchema, null), null)
  const made = built('again.cjs', configSchema, POLICY)
  t.not(precompiled(configSchema, made), null)
  t.equal(precompiled({ ...configSchema, maxProperties: 99 }, made), null, 'a schema that has changed since')
  t.equal(
    precompiled(configSchema, { ...made, digest: `zz${made.digest.slice(2)}` }),
    null,
    'a digest of anything else, such as another release of Ajv'
  )
  t.equal(validatorsOf('configuration')?.digest, made.digest, 'the build has put its validators in place')
  t.end()
})
