/** config/gateway.full.yaml is a valid configuration, has each key of the schema, and behaves as the smallest file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'
import { ROOT } from '../helpers/paths.js'

const TEXT = readFileSync(join(ROOT, 'config/gateway.full.yaml'), 'utf8')
const SMALLEST = 'version: 1\nagents: [{name: eightball, upstream: {url: "http://127.0.0.1:9999"}}]\n'

function keysOf (schema: Schema): string[] {
  const { properties = {}, items, additionalProperties, $defs = {} } = schema
  return [
    ...Object.keys(properties),
    ...[...Object.values(properties), ...Object.values($defs), ...items === undefined ? [] : [items]].flatMap(keysOf),
    ...typeof additionalProperties === 'object' ? keysOf(additionalProperties) : []
  ]
}

t.test('it loads, and is the same configuration as the smallest file', async t => {
  const [full, smallest] = [TEXT, SMALLEST].map(text => parseConfig(text, { file: 'gateway.yaml', baseDir: '/', env: {} }))
  t.same(full?.ok === true ? full.warnings.map(formatDiagnostic) : full?.problems.map(formatDiagnostic), [])
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value, (key, one: unknown) => /^(?:warnings|hash|locate|position|lines)$/.test(key) ? undefined : one))
  t.same(plain(full), plain(smallest))
})

t.test('it has each key, each with a line about it', async t => {
  const keys = new Set(keysOf(configSchema))
  t.ok(keys.size > 200, `${keys.size} keys`)
  const lines = TEXT.split('\n')
  t.same([...keys].filter(key => !lines.some(line => new RegExp(`^ *#?(?:- )?"?${key.replaceAll(/[^\w]/g, '\\$&')}"?:`).test(line))), [])
  const settings = lines.flatMap((line, index) => /^ *#?(?:- )?[\w$"-]+:/.test(line) ? [index] : [])
  const undescribed = settings.filter(index => !/^ *# /.test(lines[index - 1] ?? '') && !/^ *#(?:name|consent|orders|staff):/.test(lines[index] ?? ''))
  t.same(undescribed.map(index => lines[index]), [])
})
