import type { Case } from '../bench.js'
import { interleave } from '../bench.js'
import { gatewayCommand } from '../parties/gateway.js'
import { freePort, start, stop, until } from '../processes.js'

export const START: Case = {
  name: 'start',
  about: 'time from starting `serve` until /readyz returns 200, with an agent that responds',
  run: async bench => {
    const rows = await interleave(bench, 'start', [{ name: 'gateway', of: null }], async () => {
      const admin = `127.0.0.1:${await freePort()}`
      const command = gatewayCommand(bench.place, { name: 'start', admin })
      const begin = performance.now()
      const child = start(process.execPath, command, { cores: bench.place.cores?.proxy })
      try {
        child.stdout?.resume()
        await until(() => fetch(`http://${admin}/readyz`).then(response => response.ok, () => false), 'the gateway is ready')
        return { milliseconds: performance.now() - begin }
      } finally {
        await stop(child)
      }
    })
    return [{ work: 'start to ready', rows }]
  }
}
