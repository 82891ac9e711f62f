import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/helpers/http.js'
import type { Case } from '../bench.js'
import { interleave } from '../bench.js'
import { gatewayCommand } from '../parties/gateway.js'
import { family, lifetimeCpuSeconds, residentBytes, start, stop, until } from '../processes.js'

/** Time without calls before the memory is read, ms. */
const IDLE = 1_000
/** The reason of /readyz while the gateway serves nothing real yet, but has everything that it needs. */
const WARMING_UP = /warming up/

export const START: Case = {
  name: 'start',
  about: 'time and CPU from starting `serve` until /readyz returns 200, with an agent that responds; memory one second later',
  works: ['start to ready'],
  run: async bench => {
    const rows = await interleave(bench, 'start', [{ name: 'gateway', of: null }], async () => {
      const admin = `127.0.0.1:${await freePort()}`
      const command = gatewayCommand(bench.place, { name: 'start', admin })
      const begin = performance.now()
      const child = start(bench.place.nodes.shipped, command, { cores: bench.place.cores?.proxy })
      try {
        child.stdout?.resume()
        const since = (): number => performance.now() - begin
        let milliseconds: number | null = null
        await until(async () => {
          const state = await readiness(admin)
          if (state !== 'not ready') milliseconds ??= since()
          return state === 'ready'
        }, 'the gateway is ready')
        const ready = since()
        const pids = family(child.pid as number)
        const cpu = lifetimeCpuSeconds(pids) * 1_000
        await sleep(IDLE)
        return { milliseconds: milliseconds ?? ready, ready, cpu, idle: residentBytes(pids) }
      } finally {
        await stop(child)
      }
    })
    return [{ work: 'start to ready', rows }]
  }
}

async function readiness (admin: string): Promise<'not ready' | 'warming up' | 'ready'> {
  try {
    const response = await fetch(`http://${admin}/readyz`)
    const { reasons = [] } = await response.json() as { reasons?: readonly string[] }
    if (response.ok) return 'ready'
    return reasons.length > 0 && reasons.every(reason => WARMING_UP.test(reason)) ? 'warming up' : 'not ready'
  } catch {
    return 'not ready'
  }
}
