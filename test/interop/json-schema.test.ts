/** Random schemas and documents: this gateway decides as the Python package jsonschema, whose code has nothing in common with Ajv's. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { withBudget } from '#jsonschema/evaluation.js'
import { compileSchema } from '#jsonschema/schema.js'
import { inTests } from '../helpers/paths.js'
import { random, runs } from '../helpers/seed.js'
import { anySchema, documentFor } from '../policy/bytes-fixtures.js'
import { SETUP_TIMEOUT, venv } from './toolchains.js'

const REQUIREMENTS = ['jsonschema==4.25.1']
const SCHEMAS = 2_000
const DOCUMENTS = 10
/** Python's patterns have other classes of characters than ECMA-262, and its multiples are those of doubles. */
const OTHERWISE = /"pattern(?:Properties)?":"?[^,]*\\\\|"multipleOf":0/

interface Case {
  readonly schema: ReturnType<typeof anySchema>
  readonly documents: readonly string[]
  /** The decisions of this gateway. Null: the schema recurses without end, and the gateway rejects the data. */
  readonly decisions: readonly (boolean | null)[]
}

t.setTimeout(2 * SETUP_TIMEOUT)

t.test('the decisions about random documents', { timeout: 2 * SETUP_TIMEOUT }, async t => {
  const numbers = random('JSON Schema')
  const cases: Case[] = []
  for (let i = 0; i < runs(SCHEMAS); i++) {
    const schema = anySchema(numbers)
    const compiled = compileSchema(schema, undefined, 'annotate')
    if (!compiled.ok || OTHERWISE.test(JSON.stringify(schema))) continue
    const documents = Array.from({ length: DOCUMENTS }, () => JSON.stringify(documentFor(numbers, schema)))
    const decisions = documents.map(text => withBudget(null, () => compiled.schema.matches(JSON.parse(text))))
    cases.push({ schema, documents, decisions })
  }
  const environment = await venv(REQUIREMENTS)
  const input = cases.map(({ schema, documents }) => `${JSON.stringify({ schema, documents })}\n`).join('')
  const { stdout, stderr } = spawnSync(`${environment}/bin/python`, [inTests('interop', 'python/json_schema.py')], { input, maxBuffer: 2 ** 26 })
  const lines = stdout.toString().trim().split('\n')
  t.equal(lines.length, cases.length, stderr.toString().slice(-1_000))
  let [valid, invalid] = [0, 0]
  for (const [i, { schema, documents, decisions }] of cases.entries()) {
    const others = JSON.parse(lines[i] as string) as (boolean | null)[]
    for (const [k, decision] of decisions.entries()) {
      const other = others[k]
      // Which part of a schema that recurses without end is read first differs.
      if (decision === null || other === null) continue
      if (decision === other) decision ? valid++ : invalid++
      else t.fail(`${documents[k]}: the gateway ${decision}, jsonschema ${other}; ${JSON.stringify(schema)}`)
    }
  }
  t.comment({ schemas: cases.length, valid, invalid })
  t.ok(valid > cases.length && invalid > cases.length, 'documents of both kinds')
})
