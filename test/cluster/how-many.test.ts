/** The number of workers, and the metrics that are added up over several processes. */
import { availableParallelism } from 'node:os'
import t from 'tap'
import { processors, workersOf } from '#server/cluster/how-many.js'
import { changesBetween } from '#agents/changes.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { lasting, mergeSnapshots } from '#telemetry/metrics/registry.js'
import { configOf, oneAgent } from '../helpers/gateway.js'
import { ended } from '../helpers/ended-request.js'

t.test('processors: by affinity, and by the limit of the container', async t => {
  const all = availableParallelism()
  const limited = (files: Record<string, string>): number => processors(file => files[file] ?? null)
  t.equal(limited({}), all)
  t.equal(limited({ '/sys/fs/cgroup/cpu.max': 'max 100000\n' }), all)
  t.equal(limited({ '/sys/fs/cgroup/cpu.max': '50000 100000\n' }), 1)
  t.equal(limited({ '/sys/fs/cgroup/cpu.max': '150000 100000\n' }), Math.min(2, all))
  t.equal(limited({ '/sys/fs/cgroup/cpu.max': '99900000 100000\n' }), all)
  t.equal(limited({ '/sys/fs/cgroup/cpu.max': 'nonsense' }), all)
  t.equal(limited({ '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n' }), 1)
  t.equal(limited({ '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n' }), all)
  t.equal(workersOf(3), 3)
  t.equal(workersOf('auto'), processors())
})

t.test('a change of the number of workers needs a restart', async t => {
  const config = (workers: string): ReturnType<typeof configOf> =>
    configOf({ yaml: `server: {workers: ${workers}}\n${oneAgent('http://127.0.0.1:1')}` })
  t.match(changesBetween(config('1'), config('auto'), []), { settings: [], needsRestart: ['server.workers'] })
})

t.test('counts are summed, common values are reported once, and counts of an ended process stay', async t => {
  const [primary, one, other] = [new Metrics({ serves: false }), new Metrics({ process: false }), new Metrics({ process: false })]
  primary.read('config_info', () => [['abc', 1]])
  primary.read('card_age_seconds', () => [['a', 7]])
  one.read('card_age_seconds', () => [['a', 9]])
  for (const metrics of [primary, one, other]) {
    metrics.read('requests_limit', () => [['a', 8]])
    metrics.read('streams_limit', () => [['a', 4]])
    metrics.read('card_max_stale_seconds', () => [['a', 60]])
    metrics.read('card_usable', () => [['a', 1]])
    metrics.read('cards_held', () => [['a', 1]])
    metrics.addAmount('trace_spans_lost_total', 1)
  }
  for (const metrics of [one, other]) {
    metrics.read('held_bytes', () => 1)
    metrics.read('held_limit_bytes', () => 10)
    ended(metrics, ['a', 'SendMessage', 'JSONRPC', '1.0', 'forwarded', 'http'], 0.02)
    metrics.addAmount('streams_active', 1, 'a')
  }
  one.set('observed_value', 5, 'a', 'x', 'v', '')
  other.set('observed_value', 3, 'a', 'x', 'v', '')
  const merged = async (...parts: Parameters<typeof mergeSnapshots>[0][number][]): Promise<string[]> =>
    (await mergeSnapshots([await primary.snapshot(), ...parts]).text()).split('\n').filter(line => !line.startsWith('#') && line !== '')
  const lines = await merged(await one.snapshot(), await other.snapshot())
  const has = (line: string): boolean => lines.includes(line)
  t.ok(has('a2a_gateway_requests_total{agent="a",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded",front="http"} 2'))
  t.ok(has('a2a_gateway_request_duration_seconds_bucket{agent="a",operation="SendMessage",outcome="forwarded",le="0.025"} 2'))
  t.ok(has('a2a_gateway_request_duration_seconds_bucket{agent="a",operation="SendMessage",outcome="forwarded",le="0.01"} 0'))
  t.ok(has('a2a_gateway_request_duration_seconds_bucket{agent="a",operation="SendMessage",outcome="forwarded",le="+Inf"} 2'))
  t.ok(has('a2a_gateway_request_duration_seconds_count{agent="a",operation="SendMessage",outcome="forwarded"} 2'))
  t.ok(has('a2a_gateway_streams_active{agent="a"} 2'))
  t.ok(has('a2a_gateway_streams_limit{agent="a"} 8'), 'of the two that serve')
  t.ok(has('a2a_gateway_requests_limit{agent="a"} 16'))
  t.ok(has('a2a_gateway_held_limit_bytes 20'))
  t.ok(has('a2a_gateway_card_usable{agent="a"} 1'))
  t.ok(has('a2a_gateway_card_max_stale_seconds{agent="a"} 60'))
  t.ok(has('a2a_gateway_config_last_reload_successful 1'))
  t.ok(has('a2a_gateway_trace_spans_lost_total 3'))
  t.equal(lines.filter(line => /^a2a_gateway_build_info\{version="[^"]+",node="[^"]+"\} 1$/.test(line)).length, 1)
  t.ok(has('a2a_gateway_config_info{hash="abc"} 1'))
  t.ok(has('a2a_gateway_card_age_seconds{agent="a"} 7'))
  t.ok(has('a2a_gateway_observed_value{agent="a",extension="x",metric="v",by=""} 5'))
  t.equal(lines.filter(line => line.startsWith('process_start_time_seconds ')).length, 1)

  const departed = await mergeSnapshots([[], lasting(await one.snapshot())]).snapshot()
  const later = await merged(departed, await other.snapshot())
  t.ok(
    later.includes('a2a_gateway_requests_total{agent="a",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded",front="http"} 2')
  )
  t.ok(later.includes('a2a_gateway_request_duration_seconds_count{agent="a",operation="SendMessage",outcome="forwarded"} 2'))
  t.ok(later.includes('a2a_gateway_streams_active{agent="a"} 1'))
})
