/** Names of metrics, alerts, reasons and settings on the pages that people write exist. Every reason has a line for client developers. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { REASONS } from '#a2a/errors.js'
import { packageRoot } from '#config/paths.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'
import { METRICS } from '#telemetry/metrics/definitions.js'
import { PROCESS_METRICS } from '../../scripts/process-metrics.js'

const ROOT = packageRoot()
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.md') && !/^extensions.(?!README)/.test(name))
  .map(name => join('docs', name))]
const texts = new Map(PAGES.map(page => [page, readFileSync(join(ROOT, page), 'utf8')]))

/** Matches of a pattern on all pages that are not names, as `page: name`. */
function unknown (pattern: RegExp, known: (name: string) => boolean): string[] {
  return [...texts].flatMap(([page, text]) => [...text.matchAll(pattern)].map(([, name = '']) => name).filter(name => !known(name)).map(name => `${page}: ${name}`))
}

t.test('metrics', async t => {
  const suffixes = /_(?:bucket|sum|count|total)$/
  const known = new Set([...Object.keys(METRICS).map(name => `a2a_gateway_${name}`), ...PROCESS_METRICS.map(({ name }) => name)])
  const has = (name: string): boolean => known.has(name) || known.has(name.replace(suffixes, '')) || known.has(`${name}_total`)
  t.same(unknown(/\b((?:a2a_gateway|process|nodejs)_[a-z_]*[a-z])\b(?![*…_{]*[*…])/g, name => has(name)), [])
  t.notOk(has('a2a_gateway_rejected_total'))
})

t.test('alerts', async t => {
  const alerts = readFileSync(join(ROOT, 'deploy/prometheus/alerts.yaml'), 'utf8')
  t.same(unknown(/\b(A2AGateway[A-Z]\w+)/g, name => alerts.includes(`alert: ${name}\n`)), [])
})

t.test('every reason, once, for client developers', async t => {
  const page = texts.get(join('docs', 'for-client-developers.md')) ?? ''
  const rows = [...page.matchAll(/^\| (`[A-Z_`, ]+) \|/gm)].flatMap(([, cell = '']) => cell.split(', ').map(name => name.replaceAll('`', '')))
  t.same(rows.toSorted(), Object.keys(REASONS).toSorted())
})

t.test('settings on the new pages', async t => {
  const keys = new Set<string>()
  const collect = (schema: Schema, path: string): void => {
    for (const [key, child] of Object.entries(schema.properties ?? {})) {
      for (const name of [path + key, (path + key).replace(/^agents\./, ''), (path + key).replace(/^agents\.upstream\./, '')]) keys.add(name)
      const { $ref } = child
      collect(child.items ?? ($ref === undefined ? child : configSchema.$defs?.[$ref.replace('#/$defs/', '')] ?? child), `${path}${key}.`)
    }
  }
  collect(configSchema, '')
  const top = [...Object.keys(configSchema.properties ?? {}), ...Object.keys(configSchema.properties?.agents?.items?.properties ?? {})]
  const named = new RegExp(`\`((?:${top.join('|')})\\.[a-zA-Z.]+[a-zA-Z])(?::[^\`]*)?\``, 'g')
  const pages = ['how-to/size.md', 'how-to/production-checklist.md', 'how-to/roll-out.md', 'explain/modes.md', 'explain/faq.md', 'for-client-developers.md']
  const found = pages.flatMap(page => [...(texts.get(join('docs', page)) ?? '').matchAll(named)].map(([, name = '']) => name))
  t.ok(found.length > 15, `${found.length} settings`)
  t.same(found.filter(name => !keys.has(name)), [])
})
