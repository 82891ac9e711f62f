/**
 * Alerts name metrics that the gateway exposes, and each alert has a test and a page. promtool runs their tests in
 * test/system/alerts.test.ts.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { everyMetric, TARGET_LABELS } from '../helpers/every-metric.js'
import { namesOf } from '../helpers/promql.js'
import { publicPage } from '../../scripts/public-address.js'

interface Rule { record?: string, alert?: string, expr: string, labels?: Record<string, string>, annotations?: Record<string, string> }
interface RuleTest { name: string, alert_rule_test?: { alertname: string, exp_alerts: unknown[] }[] }

const { groups } = parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap(group => group.rules)
const alerts = rules.filter(rule => rule.alert !== undefined)
const { tests } = parse(readFileSync('deploy/prometheus/alerts.test.yaml', 'utf8')) as { tests: RuleTest[] }
const page = readFileSync('docs/reference/alerts.md', 'utf8')

t.test('names of metrics and labels are found in PromQL', async t => {
  const { metrics, grouping } = namesOf(
    'sum by (job, le) (rate(a_total{x="by (y)",z!~"q"}[5m] offset 1h)) > 2 * on (i) group_left(v) b or vector(1e3) # c_total'
  )
  t.same([...metrics].map(([name, labels]) => [name, [...labels]]), [['a_total', ['x', 'z']], ['b', []]])
  t.same([...grouping], ['job', 'le', 'i', 'v'])
  t.throws(() => namesOf('a ~~~ ¶'), /not understood/)
})

t.test('each expression names only existing metrics, labels and records', async t => {
  const exposed = await everyMetric(t)
  const known = new Map([...exposed, ['up', new Set<string>()]])
  for (const { record, expr } of rules) {
    const { metrics, grouping } = namesOf(expr)
    const all = new Set(TARGET_LABELS)
    for (const [name, labels] of metrics) {
      const there = known.get(name)
      t.ok(there, `${name} is exposed`)
      for (const label of labels) t.ok(TARGET_LABELS.includes(label) || there?.has(label), `${name} has the label ${label}`)
      for (const label of there ?? []) all.add(label)
    }
    for (const label of grouping) t.ok(all.has(label), `${label} is a label of ${[...metrics.keys()].join()}`)
    if (record !== undefined) {
      known.set(
        record,
        new Set(
          [...grouping]
            .filter(label => label !== 'le')
            .concat([...metrics.keys()].flatMap(name => (name.includes(':') ? [...(known.get(name) ?? [])] : [])))
        )
      )
    }
  }
})

t.test('each alert has a severity, a description and a runbook', async t => {
  t.ok(alerts.length > 25)
  t.equal(new Set(alerts.map(rule => rule.alert)).size, alerts.length, 'names are unique')
  for (const { alert = '', labels, annotations } of alerts) {
    t.match(alert, /^A2AGateway[A-Z]/)
    t.match(labels?.severity, /^(critical|warning|info)$/, alert)
    t.same(Object.keys(annotations ?? {}), ['summary', 'description', 'runbook_url'], alert)
    t.equal(annotations?.runbook_url, `${publicPage('docs/reference/alerts.md')}#${alert.toLowerCase()}`)
  }
})

t.test('the page has a runbook for each alert, in the same order, and no others', async t => {
  const headings = [...page.matchAll(/^### (A2A\w+)$/gm)].map(([, name]) => name)
  t.same(headings, alerts.map(rule => rule.alert))
  for (const section of page.split(/^### /m).slice(1)) {
    const [name = '', ...text] = section.split('\n')
    for (const part of ['**Means:** ', '**Callers:** ', '**Look:** ', '**Do:** ']) {
      t.ok(text.join('\n').includes(part), `${name} says ${part}`)
    }
    const rule = alerts.find(one => one.alert === name)
    t.ok(text.join('\n').includes(`\`${rule?.labels?.severity}\``), `${name} says how bad it is`)
  }
})

t.test('each alert has a test in which it fires, and does not fire for healthy gateways', async t => {
  const fires = new Set(
    tests
      .flatMap(test => test.alert_rule_test ?? [])
      .filter(one => one.exp_alerts.length > 0)
      .map(one => one.alertname)
  )
  const names = alerts.map(rule => rule.alert ?? '')
  t.same([...fires].toSorted(), names.toSorted())
  const well = tests.find(test => test.name === 'a fleet that is well')?.alert_rule_test ?? []
  t.same(well.map(one => one.alertname), names)
  t.ok(well.every(one => one.exp_alerts.length === 0))
})

t.test('queries in the runbooks name only existing metrics', async t => {
  const exposed = await everyMetric(t)
  const queries = [...page.matchAll(/```promql\n([^`]+)```/g)].map(([, query = '']) => query)
  t.ok(queries.length > 10)
  for (const [name, labels] of queries.flatMap(query => [...namesOf(query).metrics])) {
    t.ok(exposed.has(name) || name === 'up', `${name} is exposed`)
    for (const label of labels) t.ok(TARGET_LABELS.includes(label) || exposed.get(name)?.has(label), `${name} has the label ${label}`)
  }
  for (const [, name = ''] of page.matchAll(/`(a2a_gateway_\w+)/g)) {
    t.ok(
      [...exposed.keys()].some(one => one === name || one.startsWith(`${name}_`)),
      `${name} is exposed`
    )
  }
})
