import { getHeapStatistics } from 'node:v8'
import t from 'tap'
import { packageVersion } from '#config/paths.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { ended } from '../helpers/ended-request.js'

interface Sample { name: string, labels: Record<string, string>, value: number }
interface Family { type: string, help: string, samples: Sample[] }

/** A strict parser of the text format 0.0.4: any unknown syntax is an error. */
function parse (text: string): Map<string, Family> {
  const families = new Map<string, Family>()
  let name = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    const head = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (head !== null) {
      name = head[2] as string
      const family = families.get(name) ?? { type: '', help: '', samples: [] }
      family[head[1] === 'HELP' ? 'help' : 'type'] = head[3] as string
      families.set(name, family)
      continue
    }
    const sample = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (sample === null || !(sample[1] as string).startsWith(name)) throw new Error(`not a sample of ${name}: ${line}`)
    const labels: Record<string, string> = {}
    const rest = (sample[2] ?? '').replace(/([a-z_]+)="((?:[^"\\\n]|\\.)*)",?/g, (_all, key: string, value: string) => {
      if (key in labels) throw new Error(`label ${key} twice: ${line}`)
      labels[key] = value
      return ''
    })
    if (rest !== '') throw new Error(`labels: ${line}`)
    families.get(name)?.samples.push({ name: sample[1] as string, labels, value: Number(sample[3]) })
  }
  return families
}

/** Design 2.5 word for word, and what has come since. */
const DESIGN: Record<string, [string, string[]]> = {
  agent_sources: ['gauge', ['source', 'state']],
  agent_source_age_seconds: ['gauge', ['source']],
  agent_source_readable: ['gauge', ['source']],
  requests_total: ['counter', ['agent', 'operation', 'binding', 'version', 'outcome', 'front']],
  request_duration_seconds: ['histogram', ['agent', 'operation', 'outcome']],
  decision_duration_seconds: ['histogram', ['agent']],
  delegations_total: ['counter', ['agent', 'outcome']],
  external_decisions_total: ['counter', ['agent', 'rule', 'outcome']],
  external_decision_duration_seconds: ['histogram', ['agent', 'phase']],
  upstream_duration_seconds: ['histogram', ['agent', 'operation']],
  violations_total: ['counter', ['agent', 'extension', 'rule', 'phase', 'mode']],
  unexamined_data_total: ['counter', ['agent', 'extension']],
  activations_total: ['counter', ['agent', 'extension', 'source', 'echo']],
  streams_active: ['gauge', ['agent']],
  stream_events_total: ['counter', ['agent']],
  card_age_seconds: ['gauge', ['agent']],
  card_refreshes_total: ['counter', ['agent', 'outcome']],
  card_signatures_total: ['counter', ['agent', 'outcome']],
  config_reloads_total: ['counter', ['outcome']],
  config_info: ['gauge', ['hash']],
  build_info: ['gauge', ['version', 'node']],
  upstream_errors_total: ['counter', ['agent', 'kind']],
  task_lookups_total: ['counter', ['agent', 'outcome']],
  task_writes_total: ['counter', ['agent', 'outcome']],
  access_decisions_total: ['counter', ['agent', 'rule', 'decision', 'mode']],
  unique_claims_total: ['counter', ['agent', 'outcome']],
  paused_requests_total: ['counter', ['agent', 'outcome']],
  task_owner_checks_total: ['counter', ['agent', 'outcome']],
  push_urls_total: ['counter', ['agent', 'decision']],
  tasks_remembered: ['gauge', []],
  observed_total: ['counter', ['agent', 'extension', 'metric', 'by']],
  observed_value: ['gauge', ['agent', 'extension', 'metric', 'by']],
  answers_unread_total: ['counter', ['agent', 'reason']],
  refusals_total: ['counter', ['agent', 'rule']],
  grpc_responses_total: ['counter', ['agent', 'operation', 'status']],
  client_errors_total: ['counter', ['kind']],
  unexpected_errors_total: ['counter', ['place']],
  requests_active: ['gauge', ['agent']],
  requests_limit: ['gauge', ['agent']],
  streams_limit: ['gauge', ['agent']],
  card_usable: ['gauge', ['agent']],
  cards_held: ['gauge', ['agent']],
  card_max_stale_seconds: ['gauge', ['agent']],
  config_last_reload_successful: ['gauge', []],
  token_verifications_waiting: ['gauge', []],
  held_bytes: ['gauge', []],
  held_limit_bytes: ['gauge', []],
  heap_limit_bytes: ['gauge', []],
  memory_limit_bytes: ['gauge', []],
  trace_spans_lost_total: ['counter', []],
  audit_lines_lost_total: ['counter', []],
  log_lines_lost_total: ['counter', []],
  log_records_lost_total: ['counter', []],
  rate_limited_total: ['counter', ['agent', 'limit']],
  rate_store_total: ['counter', ['outcome']],
  budget_spent_total: ['counter', ['budget']],
  authentications_total: ['counter', ['agent', 'source', 'outcome']],
  authentication_duration_seconds: ['histogram', ['source', 'cache']],
  upstream_credentials_total: ['counter', ['agent', 'kind', 'outcome']],
  identity_key_refreshes_total: ['counter', ['source', 'outcome']],
  identity_keys_age_seconds: ['gauge', ['source']],
  token_cache_entries: ['gauge', ['source']]
}

function recordEverything (metrics: Metrics): void {
  metrics.read('token_verifications_waiting', () => 0)
  metrics.read('agent_sources', () => [['registry', 'admitted', 1], ['registry', 'waiting', 0], ['registry', 'rejected', 0]] as const)
  metrics.read('agent_source_age_seconds', () => [['registry', 3]])
  metrics.read('agent_source_readable', () => [['registry', 1]])
  ended(metrics, ['weather', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.02)
  ended(metrics, ['weather', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 3)
  ended(metrics, ['weather', 'SendMessage', 'HTTP+JSON', '0.3', 'rejected', 'http'], 0.0005)
  metrics.observe('decision_duration_seconds', 0.00002, null, 'weather')
  metrics.observe('upstream_duration_seconds', 0.015, null, 'weather', 'SendMessage')
  metrics.add('violations_total', 'weather', 'https://a.example/ext', 'schema', 'request', 'enforce')
  metrics.add('unexamined_data_total', 'weather', 'https://a.example/ext')
  metrics.add('activations_total', 'weather', 'https://a.example/ext', 'client', 'confirmed')
  metrics.addAmount('streams_active', 1, 'weather')
  metrics.addAmount('streams_active', 1, 'weather')
  metrics.addAmount('streams_active', -1, 'weather')
  metrics.addAmount('stream_events_total', 5, 'weather')
  metrics.addAmount('stream_events_total', 0, 'weather')
  metrics.read('card_age_seconds', () => [['weather', 12.5]])
  metrics.add('card_refreshes_total', 'weather', 'not_modified')
  metrics.add('card_signatures_total', 'weather', 'partial')
  metrics.add('config_reloads_total', 'ok')
  metrics.read('config_info', () => [['0123456789ab', 1]])
  metrics.add('upstream_errors_total', 'weather', 'refused')
  metrics.add('task_lookups_total', 'weather', 'known')
  metrics.add('task_lookups_total', 'weather', 'unavailable')
  metrics.add('task_writes_total', 'weather', 'kept')
  metrics.add('unique_claims_total', 'weather', 'seen')
  metrics.add('paused_requests_total', 'weather', 'resumed')
  metrics.add('rate_limited_total', 'weather', 'per-caller')
  metrics.add('rate_store_total', 'ok')
  metrics.addAmount('budget_spent_total', 2.5, 'tokens')
  metrics.add('task_owner_checks_total', 'weather', 'match')
  metrics.add('push_urls_total', 'weather', 'reject')
  metrics.add('access_decisions_total', 'weather', 'readers', 'deny', 'observe')
  metrics.add('authentications_total', 'weather', 'corp', 'expired')
  metrics.observe('authentication_duration_seconds', 0.0002, null, 'corp', 'miss')
  metrics.add('identity_key_refreshes_total', 'corp', 'failed')
  metrics.add('upstream_credentials_total', 'weather', 'exchange', 'unavailable')
  metrics.add('delegations_total', 'weather', 'depth')
  metrics.add('external_decisions_total', 'weather', 'spend', 'allow')
  metrics.observe('external_decision_duration_seconds', 0.01, null, 'weather', 'request')
  metrics.read('identity_keys_age_seconds', () => [['corp', 3]])
  metrics.read('token_cache_entries', () => [['corp', 4]])
  metrics.read('tasks_remembered', () => 7)
  metrics.addAmount('observed_total', 120, 'weather', 'usage', 'tokens', '')
  metrics.set('observed_value', 0.25, 'weather', 'usage', 'latency', 'fast')
  metrics.add('answers_unread_total', 'weather', 'too_large')
  metrics.add('refusals_total', 'weather', 'gateway/memory')
  metrics.add('grpc_responses_total', 'echo', 'SendMessage', 'OK')
  metrics.add('client_errors_total', 'timeout')
  metrics.read('requests_active', () => [['weather', 3]])
  metrics.read('requests_limit', () => [['weather', 10]])
  metrics.read('streams_limit', () => [['weather', 4]])
  metrics.read('card_max_stale_seconds', () => [['weather', 3_600]])
  metrics.read('card_usable', () => [['weather', 1]])
  metrics.read('cards_held', () => [['weather', 1]])
  metrics.read('held_bytes', () => 5)
  metrics.read('held_limit_bytes', () => 50)
  metrics.addAmount('trace_spans_lost_total', 2)
  metrics.add('audit_lines_lost_total')
  metrics.add('log_lines_lost_total')
  metrics.addAmount('log_records_lost_total', 3)
}

// Where no container bounds the memory there is no sample; tests run anywhere.
process.constrainedMemory = () => 1_000_000

t.test('the metrics have the documented names, types and label sets', async t => {
  const metrics = new Metrics({ process: false })
  recordEverything(metrics)
  const families = parse(await metrics.text())
  t.same([...families.keys()].sort(), Object.keys(DESIGN).map(name => `a2a_gateway_${name}`).sort())
  for (const [name, [type, labels]] of Object.entries(DESIGN)) {
    const family = families.get(`a2a_gateway_${name}`)
    t.equal(family?.type, type, `${name} is a ${type}`)
    t.ok((family?.help.length ?? 0) > 10, `${name} has a help text`)
    t.ok((family?.samples.length ?? 0) > 0, `${name} has samples`)
    for (const sample of family?.samples ?? []) {
      const expected = sample.name.endsWith('_bucket') ? [...labels, 'le'] : labels
      t.same(Object.keys(sample.labels).sort(), [...expected].sort(), `${sample.name} has the labels ${expected.join(', ')}`)
    }
  }
})

t.test('values match the records, also at the second scrape', async t => {
  const metrics = new Metrics({ process: false })
  recordEverything(metrics)
  const first = await metrics.text()
  t.equal(await metrics.text(), first, 'a scrape changes nothing')
  recordEverything(metrics)
  for (const [text, times] of [[first, 1], [await metrics.text(), 2]] as const) {
    const get = (name: string, labels: Record<string, string>): number | undefined => {
      const family = [...parse(text)].find(([family]) => name.startsWith(family))?.[1]
      return family?.samples.find(
        sample => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value)
      )?.value
    }
    t.equal(
      get('a2a_gateway_requests_total', {
        agent: 'weather',
        operation: 'SendMessage',
        binding: 'JSONRPC',
        version: '1.0',
        outcome: 'forwarded'
      }),
      2 * times
    )
    t.equal(get('a2a_gateway_requests_total', { binding: 'HTTP+JSON', version: '0.3', outcome: 'rejected', front: 'http' }), times)
    t.equal(
      get('a2a_gateway_violations_total', { extension: 'https://a.example/ext', rule: 'schema', phase: 'request', mode: 'enforce' }),
      times
    )
    t.equal(get('a2a_gateway_activations_total', { source: 'client', echo: 'confirmed' }), times)
    t.equal(get('a2a_gateway_streams_active', { agent: 'weather' }), times)
    t.equal(get('a2a_gateway_stream_events_total', { agent: 'weather' }), 5 * times)
    t.equal(get('a2a_gateway_card_age_seconds', { agent: 'weather' }), 12.5)
    t.equal(get('a2a_gateway_card_refreshes_total', { outcome: 'not_modified' }), times)
    t.equal(get('a2a_gateway_card_signatures_total', { outcome: 'partial' }), times)
    t.equal(get('a2a_gateway_config_reloads_total', { outcome: 'ok' }), times)
    t.equal(get('a2a_gateway_config_reloads_total', { outcome: 'invalid' }), 0, 'present before the first failure')
    t.equal(get('a2a_gateway_config_info', { hash: '0123456789ab' }), 1)
    t.equal(get('a2a_gateway_upstream_errors_total', { kind: 'refused' }), times)
    t.equal(get('a2a_gateway_task_lookups_total', { outcome: 'known' }), times)
    t.equal(get('a2a_gateway_task_lookups_total', { outcome: 'unavailable' }), times)
    t.equal(get('a2a_gateway_task_writes_total', { outcome: 'kept' }), times)
    t.equal(get('a2a_gateway_unique_claims_total', { outcome: 'seen' }), times)
    t.equal(get('a2a_gateway_paused_requests_total', { outcome: 'resumed' }), times)
    t.equal(get('a2a_gateway_rate_limited_total', { limit: 'per-caller' }), times)
    t.equal(get('a2a_gateway_rate_store_total', { outcome: 'ok' }), times)
    t.equal(get('a2a_gateway_budget_spent_total', { budget: 'tokens' }), 2.5 * times)
    t.equal(get('a2a_gateway_push_urls_total', { decision: 'reject' }), times)
    t.equal(get('a2a_gateway_access_decisions_total', { rule: 'readers', decision: 'deny', mode: 'observe' }), times)
    t.equal(get('a2a_gateway_authentications_total', { source: 'corp', outcome: 'expired' }), times)
    t.equal(get('a2a_gateway_authentication_duration_seconds_count', { source: 'corp', cache: 'miss' }), times)
    t.equal(get('a2a_gateway_identity_key_refreshes_total', { outcome: 'failed' }), times)
    t.equal(get('a2a_gateway_upstream_credentials_total', { kind: 'exchange', outcome: 'unavailable' }), times)
    t.equal(get('a2a_gateway_identity_keys_age_seconds', { source: 'corp' }), 3)
    t.equal(get('a2a_gateway_tasks_remembered', {}), 7)
    t.equal(get('a2a_gateway_observed_total', { extension: 'usage', metric: 'tokens', by: '' }), 120 * times)
    t.equal(get('a2a_gateway_observed_value', { extension: 'usage', metric: 'latency', by: 'fast' }), 0.25, 'the last value')
    t.equal(get('a2a_gateway_answers_unread_total', { reason: 'too_large' }), times)
    t.equal(get('a2a_gateway_refusals_total', { rule: 'gateway/memory' }), times)
    t.equal(get('a2a_gateway_client_errors_total', { kind: 'timeout' }), times)
    t.equal(get('a2a_gateway_requests_active', { agent: 'weather' }), 3)
    t.equal(get('a2a_gateway_requests_limit', { agent: 'weather' }), 10)
    t.equal(get('a2a_gateway_streams_limit', { agent: 'weather' }), 4)
    t.equal(get('a2a_gateway_card_usable', { agent: 'weather' }), 1)
    t.equal(get('a2a_gateway_card_max_stale_seconds', { agent: 'weather' }), 3_600)
    t.equal(get('a2a_gateway_held_bytes', {}), 5)
    t.equal(get('a2a_gateway_held_limit_bytes', {}), 50)
    t.equal(get('a2a_gateway_memory_limit_bytes', {}), 1_000_000)
    t.equal(get('a2a_gateway_heap_limit_bytes', {}), getHeapStatistics().heap_size_limit)
    t.equal(get('a2a_gateway_trace_spans_lost_total', {}), 2 * times)
    t.equal(get('a2a_gateway_audit_lines_lost_total', {}), times)
    t.equal(get('a2a_gateway_log_lines_lost_total', {}), times)
    t.equal(get('a2a_gateway_log_records_lost_total', {}), 3 * times)
    t.equal(get('a2a_gateway_build_info', { version: packageVersion() }), 1)
    t.equal(get('a2a_gateway_request_duration_seconds_count', { outcome: 'forwarded' }), 2 * times)
    t.equal(get('a2a_gateway_upstream_duration_seconds_sum', { agent: 'weather' }), 0.015 * times)
    t.equal(get('a2a_gateway_decision_duration_seconds_bucket', { le: '0.00001' }), 0)
    t.equal(get('a2a_gateway_decision_duration_seconds_bucket', { le: '0.000025' }), times)
  }
})

t.test('a histogram is cumulative, ends in +Inf and handles unusual numbers', async t => {
  const metrics = new Metrics({ process: false })
  for (const seconds of [0.001, 0.0011, 120, 121, -1, NaN, Infinity]) metrics.observe('upstream_duration_seconds', seconds, null, 'a', 'GetTask')
  const samples = parse(await metrics.text()).get('a2a_gateway_upstream_duration_seconds')?.samples ?? []
  const buckets = samples.filter(sample => sample.name.endsWith('_bucket')).map(sample => [sample.labels.le, sample.value])
  t.same(buckets, [
    ['0.001', 2], ['0.0025', 3], ['0.005', 3], ['0.01', 3], ['0.025', 3], ['0.05', 3], ['0.1', 3], ['0.25', 3], ['0.5', 3],
    ['1', 3], ['2.5', 3], ['5', 3], ['10', 3], ['30', 3], ['120', 4], ['+Inf', 5]
  ])
  t.equal(samples.find(sample => sample.name.endsWith('_count'))?.value, 5)
  t.equal(samples.find(sample => sample.name.endsWith('_sum'))?.value, 0.001 + 0.0011 + 120 + 121)
})

t.test('labels are bounded and escaped', async t => {
  const metrics = new Metrics({ process: false })
  ended(metrics, ['a"\\\nc', 'x'.repeat(201), 'JSONRPC', '1.0', 'rejected', 'http'], 1)
  ended(metrics, ['a"\\\nc', 'x'.repeat(300), 'JSONRPC', '1.0', 'rejected', 'http'], 1)
  const samples = parse(await metrics.text()).get('a2a_gateway_requests_total')?.samples ?? []
  t.equal(samples.length, 1, 'both are the same after the cut')
  t.equal(samples[0]?.value, 2)
  t.equal(samples[0]?.labels.operation, 'x'.repeat(200))
  t.equal(samples[0]?.labels.agent, 'a\\"\\\\\\nc')
})

t.test('at most 256 extensions have their own label, over all metrics', async t => {
  const metrics = new Metrics({ process: false })
  for (let i = 0; i < 200; i++) metrics.add('violations_total', 'a', `urn:v:${i}`, 'r', 'request', 'observe')
  for (let i = 0; i < 200; i++) metrics.add('activations_total', 'a', `urn:a:${i}`, 'gateway', 'absent')
  metrics.add('violations_total', 'a', 'urn:v:0', 'r', 'request', 'observe')
  const families = parse(await metrics.text())
  const violations = families.get('a2a_gateway_violations_total')?.samples ?? []
  const activations = families.get('a2a_gateway_activations_total')?.samples ?? []
  t.equal(violations.length, 200)
  t.equal(violations.find(sample => sample.labels.extension === 'urn:v:0')?.value, 2)
  t.equal(activations.length, 57)
  t.equal(activations.find(sample => sample.labels.extension === 'other')?.value, 200 - 56)
})

t.test('card age is read at the scrape; without an age there is no sample', async t => {
  const metrics = new Metrics({ process: false })
  let age: number | null = 1
  metrics.read('card_age_seconds', () => [['a', 99]])
  metrics.read('card_age_seconds', () => [['a', age], ['unknown', NaN]])
  metrics.read('card_usable', () => { throw new Error('no') })
  const samples = async (): Promise<Sample[]> => parse(await metrics.text()).get('a2a_gateway_card_age_seconds')?.samples ?? []
  t.same(await samples(), [{ name: 'a2a_gateway_card_age_seconds', labels: { agent: 'a' }, value: 1 }])
  age = 61.5
  t.equal((await samples())[0]?.value, 61.5)
  age = null
  t.same(await samples(), [])
})

t.test('only the configuration in force is shown', async t => {
  const metrics = new Metrics({ process: false })
  metrics.read('config_info', () => [['old', 1]])
  metrics.read('config_info', () => [['new', 1]])
  t.same(parse(await metrics.text()).get('a2a_gateway_config_info')?.samples, [
    { name: 'a2a_gateway_config_info', labels: { hash: 'new' }, value: 1 }
  ])
})

t.test('process metrics are included by default, and two instances are independent', async t => {
  const one = new Metrics()
  const two = new Metrics({ process: false })
  t.teardown(() => { one.close() })
  one.observe('decision_duration_seconds', 1, null, 'a')
  const text = await one.text()
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'process_open_fds',
    'nodejs_eventloop_lag_seconds',
    'nodejs_heap_size_used_bytes',
    'nodejs_version_info'
  ]) {
    t.ok(parse(text).has(name), name)
  }
  t.notOk((await two.text()).includes('agent="a"'))
  t.equal(one.contentType, 'text/plain; version=0.0.4; charset=utf-8')
  two.close()
  t.equal((await two.text()).trim(), '')
})

t.test('observed values are numbers, and counters only grow', async t => {
  const metrics = new Metrics({ process: false })
  for (const value of [5, -1, NaN, Infinity, 0]) {
    metrics.addAmount('observed_total', value, 'a', 'usage', 'tokens', 'other')
  }
  for (const value of [5, NaN, -2]) metrics.set('observed_value', value, 'a', 'usage', 'level', '')
  const families = parse(await metrics.text())
  t.same(families.get('a2a_gateway_observed_total')?.samples.map(one => one.value), [5])
  t.same(families.get('a2a_gateway_observed_value')?.samples.map(one => one.value), [-2])
})

t.test('tasks in an external store have no sample, and a failing store does not stop the scrape', async t => {
  const metrics = new Metrics({ process: false })
  const samples = async (): Promise<Sample[]> => parse(await metrics.text()).get('a2a_gateway_tasks_remembered')?.samples ?? []
  t.same(await samples(), [])
  metrics.read('tasks_remembered', () => 3)
  t.equal((await samples())[0]?.value, 3)
  metrics.read('tasks_remembered', () => null)
  t.same(await samples(), [])
  metrics.read('tasks_remembered', () => { throw new Error('closed') })
  t.same(await samples(), [])
})

t.test('a wrong value of a label, a missing label and a metric of another kind do not compile', async t => {
  const metrics = new Metrics({ process: false })
  // @ts-expect-error a value that the label never has
  metrics.add('task_lookups_total', 'a', 'lost')
  // @ts-expect-error no outcome
  metrics.add('task_lookups_total', 'a')
  // @ts-expect-error one label too many
  metrics.add('config_reloads_total', 'ok', 'b')
  // @ts-expect-error a gauge only grows through addAmount()
  t.throws(() => { metrics.add('requests_active', 'a') })
  // @ts-expect-error counted, and not read
  metrics.read('task_lookups_total', () => [['a', 'known', 1]])
  // @ts-expect-error a reading without the label
  metrics.read('card_usable', () => [[1]])
  // @ts-expect-error no outcome
  metrics.observe('request_duration_seconds', 1, null, 'a', 'GetTask')
  t.match(await metrics.text(), 'a2a_gateway_task_lookups_total{agent="a",outcome="lost"} 1')
})
