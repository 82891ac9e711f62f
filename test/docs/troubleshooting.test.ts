/**
 * All quotations in docs/how-to/troubleshooting.md exist: messages in the sources, rules, reasons, metrics, and keys of the configuration.
 * Every reason of a rejection has its row.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { REASONS } from '#a2a/errors.js'
import { packageRoot } from '#config/paths.js'
import { configSchema } from '#config/schema/schema.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { METRICS } from '#telemetry/metrics/definitions.js'
import { FAILURE_KINDS } from '#telemetry/metrics/label-values.js'
import { PROCESS_METRICS } from '../../scripts/process-metrics.js'
import { sentencesOf } from '../helpers/sentences.js'

const PAGE = readFileSync(join(packageRoot(), 'docs', 'how-to/troubleshooting.md'), 'utf8')
const SOURCES = readdirSync(join(packageRoot(), 'src'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => `src/${name}`)
const TEXT = SOURCES.map(name => readFileSync(join(packageRoot(), name), 'utf8')).join('\n')

/** What stands between backticks, each once. */
const QUOTED = [...new Set([...PAGE.replaceAll(/^```.*?^```$/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text))]

/** Commands, HTTP, and the settings of others: no messages of ours. */
const NOT_OURS =
  /^(?:curl |a2a-gateway |check |this type$|file:line:col|gateway-decision|\w+: ?\S*$|A2A-Version: |proxy_buffering |exit code 1$|[\w.]+: [\w{}: ./$@]+$)/

const isMessage = (text: string): boolean => /[A-Za-z]{2,}[^A-Za-z]*\s+\S/.test(text) && !NOT_OURS.test(text)

t.test('messages', async t => {
  const sentences = SOURCES.flatMap(sentencesOf).map(({ text }) => text)
  const there = (quoted: string): boolean => {
    const pieces = quoted.split('…').map(piece => piece.trim()).filter(piece => /[a-z]/i.test(piece))
    // A template with one word between two values is no sentence by itself.
    return pieces.every(
      piece =>
        sentences.some(text => text.includes(piece)) ||
        (!piece.includes(' ') && TEXT.includes(`} ${piece}`)) ||
        TEXT.includes(`\`${piece} ${'$'}{`)
    )
  }
  const messages = QUOTED.filter(isMessage)
  t.ok(messages.length > 30, `${messages.length} are quoted`)
  t.same(messages.filter(message => !there(message)), [])
})

t.test('rules of the gateway', async t => {
  const upstream = FAILURE_KINDS.map(kind => `gateway/upstream-${kind.replace('_', '-')}`)
  const rules = QUOTED.filter(text => text.startsWith('gateway/'))
  t.ok(rules.length > 15)
  t.same(
    rules.filter(rule => !upstream.includes(rule) && !TEXT.includes(`'${rule}'`) && !TEXT.includes(`'${rule.replace('gateway/', '')}'`)),
    []
  )
  t.same(
    upstream.filter(rule => !rules.includes(rule) && !['gateway/upstream-other', 'gateway/upstream-too-large'].includes(rule)),
    [],
    'every way in which an agent fails has its row'
  )
})

t.test('reasons', async t => {
  const named = QUOTED.filter(text => /^[A-Z]+_[A-Z_]+$/.test(text))
  const elsewhere = /^(?:OTEL_|ERR_TLS_|SELF_SIGNED|UNABLE_TO|NODE_)/
  t.same(named.filter(text => !elsewhere.test(text) && !Object.hasOwn(REASONS, text)), [])
  const byStatus = [
    'ROUTE_NOT_FOUND',
    'METHOD_NOT_ALLOWED',
    'AGENT_NOT_READY',
    'OVERLOADED',
    'UPSTREAM_UNREACHABLE',
    'UPSTREAM_FAILED',
    'UPSTREAM_TIMEOUT',
    'INTERNAL_ERROR',
    // It has a row, and no underscore by which this test knows the name of a reason.
    'UNAUTHENTICATED'
  ]
  t.same(
    Object.keys(REASONS).filter(reason => !named.includes(reason) && !byStatus.includes(reason)),
    [],
    'every reason for which a call is refused has its row'
  )
})

t.test('metrics', async t => {
  const names = QUOTED.flatMap(text => /^((?:a2a_gateway|process|nodejs)_\w+)/.exec(text)?.[1] ?? [])
  t.ok(names.length > 12)
  t.same(
    names.filter(name => !Object.hasOwn(METRICS, name.replace('a2a_gateway_', '')) && !PROCESS_METRICS.some(one => one.name === name)),
    []
  )
})

t.test('keys of the configuration', async t => {
  const keys = new Set<string>()
  const collect = (schema: Schema, path: string): void => {
    for (const [key, child] of Object.entries(schema.properties ?? {})) {
      keys.add(path + key)
      const { $ref } = child
      const referred = $ref === undefined ? child : (configSchema.$defs?.[$ref.replace('#/$defs/', '')] ?? child)
      collect(child.items ?? referred, `${path}${key}${child.items === undefined ? '' : '[]'}.`)
    }
  }
  collect(configSchema, '')
  const known = [...keys].flatMap(key => [key, key.replace('agents[].', ''), key.replace('agents[].upstream.', '')])
  const named = QUOTED.flatMap(text => /^([a-z][A-Za-z]*(?:\[\])?(?:\.[a-z][A-Za-z]*)+)(?:: \S+)?$/.exec(text)?.[1] ?? [])
  t.ok(named.length > 25)
  t.same(named.filter(key => !known.includes(key)), [])
})
