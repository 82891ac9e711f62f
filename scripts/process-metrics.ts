/**
 * The metrics that prom-client reports about the process, for docs/reference/metrics.md. The set of metrics differs between systems, and
 * the page must not. A test compares this list with the registry on Linux.
 */

export interface ProcessMetric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly meaning: string
}

const gauge = (name: string, meaning: string, ...labels: string[]): ProcessMetric => ({ name, type: 'gauge', labels, meaning })
const counter = (name: string, meaning: string): ProcessMetric => ({ name, type: 'counter', labels: [], meaning })

export const PROCESS_METRICS: readonly ProcessMetric[] = [
  counter('process_cpu_user_seconds_total', 'user CPU time'),
  counter('process_cpu_system_seconds_total', 'system CPU time'),
  counter('process_cpu_seconds_total', 'both'),
  gauge('process_start_time_seconds', 'when the process started, seconds since 1970'),
  gauge('process_resident_memory_bytes', 'memory as the system counts it; monitor this one'),
  gauge('process_virtual_memory_bytes', 'address space; Linux'),
  gauge('process_heap_bytes', 'data segment; Linux'),
  gauge('process_open_fds', 'open file descriptors, including connections; Linux'),
  gauge('process_max_fds', 'maximum number of file descriptors; Linux'),
  gauge('nodejs_eventloop_lag_seconds', 'delay of the event loop at the scrape'),
  ...['min', 'max', 'mean', 'stddev'].map(name =>
    gauge(`nodejs_eventloop_lag_${name}_seconds`, `${name} of its delay since the last scrape`)
  ),
  ...[50, 90, 99].map(name => gauge(`nodejs_eventloop_lag_p${name}_seconds`, `percentile ${name} of its delay since the last scrape`)),
  gauge('nodejs_active_resources', 'resources that keep the event loop alive', 'type'),
  gauge('nodejs_active_resources_total', 'their total'),
  gauge('nodejs_active_handles', 'handles of libuv, including sockets', 'type'),
  gauge('nodejs_active_handles_total', 'their total'),
  gauge('nodejs_active_requests', 'requests of libuv', 'type'),
  gauge('nodejs_active_requests_total', 'their total'),
  gauge('nodejs_heap_size_total_bytes', 'heap of JavaScript'),
  gauge('nodejs_heap_size_used_bytes', 'used part of the heap'),
  gauge('nodejs_external_memory_bytes', 'memory of buffers outside the heap'),
  gauge('nodejs_heap_space_size_total_bytes', 'heap, by space', 'space'),
  gauge('nodejs_heap_space_size_used_bytes', 'used part of each space', 'space'),
  gauge('nodejs_heap_space_size_available_bytes', 'free part of each space', 'space'),
  gauge('nodejs_version_info', 'always 1', 'version', 'major', 'minor', 'patch'),
  {
    name: 'nodejs_gc_duration_seconds',
    type: 'histogram',
    labels: ['kind'],
    meaning: 'garbage collections; `kind` major, minor, incremental, weakcb'
  }
]
