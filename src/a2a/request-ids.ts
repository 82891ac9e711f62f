/**
 * All tasks and contexts that a request names, in every place that an agent of either version may read. `taskIdOf` finds the one task that
 * the request is about; a check of access needs all of them.
 */
import { isObject } from '#wire/json/object.js'
import { Fields, FieldSet, isSameField } from './fields.js'
import { ANY } from './json-types.js'
import type { Call } from './message/call.js'
import type { RequestView } from './message/message.js'
import type { Operation } from './operations.js'
import { nameId, taskIdOfPath } from './task-id.js'

export interface NamedId {
  readonly kind: 'task' | 'context'
  readonly id: string
  /** Place in the request, for the client: `params.message.taskId`, `path`, `query contextId`. */
  readonly path: string
}

/** Target of an HTTP+JSON request. */
export interface IdAddress {
  /** Percent-encoded, without query. */
  readonly path: string
  /** With its leading `?`, or ''. */
  readonly query: string
}

/**
 * Where the request of an operation names tasks and contexts. `message`: in its message, and in its push notification configuration.
 * `task`: `id`, or `tasks/{id}` of `name`. `config`: `taskId`, or `tasks/{id}` of `name` and `parent`; 0.3 `id`. `list`: `contextId`.
 */
export const NAMING: Readonly<Record<Operation, 'message' | 'task' | 'config' | 'list' | 'nothing'>> = {
  SendMessage: 'message',
  SendStreamingMessage: 'message',
  GetTask: 'task',
  ListTasks: 'list',
  CancelTask: 'task',
  SubscribeToTask: 'task',
  CreateTaskPushNotificationConfig: 'config',
  GetTaskPushNotificationConfig: 'config',
  ListTaskPushNotificationConfigs: 'config',
  DeleteTaskPushNotificationConfig: 'config',
  GetExtendedAgentCard: 'nothing',
  // Their requests may have any form. A message in them is read.
  Other: 'nothing',
  Extension: 'nothing'
}

/** True for operations that have no meaning without a task. */
export function needsTask (operation: Operation): boolean {
  return NAMING[operation] === 'task' || NAMING[operation] === 'config'
}

const HOLDERS = ['pushNotificationConfig', 'pushNotification', 'taskPushNotificationConfig', 'config'] as const
/** `members.ts` defines the types; this set only serves lookups. */
const REQUEST = new FieldSet({
  id: ANY,
  taskId: ANY,
  contextId: ANY,
  name: ANY,
  parent: ANY,
  configuration: ANY,
  ...Object.fromEntries(HOLDERS.map(name => [name, ANY]))
})

/** Deepest nesting of configurations that A2A defines: `config.pushNotificationConfig`. */
const DEPTH = 3

/**
 * Returns every task and context of a request, each once.
 * @param address null for JSON-RPC
 * @param limit the search ends when it has found more
 */
export function idsOf (call: Call, address: IdAddress | null, limit: number): readonly NamedId[] {
  const collector = new IdCollector(limit)
  const { operation, request, version, view } = call
  if (view !== null) addMessage(view, collector)
  const naming = NAMING[operation]
  if (naming === 'nothing' || naming === 'message') return collector.ids
  const fields = request === null ? null : Fields.read(request.object, REQUEST, request.path, [])
  if (naming === 'list') {
    if (fields !== null) collector.add('context', fields.get('contextId'), fields.pathOf('contextId'))
    if (address !== null) addQuery(address.query, collector)
    return collector.ids
  }
  if (address !== null) collector.add('task', taskIdOfPath(operation, address.path), 'path')
  if (fields === null) return collector.ids
  if (naming === 'task') {
    collector.add('task', fields.get('id'), fields.pathOf('id'))
    collector.add('task', nameId(fields.get('name')), fields.pathOf('name'))
  } else {
    // 1.0: `id` is the id of the configuration.
    if (version === '0.3') collector.add('task', fields.get('id'), fields.pathOf('id'))
    addConfig(fields, collector, 0)
  }
  return collector.ids
}

class IdCollector {
  readonly ids: NamedId[] = []
  private readonly seen = new Set<string>()
  private readonly limit: number

  constructor (limit: number) {
    this.limit = limit
  }

  get full (): boolean {
    return this.ids.length > this.limit
  }

  /** ProtoJSON treats null and the empty string as absent. Other types are problems of the request. */
  add (kind: NamedId['kind'], id: unknown, path: string): void {
    if (typeof id !== 'string' || id === '' || this.full) return
    const key = `${kind} ${id}`
    if (this.seen.has(key)) return
    this.seen.add(key)
    this.ids.push({ kind, id, path })
  }
}

function addMessage ({ message, fields }: RequestView, idCollector: IdCollector): void {
  if (message !== null) {
    idCollector.add('task', message.fields.get('taskId'), message.fields.pathOf('taskId'))
    idCollector.add('context', message.fields.get('contextId'), message.fields.pathOf('contextId'))
    const others = message.fields.get('referenceTaskIds')
    if (Array.isArray(others)) {
      const path = message.fields.pathOf('referenceTaskIds')
      for (let i = 0; i < others.length && !idCollector.full; i++) idCollector.add('task', others[i], `${path}[${i}]`)
    }
  }
  const configuration = fields.get('configuration')
  if (isObject(configuration)) addConfig(Fields.read(configuration, REQUEST, fields.pathOf('configuration'), []), idCollector, 1)
}

/** A push notification configuration in a message may name another task than the message. */
function addConfig (fields: Fields, idCollector: IdCollector, depth: number): void {
  idCollector.add('task', fields.get('taskId'), fields.pathOf('taskId'))
  idCollector.add('task', nameId(fields.get('name')), fields.pathOf('name'))
  idCollector.add('task', nameId(fields.get('parent')), fields.pathOf('parent'))
  if (depth >= DEPTH) return
  for (const name of HOLDERS) {
    const inner = fields.get(name)
    if (isObject(inner)) addConfig(Fields.read(inner, REQUEST, fields.pathOf(name), []), idCollector, depth + 1)
  }
}

/** Agents differ in the spelling of parameters that they read, and in which one of several counts. */
function addQuery (query: string, idCollector: IdCollector): void {
  if (query === '') return
  for (const [name, value] of new URLSearchParams(query)) {
    if (isSameField(name, 'contextId')) idCollector.add('context', value, 'query contextId')
  }
}
