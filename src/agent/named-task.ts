/** The task that a request is about, as it names it. */
import type { Call } from '../a2a/call.js'
import { carriesMessage } from '../a2a/operations.js'
import type { OperationRoute } from './steps.js'

/** Of HTTP+JSON: the operations on one task have its id in their path. */
const TASK_PATH = /\/tasks\/([^/]+?)(?::(?:cancel|subscribe))?(?:\/pushNotificationConfigs(?:\/[^/]*)?)?$/

/** @returns null where it names none */
export function namedTask (call: Call, route: OperationRoute): string | null {
  const { operation, view, request } = call
  if (carriesMessage(operation)) return text(view?.message?.fields.get('taskId'))
  if (operation === 'ListTasks' || operation === 'GetExtendedAgentCard' || operation === 'Extension') return null
  if (route.binding === 'HTTP+JSON') {
    const [, id] = TASK_PATH.exec(route.upstreamPath) ?? []
    return id === undefined ? null : decodeURIComponent(id)
  }
  if (operation === 'Other') return text(view?.message?.fields.get('taskId'))
  const object = request?.object ?? {}
  // 1.0 names the task of push notification configurations taskId, 0.3 id; 0.3 has taskId where one is created.
  return text(object.taskId) ?? text(object.task_id) ?? text(object.id)
}

function text (value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
