/** Label values that come from cards. Each agent has its own quota, so that no agent turns the labels of another agent into `other`. */
import { clipLabel } from './labelled-values.js'

export class LabelShares {
  private readonly size: number
  /** Values by agent. The configuration bounds the number of agents. */
  private readonly shares = new Map<string, Set<string>>()

  constructor (size: number) {
    this.size = size
  }

  /** Returns the value to expose: the first values of each agent unchanged, then `other`. */
  label (agent: string, text: string): string {
    const value = clipLabel(text)
    let share = this.shares.get(agent)
    if (share === undefined) {
      share = new Set()
      this.shares.set(agent, share)
    }
    if (share.has(value)) return value
    if (share.size >= this.size) return 'other'
    share.add(value)
    return value
  }
}
