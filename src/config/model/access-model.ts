/** `access`: what callers may do with an agent. */
import type { CallerConfig } from './identity-model.js'

export interface AccessConfig {
  /** Null: the gateway does not know whose tasks are. */
  readonly tasks: TaskOwnershipConfig | null
}

/** A task belongs to the caller who created it. */
export interface TaskOwnershipConfig {
  /** Property of the caller that owns tasks, within its source. */
  readonly owner: 'subject' | 'client'
  /** `own`: contexts have owners too. */
  readonly contexts: 'own' | 'any'
  /** ListTasks: removes the tasks of others from the response, or is rejected. */
  readonly list: 'filter' | 'reject'
  /** Treatment of tasks and contexts without a known owner. */
  readonly onUnknown: 'reject' | 'allow'
  /** Callers who may use the tasks of everybody; null for none. */
  readonly shared: CallerConfig | null
}
