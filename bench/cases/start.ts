import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from '../bench.js'
import { interleave } from '../bench.js'
import { gatewayCommand } from '../parties/gateway.js'
import { family, freePort, lifetimeCpuSeconds, residentBytes, start, stop, until } from '../processes.js'

/** Time without calls before the memory is read, ms. */
const IDLE = 1_000

export const START: Case = {
  name: 'start',
  about: 'time and CPU from starting `serve` until /readyz returns 200, with an agent that responds; resident memory one second later',
  works: ['start to ready'],
  run: async bench => {
    const rows = await interleave(bench, 'start', [{ name: 'gateway', of: null }], async () => {
      const admin = `127.0.0.1:${await freePort()}`
      const command = gatewayCommand(bench.place, { name: 'start', admin })
      const begin = performance.now()
      const child = start(process.execPath, command, { cores: bench.place.cores?.proxy })
      try {
        child.stdout?.resume()
        await until(() => fetch(`http://${admin}/readyz`).then(response => response.ok, () => false), 'the gateway is ready')
        const milliseconds = performance.now() - begin
        const pids = family(child.pid as number)
        const cpu = lifetimeCpuSeconds(pids) * 1_000
        await sleep(IDLE)
        return { milliseconds, cpu, idle: residentBytes(pids) }
      } finally {
        await stop(child)
      }
    })
    return [{ work: 'start to ready', rows }]
  }
}
