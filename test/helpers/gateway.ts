/** A real gateway for tests, silent and on free ports, from a configuration written as YAML text. */
import { PassThrough } from 'node:stream'
import type { Test } from 'tap'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { startGateway } from '#server/start.js'
import { sampleIn } from './samples.js'
import type { Gateway } from '#server/about.js'

export interface TestGateway extends Gateway {
  /** Audit lines so far, parsed. */
  audits (): Record<string, unknown>[]
  /** Spans so far, parsed. Needs `telemetry.traces.enabled`, and `OTEL_TRACES_EXPORTER: console` in `env`. */
  spans (): Record<string, unknown>[]
  /** Log lines so far, parsed; empty unless the configuration sets a level. */
  logs (): Record<string, unknown>[]
  /** {@link sampleIn} of `/metrics`. */
  metric (selector: string): Promise<number>
}

export interface GatewayOptions {
  /** YAML below the root keys `version`, `server.listen` and `server.admin`; `agents:` at least. */
  readonly yaml: string
  readonly env?: NodeJS.ProcessEnv
  readonly baseDir?: string
}

/** One agent at `/`, in front of `upstream`, with extra keys of the agent as indented YAML lines. */
export function oneAgent (upstream: string, extra: readonly string[] = [], root: readonly string[] = []): string {
  return ['agents:', '  - name: agent', `    upstream: {url: "${upstream}"}`, ...extra.map(line => `    ${line}`), ...root].join('\n')
}

/** Starts the gateway, and closes it with the test. Fails when a card cannot be loaded within 30 s, unless `waitReady` is false. */
export async function gatewayFor (t: Test, options: GatewayOptions, waitReady = true): Promise<TestGateway> {
  const env = options.env ?? {}
  const config = configOf(options)
  const audit = new PassThrough()
  const logs = new PassThrough()
  const traces = new PassThrough()
  const auditText = collect(audit)
  const logText = collect(logs)
  const traceText = collect(traces)
  const gateway = await startGateway(config, { env, audit, logs, traces, processMetrics: false })
  t.teardown(() => gateway.close())
  if (waitReady) await ready(gateway.adminUrl)
  return {
    ...gateway,
    audits: () => parseLines(auditText()),
    logs: () => parseLines(logText()),
    spans: () => parseLines(traceText()),
    metric: async selector => sampleIn(await (await fetch(`${gateway.adminUrl}/metrics`)).text(), selector)
  }
}

/** The configuration that {@link gatewayFor} uses, for a configuration that replaces it later. */
export function configOf (options: GatewayOptions): Config {
  const loaded = parseConfig(withDefaults(options.yaml), {
    file: 'test.yaml',
    baseDir: options.baseDir ?? process.cwd(),
    env: options.env ?? {}
  })
  if (!loaded.ok) throw new Error(loaded.problems.map(formatDiagnostic).join('\n'))
  return loaded.config
}

function withDefaults (yaml: string): string {
  const parts = ['version: 1']
  if (!/^server:/m.test(yaml)) parts.push('server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms}')
  if (!/^telemetry:/m.test(yaml)) parts.push('telemetry: {logs: {level: silent}}')
  parts.push(yaml)
  return parts.join('\n')
}

async function ready (adminUrl: string): Promise<void> {
  for (const end = Date.now() + 30_000; ;) {
    const response = await fetch(`${adminUrl}/readyz`)
    const text = await response.text()
    if (response.ok) return
    if (Date.now() > end) throw new Error(`the gateway is not ready: ${text}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

function collect (stream: PassThrough): () => string {
  let text = ''
  stream.on('data', (chunk: Buffer) => { text += chunk.toString() })
  return () => text
}

function parseLines (text: string): Record<string, unknown>[] {
  return text.split('\n').filter(line => line !== '').map(line => JSON.parse(line) as Record<string, unknown>)
}
