/** A real Prometheus server that scrapes one target every second. Needs the Debian package `prometheus`; fails without it. */
import type { Test } from 'tap'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import { freePort } from './http.js'

export const MISSING = 'not found: install the Debian package "prometheus" (apt-get install -y prometheus)'

export interface Sample { readonly metric: Record<string, string>, readonly value: [number, string] }
export interface Target { readonly health: string, readonly lastError: string, readonly scrapeUrl: string }

export interface Series { readonly metric: Record<string, string>, readonly values: [number, string][] }

export interface Prometheus {
  query (expression: string): Promise<Sample[]>
  /** Sends the query that Grafana sends for a graph. @param step seconds */
  range (expression: string, start: Date, end: Date, step: number): Promise<Series[]>
  /** The value of `data` in the response of `/api/v1/` + path. @throws Error with Prometheus's error message */
  api<T> (path: string): Promise<T>
  targets (): Promise<Target[]>
  metadata (): Promise<Record<string, Array<{ type: string, help: string }>>>
}

export interface PrometheusOptions {
  readonly job?: string
  /** Paths of files with rules. */
  readonly rules?: readonly string[]
  /** Further flags of the server. */
  readonly flags?: readonly string[]
}

/** Resolves after the first successful scrape. @param targets host:port, one or several */
export async function startPrometheus (
  t: Test,
  targets: string | readonly string[],
  { job = 'gateway', rules = [], flags = [] }: PrometheusOptions = {}
): Promise<Prometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'a2agw-prometheus-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const address = `127.0.0.1:${await freePort()}`
  const config = join(directory, 'prometheus.yml')
  await writeFile(
    config,
    `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }\nrule_files: ${JSON.stringify(rules.map(file => resolvePath(file)))}\nscrape_configs:\n  - job_name: ${job}\n    static_configs: [{ targets: ${JSON.stringify([targets].flat())} }]\n`
  )
  const server = spawn(
    'prometheus',
    [`--config.file=${config}`, `--storage.tsdb.path=${join(directory, 'data')}`, `--web.listen-address=${address}`, ...flags],
    { stdio: ['ignore', 'ignore', 'pipe'] }
  )
  let output = ''
  let failed: Error | null = null
  server.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  server.on('error', error => {
    failed = error
  })
  const gone = new Promise<void>(resolve => {
    server.on('close', () => resolve())
  })
  t.teardown(async () => {
    if (server.pid === undefined) return
    server.kill('SIGKILL')
    await gone
  })

  const get = async <T>(path: string): Promise<T> => {
    if (failed !== null) throw new Error(`prometheus ${MISSING}: ${String(failed)}`)
    const { data, error } = (await (await fetch(`http://${address}${path}`)).json()) as { data: T; error?: string }
    if (error !== undefined) throw new Error(error)
    return data
  }
  const range = async (expression: string, start: Date, end: Date, step: number): Promise<Series[]> =>
    (
      await get<{ result: Series[] }>(
        `/api/v1/query_range?query=${encodeURIComponent(expression)}&start=${start.toISOString()}&end=${end.toISOString()}&step=${step}`
      )
    ).result
  const query = async (expression: string): Promise<Sample[]> =>
    (await get<{ result: Sample[] }>(`/api/v1/query?query=${encodeURIComponent(expression)}`)).result

  await new Promise(resolve => setTimeout(resolve, 100))
  if (failed !== null) throw new Error(`prometheus ${MISSING}: ${String(failed)}`)
  try {
    await until('successful scrape', 30, async () => ((await query('up'))[0]?.value[1] === '1' ? true : null))
  } catch (error) {
    throw new Error(`${String(error)}\n${output}`)
  }
  return {
    query,
    range,
    api: path => get(`/api/v1/${path}`),
    targets: async () => (await get<{ activeTargets: Target[] }>('/api/v1/targets')).activeTargets,
    metadata: () => get('/api/v1/metadata')
  }
}

/** Calls `ask` until the result is not null. A failed call counts as null. */
export async function until<T> (what: string, seconds: number, ask: () => Promise<T | null>): Promise<T> {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const answer = await ask().catch(() => null)
    if (answer !== null) return answer
    if (Date.now() > end) throw new Error(`no ${what} within ${seconds} s`)
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
