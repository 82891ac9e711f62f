/** All metrics that `/metrics` can expose, with their labels. Alerts and dashboards may name only these. */
import { PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Test } from 'tap'
import { Metrics } from '#telemetry/metrics/metrics.js'

/** Labels that Prometheus adds to scraped metrics. */
export const TARGET_LABELS = ['namespace', 'job', 'instance']

/**
 * Names of samples, each with its labels. Histograms have the names with `_bucket`, `_sum` and `_count`. The list includes Node's own
 * metrics.
 */
export async function everyMetric (t: Test): Promise<Map<string, Set<string>>> {
  const metrics = new Metrics()
  t.teardown(() => { metrics.close() })
  process.constrainedMemory = () => 1_000_000
  recordOne(metrics)
  await collectGarbage()
  const found = new Map<string, Set<string>>()
  for (const line of (await metrics.text()).split('\n')) {
    const [, name, labels = ''] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === undefined) continue
    const known = found.get(name) ?? new Set()
    found.set(name, known)
    for (const [, label = ''] of labels.matchAll(/([a-z_]+)="(?:[^"\\]|\\.)*"/g)) known.add(label)
  }
  return found
}

/** Forces a garbage collection, because the metric of its duration has no sample before the first one. */
async function collectGarbage (): Promise<void> {
  setFlagsFromString('--expose-gc')
  const seen = new Promise<void>(resolve => {
    const observer = new PerformanceObserver(() => {
      observer.disconnect()
      resolve()
    })
    observer.observe({ entryTypes: ['gc'] })
  })
  const collect = runInNewContext('gc') as () => void
  collect()
  await seen
}

/** Records one sample of each metric. */
export function recordOne (m: Metrics): void {
  const a = 'agent'
  m.request({ agent: a, operation: 'SendMessage', binding: 'JSONRPC', version: '1.0', outcome: 'forwarded', front: 'http' }, 1)
  m.decision(a, 1)
  m.upstream(a, 'SendMessage', 1)
  m.violation(a, 'e', 'r', 'request', 'observe')
  m.unexaminedData(a, 'e')
  m.activation(a, 'e', 'client', 'absent')
  m.streamOpened(a)
  m.refusal(a, 'gateway/json')
  m.grpcResponse(a, 'SendMessage', 'OK')
  m.clientError('other')
  m.vitals.verificationsWaiting(() => 0)
  m.delegation(a, 'depth')
  m.externalDecision(a, 'spend', 'allow')
  m.externalWait(a, 'request', 1)
  m.unexpectedError('http')
  m.authentication(a, 's', 'ok')
  m.authenticated('s', 'hit', 0.1)
  m.keyRefresh('s', 'changed')
  m.upstreamCredential(a, 'exchange', 'new')
  m.vitals.issuersOf(new Map([['s', { age: () => 1, tokens: () => 1 }]]))
  m.vitals.sourcesOf(() => [{ name: 's', entries: { admitted: 1, waiting: 1, rejected: 1 }, age: 1, readable: true }])
  m.requestsActive(new Map([[a, () => 1]]))
  m.streamEvents(a, 1)
  m.cardAge(a, () => 1)
  m.cardRefresh(a, 'changed')
  m.cardSignature(a, 'verified')
  m.configInfo('x')
  m.upstreamError(a, 'dns')
  m.taskLookup(a, 'known')
  m.taskWrite(a, 'kept')
  m.uniqueClaim(a, 'new')
  m.pausedRequest(a, 'paused')
  m.rateLimited(a, 'l')
  m.rateStore('ok')
  m.budgetSpent('b', 1)
  m.taskOwnerCheck(a, 'match')
  m.pushUrl(a, 'allow')
  m.accessDecision(a, 'r', 'allow', 'enforce')
  m.tasksRemembered(() => 1)
  m.observed(a, { extension: 'e', metric: 'm', type: 'counter', by: '', value: 1 })
  m.observed(a, { extension: 'e', metric: 'm', type: 'gauge', by: '', value: 1 })
  m.responseUnread(a, 'encoding')
  m.workers(() => 1, () => 0)
  m.vitals.agents(new Map([[a, { limits: { requests: 1, streams: 1 }, maxStale: 1, hasCard: () => true, holds: () => true }]]))
  m.vitals.heldBytes(() => 1, () => 2)
}
