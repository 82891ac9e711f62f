/** Tasks whose last state is kept; the least recently changed is forgotten first. */
const TASKS = 10_000

/** Notices when tasks change their state, for the audit log of one process. */
export class TaskStates {
  private readonly states = new Map<string, string>()

  /**
   * Keeps the state of a task.
   * @returns the state before, null when none is known, or undefined when the task was in this state already
   */
  change (agent: string, taskId: string, state: string): string | null | undefined {
    const key = `${agent}\n${taskId}`
    const before = this.states.get(key)
    if (before === state) return undefined
    this.states.delete(key)
    this.states.set(key, state)
    if (this.states.size > TASKS) this.states.delete(this.states.keys().next().value as string)
    return before ?? null
  }
}
