/**
 * The dashboard names metrics that the gateway exposes, and Grafana can lay out the dashboard. Its queries run in
 * test/system/dashboard.test.ts.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { panelsOf, readDashboard, substituted } from '../helpers/dashboard.js'
import { everyMetric, TARGET_LABELS } from '../helpers/every-metric.js'
import { namesOf } from '../helpers/promql.js'

const dashboard = readDashboard()
const panels = panelsOf(dashboard)
const VALUES = { job: '.*', instance: '.*', agent: '.*', __rate_interval: '1m', __range: '1h' }

t.test('queries name only existing metrics and labels, and legends only remaining labels', async t => {
  const exposed = await everyMetric(t)
  const all = [
    ...panels.flatMap(panel => (panel.targets ?? []).map(target => ({ of: panel.title, legend: target.legendFormat, expr: target.expr }))),
    ...dashboard.annotations.list.map(one => ({ of: one.name, legend: '', expr: one.expr }))
  ]
  t.ok(all.length > 50)
  for (const { of, expr, legend } of all) {
    const { metrics, grouping } = namesOf(substituted(expr, VALUES))
    const there = new Set(TARGET_LABELS)
    t.ok(metrics.size > 0, of)
    for (const [name, labels] of metrics) {
      t.ok(exposed.has(name), `${of}: ${name} is exposed`)
      for (const label of labels) {
        t.ok(TARGET_LABELS.includes(label) || exposed.get(name)?.has(label), `${of}: ${name} has the label ${label}`)
      }
      for (const label of exposed.get(name) ?? []) there.add(label)
      const bound = ['job', 'instance', ...exposed.get(name)?.has('agent') === true ? ['agent'] : []]
      for (const label of bound) t.ok(labels.has(label), `${of}: ${name} follows the variable ${label}`)
    }
    for (const label of grouping) t.ok(there.has(label), `${of}: ${label} is a label`)
    const left = expr.includes(' by (') ? grouping : there
    for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g)) t.ok(left.has(label), `${of}: the legend has ${label}`)
  }
})

t.test('each family of metrics is on it', async t => {
  const shown = new Set(
    panels
      .flatMap(panel => panel.targets ?? [])
      .flatMap(target => [...namesOf(substituted(target.expr, VALUES)).metrics.keys()])
      .map(name => name.replace(/_(bucket|sum|count)$/, ''))
  )
  const ours = [...(await everyMetric(t)).keys()]
    .filter(name => name.startsWith('a2a_gateway_'))
    .map(name => name.replace(/_(bucket|sum|count)$/, ''))
  t.same([...new Set(ours)].filter(name => !shown.has(name)), [])
})

t.test('panels have distinct titles and descriptions, are on the grid, and do not overlap', async t => {
  const everything = dashboard.panels.flatMap(panel => [panel, ...panel.panels ?? []])
  t.equal(new Set(everything.map(panel => panel.id)).size, everything.length)
  for (const panel of panels) {
    t.ok((panel.description ?? '').length > 10, `${panel.title} says what it shows`)
    t.equal(panel.datasource?.uid, ['$', '{datasource}'].join(''))
    t.equal(new Set(panel.targets?.map(target => target.refId)).size, panel.targets?.length)
  }
  const taken = new Set<string>()
  for (const { gridPos: { x, y, w, h }, title } of everything) {
    t.ok(x >= 0 && x + w <= 24, title)
    for (let i = x; i < x + w; i++) {
      for (let j = y; j < y + h; j++) {
        t.notOk(taken.has(`${i} ${j}`), `${title} has its place for itself`)
        taken.add(`${i} ${j}`)
      }
    }
  }
})

t.test('rows answer the questions of operators, and variables choose job, gateway and agent', async t => {
  const rows = dashboard.panels.filter(panel => panel.type === 'row').map(panel => panel.title)
  t.same(rows, [
    'Overview',
    'Traffic',
    'Decisions',
    'Violations, by extension and rule',
    'Activation truth',
    'Latency added by the gateway',
    'Streams',
    'Cards',
    'Sources of agents',
    'Configuration and versions',
    'Saturation',
    'Tasks, and what policies watch'
  ])
  t.same(
    dashboard.templating.list.map(one => [one.name, one.type]),
    [
      ['datasource', 'datasource'],
      ['job', 'query'],
      ['instance', 'query'],
      ['agent', 'query']
    ]
  )
  t.ok(dashboard.schemaVersion >= 41)
})

t.test('Grafana is configured with Prometheus and the dashboards', async t => {
  const { datasources } = parse(readFileSync('deploy/grafana/provisioning/datasources/prometheus.yaml', 'utf8')) as {
    datasources: { type: string; url: string; isDefault?: boolean; jsonData?: { timeInterval: string } }[]
  }
  const prometheus = parse(readFileSync('deploy/prometheus/prometheus.yaml', 'utf8')) as { global: { scrape_interval: string } }
  t.match(
    datasources.find(one => one.isDefault),
    { type: 'prometheus', url: 'http://prometheus:9090', jsonData: { timeInterval: prometheus.global.scrape_interval } }
  )
  const { providers } = parse(readFileSync('deploy/grafana/provisioning/dashboards/a2a-gateway.yaml', 'utf8')) as {
    providers: { type: string; options: { path: string } }[]
  }
  t.match(providers, [{ type: 'file', options: { path: /^\// } }])
})
