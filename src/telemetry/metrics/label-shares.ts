/** Label values that come from cards: so many for each agent, so that no agent turns the labels of another into `other`. */
import { clipLabel } from './labelled-values.js'

export class LabelShares {
  private readonly size: number
  /** By agent; agents come from the configuration, which bounds them. */
  private readonly shares = new Map<string, Set<string>>()

  constructor (size: number) {
    this.size = size
  }

  /** The value to expose: the first ones of each agent as they are, then `other`. */
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
