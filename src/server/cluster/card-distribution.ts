/**
 * Which workers have the cards that the primary uses. The primary reads a card first. A worker that still prepares the card would respond
 * with 503 after `/readyz` has reported that the gateway is ready.
 */

/** Time that a worker gets to prepare a card, ms. After that, the other workers count: one slow worker must not end the service. */
const PATIENCE = 10_000

/** The parts of a WorkerHandle that matter here. */
interface Served {
  readonly leaving: boolean
  /** Time at which the listener of the worker opened, ms; null before. */
  readonly servingSince: number | null
  /** Names of the agents whose card the worker has. */
  readonly carded: Set<string>
}

export class CardDistribution {
  private readonly workers: () => Iterable<Served>
  private readonly now: () => number
  /** Time of the first handout of each agent that has a card, ms. */
  private readonly since = new Map<string, number>()

  /** @param now milliseconds of a clock that never steps back */
  constructor (workers: () => Iterable<Served>, now: () => number = () => performance.now()) {
    this.workers = workers
    this.now = now
  }

  /** @param usable false when the primary has no card of the agent that may be used */
  handedOut (agent: string, usable: boolean): void {
    if (!usable) {
      this.since.delete(agent)
      for (const worker of this.workers()) worker.carded.delete(agent)
    } else if (!this.since.has(agent)) this.since.set(agent, this.now())
  }

  /** True while a worker that serves prepares the card of the agent. */
  isOnItsWay (agent: string): boolean {
    const handed = this.since.get(agent)
    if (handed === undefined) return false
    const from = this.now() - PATIENCE
    for (const { leaving, servingSince, carded } of this.workers()) {
      if (!leaving && servingSince !== null && !carded.has(agent) && Math.max(servingSince, handed) > from) return true
    }
    return false
  }
}
