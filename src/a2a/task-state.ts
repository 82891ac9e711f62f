/** States of a task, by the names of A2A 0.3 (spec 0.3.0 §6.3), which 1.0 writes as `TASK_STATE_INPUT_REQUIRED` (proto 1.0.1 TaskState). */

export const TASK_STATES = ['submitted', 'working', 'input-required', 'auth-required', 'completed', 'canceled', 'failed', 'rejected', 'unknown'] as const

export type TaskState = typeof TASK_STATES[number]

const KNOWN: ReadonlySet<string> = new Set(TASK_STATES)

/** Numbers of the enum in proto 1.0.1, which ProtoJSON readers accept for its names. */
const NUMBERS: readonly TaskState[] = ['unknown', 'submitted', 'working', 'completed', 'failed', 'canceled', 'input-required', 'rejected', 'auth-required']

/** @returns null for what is no state */
export function taskStateOf (value: unknown): TaskState | null {
  if (typeof value === 'number') return NUMBERS[value] ?? null
  if (typeof value !== 'string') return null
  const name = value.startsWith('TASK_STATE_') ? value.slice(11).toLowerCase().replaceAll('_', '-') : value
  // proto 0.3.0 writes CANCELLED; UNSPECIFIED is what is not said.
  if (name === 'cancelled') return 'canceled'
  if (name === 'unspecified') return 'unknown'
  return KNOWN.has(name) ? name as TaskState : null
}

const TERMINAL: ReadonlySet<TaskState> = new Set(['completed', 'canceled', 'failed', 'rejected'])

/** Whether a task in this state never changes again. */
export function isTerminal (state: TaskState | null): boolean {
  return state !== null && TERMINAL.has(state)
}
