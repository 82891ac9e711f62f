/** Warns of calls whose responses the proxy does not show, although policies are about them. One line for each agent and reason. */
import type { Log } from '#telemetry/log.js'
import type { Exchange } from '#call/exchange.js'

export class Unseen {
  private readonly log: Log
  private readonly noted = new Set<string>()

  constructor (log: Log) {
    this.log = log
  }

  /** @param why a sentence about the set-up of the proxy */
  note ({ agentName, transport: { front } }: Exchange, why: string): void {
    if (this.isNew(`${agentName} ${front} ${why}`)) {
      this.log.warn({ agent: agentName }, `agent ${agentName}: policies about responses have no effect: ${why}`)
    }
  }

  /** Logs a warning that is not about one agent. */
  warnOnce (message: string): void {
    if (this.isNew(message)) this.log.warn({}, message)
  }

  private isNew (key: string): boolean {
    if (this.noted.has(key)) return false
    this.noted.add(key)
    return true
  }
}
