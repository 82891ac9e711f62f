/** docs/reference/limits.md names every limit of the configuration, with its default. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'

const PAGE = readFileSync(join(packageRoot(), 'docs', 'reference/limits.md'), 'utf8')

function keysOf (schema: Schema | undefined, prefix: string): [string, string][] {
  return Object.entries(schema?.properties ?? {}).map(([key, { default: initial }]) => [prefix + key, String(initial)])
}

t.test('every limit has its row, with its default', async t => {
  const agent = configSchema.properties?.agents?.items?.properties
  const rows = [
    ...keysOf(configSchema.properties?.limits, 'limits.'),
    ...keysOf(agent?.concurrency, 'concurrency.'),
    ...keysOf(agent?.upstream?.properties?.timeouts, 'upstream.timeouts.')
  ]
  t.ok(rows.length >= 20)
  const lines = PAGE.split('\n').filter(line => line.startsWith('| '))
  for (const [key, initial] of rows) {
    const words = /^0[sB]?$/.test(initial) ? / (?:never|no limit) \|/ : new RegExp(`\\b${initial}\\b|as above`)
    t.ok(lines.some(line => line.split('|')[1]?.includes(`\`${key}\``) === true && words.test(line)), `${key}: ${initial}`)
  }
  t.ok(lines.some(line => line.includes('`upstream.connections` of an agent | 2048 |')))
  for (const [key] of keysOf(configSchema.properties?.shedding, '')) t.match(PAGE, new RegExp(`^ {2}${key}: `, 'm'))
})
