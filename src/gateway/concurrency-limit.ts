/** What one agent has under way. An agent that takes the place of another goes on with its numbers. */
import type { Operation } from '../a2a/operations.js'
import type { AgentConfig } from '../config/model/model.js'

const STREAMS: ReadonlySet<string> = new Set<Operation>(['SendStreamingMessage', 'SubscribeToTask'])

/** By the operation, which is known before the agent is asked; what it answers with may be something else. */
export function isStreaming (operation: string): boolean {
  return STREAMS.has(operation)
}

export class ConcurrencyLimit {
  /** Calls under way, other than streams. */
  requests = 0
  streams = 0

  /** Each `true` is followed by one `leave`. @returns false when as many are under way as may be */
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
