/** Counts the calls of one agent in flight. An agent that replaces another agent continues with its numbers. */
import type { AgentConfig } from '#config/model/model.js'

export class ConcurrencyLimit {
  /** Calls in flight, other than streams. */
  requests = 0
  streams = 0

  /** Counts a call. Each `true` is followed by one `leave`. @returns false when the limit is reached */
  enter (stream: boolean, limits: AgentConfig['concurrency']): boolean {
    if (stream ? this.streams >= limits.streams : this.requests >= limits.requests) return false
    if (stream) this.streams++
    else this.requests++
    return true
  }

  leave (stream: boolean): void {
    if (stream) this.streams--
    else this.requests--
  }
}
