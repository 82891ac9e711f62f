/**
 * Runs the tasks of the playground in one thread, one after the other, within limits of time and heap: policies come from the page. A
 * document must not read the environment of the gateway.
 */
import type { ThreadFailure, ThreadLimits } from '#task-thread.js'
import { TaskThread } from '#task-thread.js'
import type { PlaygroundTask } from './tasks.js'

export interface PlaygroundLimits extends ThreadLimits {
  /** Number of tasks that may wait. */
  readonly waiting: number
}

const LIMITS: PlaygroundLimits = { time: 10_000, heap: 256, idle: 30_000, waiting: 8 }

/** The task was not done, for a reason that the page can show. */
export class TaskRejected extends Error {
  /** 429: too many tasks wait. 422: the task exceeds a limit. */
  readonly status: 422 | 429

  constructor (status: 422 | 429, message: string) {
    super(message)
    this.status = status
  }
}

type Message = { readonly result: string } | { readonly error: string }

export class PlaygroundThread {
  private readonly limits: PlaygroundLimits
  private readonly thread: TaskThread<PlaygroundTask, Message>

  constructor (changed: Partial<PlaygroundLimits> = {}) {
    const limits = { ...LIMITS, ...changed }
    this.limits = limits
    this.thread = new TaskThread({
      name: 'playground',
      script: new URL('../../sandbox/thread.js', import.meta.url),
      limits,
      abortsRunning: false,
      errorFor: failure => failure instanceof Error ? failure : new TaskRejected(422, problemOf(failure, limits))
    })
  }

  /**
   * Runs a task.
   * @param signal aborts when nobody waits for the result any more
   * @returns the result as JSON
   * @throws TaskRejected when too many tasks wait, or when the task exceeds the limits
   */
  async run (task: PlaygroundTask, signal: AbortSignal): Promise<string> {
    if (this.thread.waiting >= this.limits.waiting) {
      throw new TaskRejected(429, 'the playground is busy with other requests; wait a moment')
    }
    const message = await this.thread.run(task, signal)
    if ('error' in message) throw new Error(message.error)
    return message.result
  }

  close (): void {
    this.thread.close()
  }
}

function problemOf (failure: ThreadFailure, { time, heap }: ThreadLimits): string {
  switch (failure) {
    case 'time':
      return `the evaluation takes more than ${time / 1_000} s; simplify the schemas of the policy, or replay fewer requests`
    case 'heap':
      return `the evaluation takes more than ${heap} MiB of memory; simplify the policy`
    case 'ended':
      return 'the playground was closed'
    case 'aborted':
      return 'no longer needed'
    case 'closed':
      return 'the gateway is shutting down'
  }
}
