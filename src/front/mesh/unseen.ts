/** Warns of calls whose responses the proxy does not show, although policies are about them. One line for each agent and reason. */
import type { Log } from '../../telemetry/log.js'
import type { Exchange } from '../http/exchange.js'

export class Unseen {
  private readonly log: Log
  private readonly noted = new Set<string>()

  constructor (log: Log) {
    this.log = log
  }

  /** @param why a sentence about the set-up of the proxy */
  note ({ agentName, front }: Exchange, why: string): void {
    const key = `${agentName} ${front.name} ${why}`
    if (this.noted.has(key)) return
    this.noted.add(key)
    this.log.warn({ agent: agentName }, `agent ${agentName}: policies about responses have no effect: ${why}`)
  }
}
