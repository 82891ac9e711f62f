/** Finds the task that a request names, and the tenant of the task. */
import type { Call } from './message/call.js'
import type { JsonObject } from '#wire/json/object.js'
import { Fields, FieldSet } from './fields.js'
import { ANY } from './json-types.js'
import type { Operation } from './operations.js'

/** `members.ts` defines the types, and `named.ts` checks them; this set only serves lookups. */
const REQUEST = new FieldSet({ id: ANY, taskId: ANY, name: ANY, parent: ANY, tenant: ANY })

const CONTEXT = new FieldSet({ contextId: ANY })

/**
 * Number of segments of an HTTP+JSON path after the task's id (spec 0.3.0 §3.5.6, 1.0.1 §5.3). The paths of other operations name no task.
 */
const AFTER_ID: ReadonlyMap<Operation, number> = new Map<Operation, number>([
  ['GetTask', 0],
  ['CancelTask', 0],
  ['SubscribeToTask', 0],
  ['CreateTaskPushNotificationConfig', 1],
  ['ListTaskPushNotificationConfigs', 1],
  ['GetTaskPushNotificationConfig', 2],
  ['DeleteTaskPushNotificationConfig', 2]
])

const ACTIONS: ReadonlyMap<Operation, string> = new Map<Operation, string>([['CancelTask', ':cancel'], ['SubscribeToTask', ':subscribe']])

/**
 * Returns the id of the task that a request names: `taskId` of its message; `id` of GetTask, CancelTask and SubscribeToTask; `taskId` of
 * the operations for push notification configurations (0.3: some name it `id`); `tasks/{id}` of `name` or `parent` as in proto 0.3.0.
 * @param path of the HTTP+JSON request, percent-encoded, without query. The path takes precedence over the body. Null for JSON-RPC.
 * @returns null when the request names none: the agent creates a task, or responds with several
 */
export function taskIdOf (call: Call, path: string | null): string | null {
  const { operation, request } = call
  const message = call.view?.message ?? null
  if (message !== null) return idText(message.fields.get('taskId'))
  const after = AFTER_ID.get(operation)
  if (after === undefined) return null
  const fromPath = path === null ? null : taskIdOfPath(operation, path)
  return fromPath ?? (request === null ? null : idOfParams(call, request.object, after === 0))
}

/** The task and the context that a request or a response names. */
export interface TaskNames { readonly taskId: string | null, readonly contextId: string | null }

export const NO_TASK_NAMES: TaskNames = { taskId: null, contextId: null }

/** Returns the task of `taskIdOf`, and the context of the message or of the tasks to list. */
export function namesOf (call: Call, path: string | null): TaskNames {
  const message = call.view?.message ?? null
  const contextId = message !== null
    ? idText(message.fields.get('contextId'))
    : call.operation === 'ListTasks' && call.request !== null
      ? idText(Fields.read(call.request.object, CONTEXT, '', []).get('contextId'))
      : null
  return { taskId: taskIdOf(call, path), contextId }
}

/** @param path percent-encoded, without query */
export function taskIdOfPath (operation: Operation, path: string): string | null {
  const after = AFTER_ID.get(operation)
  return after === undefined ? null : idOfPath(path, after, ACTIONS.get(operation))
}

function idOfPath (path: string, after: number, action: string | undefined): string | null {
  const segments = path.split('/')
  const at = segments.length - 1 - after
  const segment = segments[at] ?? ''
  if (segments[at - 1] !== 'tasks') return null
  return decoded(action !== undefined && segment.endsWith(action) ? segment.slice(0, -action.length) : segment)
}

function idOfParams (call: Call, params: JsonObject, isTask: boolean): string | null {
  const fields = Fields.read(params, REQUEST, '', [])
  const id = idText(fields.get('id'))
  const taskId = idText(fields.get('taskId'))
  const ofName = nameId(fields.get('name')) ?? nameId(fields.get('parent'))
  if (isTask) return id ?? ofName
  // 1.0: `id` is the id of the configuration.
  return taskId ?? (call.version === '0.3' ? id : null) ?? ofName
}

const NAME = /^tasks\/([^/]+)/

/** Returns the id in a resource name of proto 0.3.0, or null. */
export function nameId (name: unknown): string | null {
  return typeof name === 'string' ? NAME.exec(name)?.[1] ?? null : null
}

/**
 * Returns the tenant of the task: the tenant of the path, otherwise the tenant of the request's own body. Only 1.0 has tenants.
 * @param pathTenant percent-encoded, or null
 */
export function tenantOf (call: Call, pathTenant: string | null): string | null {
  if (call.version !== '1.0') return null
  if (pathTenant !== null) return decoded(pathTenant)
  if (call.view !== null) return call.view.tenant
  return call.request === null ? null : idText(Fields.read(call.request.object, REQUEST, '', []).get('tenant'))
}

function idText (value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function decoded (segment: string): string | null {
  try {
    return idText(decodeURIComponent(segment))
  } catch {
    return segment
  }
}
