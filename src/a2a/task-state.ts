/** States of a task, by the names of A2A 0.3 (spec 0.3.0 §6.3). 1.0 writes them as `TASK_STATE_INPUT_REQUIRED` (proto 1.0.1 TaskState). */

export const TASK_STATES = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'unknown'
] as const

export type TaskState = typeof TASK_STATES[number]

const KNOWN: ReadonlySet<string> = new Set(TASK_STATES)

/** States by their number in the enum of proto 1.0.1. ProtoJSON readers accept numbers for names. */
const NUMBERS: readonly TaskState[] = [
  'unknown',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required'
]

/** @returns null when the value is no state */
export function taskStateOf (value: unknown): TaskState | null {
  if (typeof value === 'number') return NUMBERS[value] ?? null
  if (typeof value !== 'string') return null
  const name = value.startsWith('TASK_STATE_') ? value.slice(11).toLowerCase().replaceAll('_', '-') : value
  // proto 0.3.0 writes CANCELLED. UNSPECIFIED means that the state is not stated.
  if (name === 'cancelled') return 'canceled'
  if (name === 'unspecified') return 'unknown'
  return KNOWN.has(name) ? name as TaskState : null
}

/**
 * True when the value names a state as its generation and binding write it.
 * @param proto true for ProtoJSON: `TASK_STATE_WORKING`, or the number of the state
 * @param plain true for the names of 0.3: `working`
 */
export function isStateName (value: unknown, proto: boolean, plain: boolean): boolean {
  if (typeof value !== 'string') return proto && taskStateOf(value) !== null
  if (value.startsWith('TASK_STATE_')) return proto && value === value.toUpperCase() && taskStateOf(value) !== null
  return plain && KNOWN.has(value)
}

const TERMINAL: ReadonlySet<TaskState> = new Set(['completed', 'canceled', 'failed', 'rejected'])

/** True when a task in this state never changes again. */
export function isTerminal (state: TaskState | null): boolean {
  return state !== null && TERMINAL.has(state)
}
