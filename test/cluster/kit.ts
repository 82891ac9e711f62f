/** A gateway of several processes, and load on it. */
import type { Test } from 'tap'
import { rpc, until } from '../helpers/http.js'
import type { Confines, ServedGateway } from '../helpers/serve.js'
import { serve } from '../helpers/serve.js'

export const REQUESTS = 'a2a_gateway_requests_total{agent="agent",operation="SendMessage"}'
export const COUNTED = 'a2a_gateway_request_duration_seconds_count{agent="agent",operation="SendMessage"}'

export interface Cluster extends ServedGateway {
  /** Process ids of the workers that serve, by their numbers. */
  workers (): Map<number, number>
}

/** @param size number of workers, which all serve */
export async function cluster (t: Test, yaml: string, confines: Confines = {}, size = 2): Promise<Cluster> {
  const gateway = await serve(t, yaml, { A2A_GATEWAY_WORKERS: String(size) }, confines)
  const workers = (): Map<number, number> => {
    const gone = new Set(gateway.said(/^worker \d+ ended/).map(line => line.of))
    return new Map(gateway.said(/^worker \d+ serves$/).filter(line => !gone.has(line.of)).map(line => [line.of ?? 0, line.pid ?? 0]))
  }
  t.teardown(() => { for (const pid of workers().values()) if (alive(pid)) process.kill(pid, 'SIGKILL') })
  await until(() => workers().size === size, 'all workers', 60_000)
  return { ...gateway, workers }
}

export function alive (pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export interface Load {
  /** Calls that have got the agent's answer. */
  readonly good: () => number
  /** What became of the others, and when they began, by the clock of `performance.now`. */
  readonly bad: { readonly began: number, readonly what: string }[]
  /** Ends when the calls in flight are over. */
  stop (): Promise<void>
}

/** Calls one after the other on as many connections at once, each call on a new one. */
export function load (url: string, atOnce = 8): Load {
  const ending = new AbortController()
  let good = 0
  const bad: { began: number, what: string }[] = []
  const loop = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const began = performance.now()
      try {
        const { status } = await rpc(url)
        if (status === 200) good++
        else bad.push({ began, what: String(status) })
      } catch (error) {
        bad.push({ began, what: String((error as NodeJS.ErrnoException).code ?? error) })
      }
    }
  }
  const loops = Array.from({ length: atOnce }, loop)
  return {
    good: () => good,
    bad,
    stop: async () => {
      ending.abort()
      await Promise.all(loops)
    }
  }
}

/** Until so many more calls have been answered. */
export async function more (calls: Load, count = 50): Promise<void> {
  const before = calls.good()
  await until(() => calls.good() >= before + count, `${count} more calls`, 60_000)
}
