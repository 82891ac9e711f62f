/**
 * A closed loop: every connection sends its next call when it has the response to the last one. The result is the maximum throughput of a
 * party.
 */
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import autocannon from 'autocannon'
import { which } from '../processes.js'

export interface ClosedLoad {
  /** The URL of all calls. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly connections: number
  readonly seconds: number
}

export interface ClosedResult {
  /** Calls whose response has a status of success. */
  readonly calls: number
  /** Calls with another status, without a response, or with a late response. */
  readonly bad: number
  readonly seconds: number
}

export type Tool = 'wrk' | 'autocannon'

export const toolInstalled = (): Tool => which('wrk') === null ? 'autocannon' : 'wrk'

export async function closedLoop (load: ClosedLoad, tool: Tool, directory: string): Promise<ClosedResult> {
  return tool === 'wrk' ? await withWrk(load, directory) : await withAutocannon(load)
}

/** Measures with wrk, which counts only whole seconds. */
async function withWrk ({ url, headers, body, connections, seconds }: ClosedLoad, directory: string): Promise<ClosedResult> {
  const script = join(directory, 'wrk.lua')
  const bodyFile = join(directory, 'wrk.body')
  writeFileSync(bodyFile, body)
  writeFileSync(script, [
    'wrk.method = "POST"',
    `wrk.body = io.open(${JSON.stringify(bodyFile)}, "rb"):read("*a")`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`),
    'function done (summary, latency, requests)',
    '  local e = summary.errors',
    '  print(string.format("RESULT %d %d %d", summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration))',
    'end'
  ].join('\n'))
  try {
    const { stdout } = await promisify(execFile)('wrk', [
      '-t1',
      `-c${connections}`,
      `-d${Math.max(1, Math.ceil(seconds))}s`,
      '--timeout',
      '30s',
      '-s',
      script,
      url
    ])
    const [, requests, bad, microseconds] = /^RESULT (\d+) (\d+) (\d+)$/m.exec(stdout) ?? []
    if (microseconds === undefined) throw new Error(`unexpected output of wrk: ${stdout}`)
    return { calls: Number(requests) - Math.min(Number(requests), Number(bad)), bad: Number(bad), seconds: Number(microseconds) / 1e6 }
  } finally {
    rmSync(script)
    rmSync(bodyFile)
  }
}

async function withAutocannon ({ url, headers, body, connections, seconds }: ClosedLoad): Promise<ClosedResult> {
  const result = await autocannon({ url, method: 'POST', headers, body, connections, duration: seconds })
  return { calls: result['2xx'], bad: result.non2xx + result.errors + result.timeouts, seconds: result.duration }
}
