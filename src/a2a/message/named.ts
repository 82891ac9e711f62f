/**
 * Detects requests without a message that name their task or their tenant ambiguously: twice with different values, or in a place that only
 * some agents read.
 */
import type { Call } from './call.js'
import type { FieldProblem } from '../fields.js'
import { addProblem, Fields, isSameField, mustBeCamelCase } from '../fields.js'
import { isObject } from '#wire/json/object.js'
import { membersOf } from '../members.js'
import type { Operation } from '../operations.js'
import { carriesMessage } from '../operations.js'
import { nameId, taskIdOfPath } from '../task-id.js'
import type { Binding } from '../versions.js'

/** Target of an HTTP+JSON request. */
export interface Address {
  /** Percent-encoded, without query. */
  readonly path: string
  /** Percent-encoded tenant of the path, or null. */
  readonly tenant: string | null
  /** With its leading `?`, or ''. */
  readonly query: string
}

const TASK_ID = ['taskId'] as const

/** Operations whose request names the task as `id`. The other operations on tasks name it as `taskId`. */
const OF_TASK: ReadonlySet<Operation> = new Set<Operation>(['GetTask', 'CancelTask', 'SubscribeToTask'])
const OF_CONFIG: ReadonlySet<Operation> = new Set<Operation>([
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig'
])

/**
 * Finds an ambiguous name.
 * @param address null for JSON-RPC and gRPC
 * @returns the first member that agents read differently, or null
 */
export function unclearName (call: Call, binding: Binding, address: Address | null): FieldProblem | null {
  if (call.operation === 'Other' || call.operation === 'Extension') return null
  if (address !== null && call.version === '1.0' && address.query !== '' && strayTenant(address)) {
    return { path: 'query tenant', message: 'is read by some agents only; send the tenant in the path' }
  }
  const stray = address === null || address.query === '' ? null : strayName(call.operation, address)
  if (stray !== null) return stray
  return call.view !== null || call.request === null || carriesMessage(call.operation) ? null : ofBody(call, binding, address)
}

/** True for a tenant in the query that differs from the tenant of the path. In the JavaScript SDK the query may even take precedence. */
function strayTenant ({ tenant, query }: Address): boolean {
  if (!/tenant|%/.test(query)) return false
  const ofPath = tenant === null ? null : decodeURIComponent(tenant)
  return new URLSearchParams(query).getAll('tenant').some(value => value !== '' && value !== ofPath)
}

/** Fields that name a task, a context, a configuration or a URL. */
const NAMES = ['id', 'taskId', 'contextId', 'name', 'parent', 'referenceTaskIds', 'configId', 'pushNotificationConfigId', 'url'] as const
/** Fields that hold a configuration for push notifications. */
const HOLDERS = ['pushNotificationConfig', 'taskPushNotificationConfig', 'pushNotification'] as const

/**
 * Finds a query parameter that names a task, a context or a URL, apart from the path and the body. Agents that transcode a query (AIP-127)
 * may read the parameter instead. A parameter that repeats a name of the path is harmless, and `contextId` belongs to a list of tasks.
 */
function strayName (operation: Operation, { path, query }: Address): FieldProblem | null {
  let segments: readonly string[] | null = null
  for (const [key, value] of new URLSearchParams(query)) {
    const steps = key.split(/[.[\]]+/).filter(step => step !== '')
    const last = steps.at(-1) ?? ''
    if (operation === 'ListTasks' && steps.length === 1 && isSameField(last, 'contextId')) continue
    const named = NAMES.find(name => isSameField(last, name)) ?? HOLDERS.find(name => isSameField(last, name))
    if (named === undefined || value === '') continue
    segments ??= path.split('/').map(decoded)
    const isRepeated = segments.includes(nameId(value) ?? value) || segments.join('/').endsWith(`/${value}`)
    if (isRepeated && steps.length === 1 && named !== 'url') continue
    const place = carriesMessage(operation) ? 'body' : 'path'
    const message = `names a task, a context or a URL apart from the ${place}, which some agents read instead; leave it out of the query`
    return { path: `query ${named}`, message }
  }
  return null
}

function decoded (segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function ofBody ({ operation, version, request }: Call, binding: Binding, address: Address | null): FieldProblem | null {
  if (request === null) return null
  const problems: FieldProblem[] = []
  const { taskRequest } = membersOf(version, binding)
  const fields = Fields.read(request.object, taskRequest, request.path, problems)
  if (version === '0.3' && binding === 'JSONRPC') mustBeCamelCase(fields, TASK_ID, problems)
  if (version === '0.3' && binding === 'GRPC') checkNames(fields, problems)
  const text = (name: string): string | null => fields.get(name) as string | null | undefined || null
  const differ = (name: string, id: string | null, other: string | null, than: string): void => {
    if (id !== null && other !== null && id !== other) {
      addProblem(problems, fields.pathOf(name), `names another task than ${than}; name it once`)
    }
  }
  if (problems.length === 0 && version === '0.3' && OF_CONFIG.has(operation)) differ('taskId', text('taskId'), text('id'), '"id"')
  if (problems.length === 0 && address !== null) {
    const ofPath = taskIdOfPath(operation, address.path)
    if (OF_TASK.has(operation)) differ('id', text('id'), ofPath, 'the path')
    else differ('taskId', text('taskId'), ofPath, 'the path')
    for (const name of ['name', 'parent'] as const) differ(name, nameId(fields.get(name)), ofPath, 'the path')
    const config = version === '0.3' ? request.object.config : undefined
    if (isObject(config)) differ('config', nameId(config.name), ofPath, 'the path')
    if (version === '1.0') checkTenant(operation, address.tenant, fields, problems)
  }
  return problems[0] ?? null
}

/**
 * Resource names of proto 0.3.0, `tasks/{id}`. The Go SDK finds `tasks/` anywhere in a name, the others at its beginning. Agents read the
 * task of a new configuration from `parent`, and some clients repeat the task in the configuration.
 */
function checkNames (fields: Fields, problems: FieldProblem[]): void {
  for (const name of ['name', 'parent'] as const) {
    const value = fields.get(name)
    if (typeof value === 'string' && value !== '' && nameId(value) === null) {
      addProblem(problems, fields.pathOf(name), 'is read differently by agents; begin it with "tasks/" and the id of the task')
    }
  }
  const config = fields.get('config')
  const named = isObject(config) ? nameId(config.name) : null
  const parent = nameId(fields.get('parent'))
  if (named !== null && parent !== null && named !== parent) {
    addProblem(problems, `${fields.pathOf('config')}.name`, 'names another task than "parent"; name it once')
  }
}

function checkTenant (operation: Operation, ofPath: string | null, fields: Fields, problems: FieldProblem[]): void {
  const tenant = fields.get('tenant')
  if (typeof tenant !== 'string' || tenant === '') return
  if (ofPath === null && operation === 'CreateTaskPushNotificationConfig') return
  if (ofPath === null || decodeURIComponent(ofPath) !== tenant) {
    addProblem(
      problems,
      fields.pathOf('tenant'),
      ofPath === null
        ? 'is read by some agents only; send the tenant in the path'
        : 'differs from the tenant of the request path; send the same tenant in both, or leave it out of the body'
    )
  }
}
