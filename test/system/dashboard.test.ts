/**
 * Runs every query of the dashboard, and every rule, in a real Prometheus that scrapes a real gateway. The traffic causes all events that
 * the queries and rules report. Needs the Debian package `prometheus`, and `npm run build`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startTraffic } from '../helpers/all-traffic.js'
import { panelsOf, readDashboard, substituted } from '../helpers/dashboard.js'
import { startPrometheus, until } from '../helpers/prometheus.js'
import type { Prometheus, Series } from '../helpers/prometheus.js'

/** As Grafana fills them in for "All", with a scrape interval of one second. */
const ALL = { job: '.*', instance: '.*', agent: '.*', __rate_interval: '15s', __range: '120s' }
/** Seconds between points. */
const STEP = 2
/** Where zero is what should be. */
const ZERO_IS_WELL = [
  'Entries of sources A', 'Sources that cannot be read A', 'Age of the last good reading A',
  'Waiting for an agreement A', 'Access tokens that wait for a verification A', 'Telemetry lost A', 'Telemetry lost B', 'Telemetry lost C', 'Telemetry lost D',
  'Unexpected errors A', 'Workers B'
]

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly name: string
      readonly type: string
      readonly health: string
      readonly lastError?: string
      readonly state?: string
    }[]
  }[]
}

/** The largest number of any series; null where there is none at all. */
function largest (series: readonly Series[]): number | null {
  const numbers = series.flatMap(one => one.values.map(([, value]) => Number(value))).filter(value => Number.isFinite(value))
  return numbers.length === 0 ? null : Math.max(...numbers)
}

t.test('under all kinds of traffic, every query of the dashboard has data and every rule is healthy', async t => {
  const began = new Date()
  const { gateway, guarded, round } = await startTraffic(t)
  const instances = [gateway, guarded].map(({ adminUrl }) => new URL(adminUrl).host)
  const prometheus = await startPrometheus(t, instances, {
    job: 'a2a-gateway',
    rules: ['deploy/prometheus/alerts.yaml']
  })
  // So that what is so at the beginning is seen too.
  await until('some scrapes', 60, async () =>
    Number((await prometheus.query('sum(count_over_time(up[1m]))'))[0]?.value[1]) >= 5 ? true : null
  )
  // Series that begin have no rate yet: what counts is what is added between scrapes.
  for (let i = 0; i < 3; i++) {
    await round()
    await sleep(1_500)
  }
  const calls = await gateway.metric('a2a_gateway_requests_total')
  await until('scrape of all calls', 20, async () =>
    Number((await prometheus.query('sum(a2a_gateway_requests_total)'))[0]?.value[1]) >= calls ? true : null
  )

  const ask = async (expr: string, instant: boolean, values = ALL): Promise<Series[]> => {
    const query = substituted(expr, values)
    if (!instant) return await prometheus.range(query, began, new Date(), STEP)
    return (await prometheus.query(query)).map(({ metric, value }) => ({ metric, values: [value] }))
  }
  const dashboard = readDashboard()
  for (const { title, targets = [] } of panelsOf(dashboard)) {
    for (const { refId, expr, instant } of targets) {
      let found = largest(await ask(expr, instant))
      t.ok(found !== null, `${title} ${refId} has data: ${expr}`)
      if (ZERO_IS_WELL.includes(`${title} ${refId}`)) continue
      // What happens once a round, now to one series and now to another, may not have been added to any between two scrapes yet.
      for (let more = 0; more < 4 && !((found ?? 0) > 0); more++) {
        await round()
        await sleep(2_500)
        found = largest(await ask(expr, instant))
      }
      t.ok((found ?? 0) > 0, `${title} ${refId} is not just zero: ${expr}`)
    }
  }
  for (const { name, expr } of dashboard.annotations.list) t.ok(largest(await ask(expr, false)) !== null, `marks: ${name}`)

  await t.test('a broken query has no data', async t => {
    const { expr = '' } = panelsOf(dashboard).find(panel => panel.title === 'Rejections by rule')?.targets?.[0] ?? {}
    t.ok((largest(await ask(expr, false)) ?? 0) > 0)
    t.equal(largest(await ask(expr.replace('refusals_total', 'refusal_total'), false)), null)
    t.equal(largest(await ask(expr.replace('agent=~', 'agents=~'), false, { ...ALL, agent: 'odd' })), null)
  })

  await t.test('labels in legends and tables have the expected values', async t => {
    const values = async (title: string, label: string): Promise<string[]> => {
      const { expr = '', instant = false } = panelsOf(dashboard).find(panel => panel.title === title)?.targets?.[0] ?? {}
      return [...new Set((await ask(expr, instant)).map(({ metric }) => metric[label] ?? ''))].toSorted()
    }
    t.same(await values('Calls by outcome', 'outcome'), ['agent_error', 'forwarded', 'rejected', 'upstream_error'])
    t.same(await values('Requested by clients', 'echo'), ['absent', 'confirmed', 'unexpected'])
    t.same(await values('Requested by the gateway', 'echo'), ['absent', 'confirmed'])
    t.same(await values('By phase', 'phase'), ['card', 'request', 'response'])
    t.same(await values('Refreshes', 'outcome'), ['changed', 'not_modified', 'unchanged', 'unreachable'])
    t.same(await values('Reloads', 'outcome'), ['invalid', 'ok'])
    t.same(await values('Rejected for load', 'rule'), ['gateway/too-many-requests'])
    t.same(await values('Connections without a request', 'kind'), ['malformed'])
    t.ok((await values('Most broken', 'rule')).length >= 3)
  })

  await t.test('variables list existing values, and filter', async t => {
    for (const { name, type, definition = '' } of dashboard.templating.list) {
      if (type !== 'query') continue
      const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(substituted(definition, ALL)) ?? []
      const found = await prometheus.api<string[]>(`label/${label}/values?match[]=${encodeURIComponent(selector)}`)
      t.same(
        found,
        {
          job: ['a2a-gateway'],
          instance: instances.toSorted(),
          agent: ['eightball', 'fight', 'fight-held', 'gone', 'guarded', 'narrow', 'odd']
        }[name],
        name
      )
    }
    const { expr = '' } = panelsOf(dashboard).find(panel => panel.title === 'Calls by agent')?.targets?.[0] ?? {}
    t.same((await ask(expr, false, { ...ALL, agent: '(odd|fight)' })).map(({ metric }) => metric.agent).toSorted(), ['fight', 'odd'])
  })

  await t.test('every rule is loaded and evaluated, and the expected rules fire', async t => {
    const rules = await healthy(prometheus)
    t.ok(rules.filter(rule => rule.type === 'alerting').length > 25)
    const state = (name: string): string | undefined => rules.find(rule => rule.name === name)?.state
    t.match(state('A2AGatewayAgentWithoutCard'), /^(pending|firing)$/, 'the agent "gone"')
    t.match(state('A2AGatewayReloadFailed'), /^(pending|firing)$/)
    t.match(state('A2AGatewayLimitReached'), /^(pending|firing)$/)
    for (const name of ['A2AGatewayDown', 'A2AGatewayAbsent', 'A2AGatewayInternalErrors', 'A2AGatewayMemoryNearLimit', 'A2AGatewayCardOld']) {
      t.equal(state(name), 'inactive', name)
    }
    for (const { name } of rules.filter(rule => rule.type === 'recording')) {
      t.ok((await prometheus.query(name)).length > 0, `${name} is recorded`)
    }
  })
})

/** All rules, once each of them has been evaluated. */
async function healthy (prometheus: Prometheus): Promise<Rules['groups'][number]['rules']> {
  return await until('healthy rules', 60, async () => {
    const rules = (await prometheus.api<Rules>('rules')).groups.flatMap(group => group.rules)
    const ill = rules.filter(rule => rule.health === 'err')
    if (ill.length > 0) throw new Error(ill.map(rule => `${rule.name}: ${rule.lastError}`).join('\n'))
    return rules.length > 0 && rules.every(rule => rule.health === 'ok') ? rules : null
  })
}
