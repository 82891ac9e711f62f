/** docs/how-to/upgrade.md shows the real output. docs/how-to/run.md names all settings that only a restart changes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { deprecations, printDiagnostic, parseConfig } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { packageRoot, packageVersion } from '#config/paths.js'
import { configSchema } from '#config/schema/schema.js'
import { deprecated } from '#config/schema/schema-builder.js'
import { changesBetween } from '#agents/changes.js'

const PAGE = readFileSync(join(packageRoot(), 'docs', 'how-to/upgrade.md'), 'utf8').replace(
  /(?<=a2a-gateway )\d+\.\d+\.\d+(?= reads)/,
  packageVersion()
)
const RUNNING = readFileSync(join(packageRoot(), 'docs', 'how-to/run.md'), 'utf8')
const FILE = 'version: 1\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}}]\n'

t.test('an unsupported version', async t => {
  const loaded = parseConfig(FILE.replace('1', '2'), { file: 'gateway.yaml', baseDir: '/', env: {} })
  t.equal(loaded.ok, false)
  if (!loaded.ok) for (const problem of loaded.problems) t.ok(PAGE.includes(`\n${printDiagnostic(problem)}\n`), printDiagnostic(problem))
})

t.test('a removed key', async t => {
  const { limits } = configSchema.properties ?? {}
  if (limits?.properties?.body === undefined) return t.fail('there is no limits.body')
  t.notOk('example' in limits.properties, 'the key of the example does not exist')
  const schema = {
    ...configSchema,
    properties: { limits: { ...limits, properties: { example: deprecated(limits.properties.body, '0.9.0', 'use limits.other') } } }
  }
  const [found, ...more] = deprecations(schema, { limits: { example: '1MiB' } })
  t.same(more, [])
  t.ok(PAGE.includes(`warning: ${found?.message ?? ''} (${found?.hint ?? ''})\n`), String(found?.message))
})

t.test('settings that only a restart changes', async t => {
  const configOf = (more: string): Config => {
    const loaded = parseConfig(FILE + more, { file: 'g.yaml', baseDir: '/', env: {} })
    if (!loaded.ok) throw new Error(loaded.problems.map(printDiagnostic).join('\n'))
    return loaded.config
  }
  const other = configOf([
    'server: {listen: ":1", admin: ":2", publicUrl: "https://x.test", trustedProxies: [10.0.0.1], drainTimeout: 1s, workers: 2}',
    'telemetry: {logs: {level: debug, format: pretty}, traces: {enabled: true}, audit: {enabled: false}}', 'limits: {body: 1MiB}',
    'state: {ttl: 1h}', 'shedding: {rss: 1GiB}'
  ].join('\n'))
  const { needsRestart, settings } = changesBetween(configOf(''), other, [])
  const section = RUNNING.split(/^## /m).find(one => one.startsWith('Changing the configuration'))?.split(/^(?=Only a restart)/m)[1] ?? ''
  for (const key of needsRestart.filter(name => name.startsWith('server.'))) t.ok(section.includes(`\`${key}\``), key)
  t.same(
    needsRestart.filter(name => name.startsWith('telemetry.')),
    ['telemetry.logs.format', 'telemetry.traces', 'telemetry.audit'],
    'all of `telemetry` except the log level'
  )
  t.match(section, /`telemetry` except\n?`telemetry.logs.level`/)
  t.same(settings.filter(key => section.includes(`\`${key}\``)), ['telemetry.logs.level'], 'and nothing else that a reload changes')
  t.ok(needsRestart.length === 7 && settings.length > 4)
})
