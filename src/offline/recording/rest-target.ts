/** Maps the request object of an operation to HTTP+JSON: verb, path, query, body. Spec 0.3.0 §3.5.6, 1.0.1 §5.3. */
import type { Version } from '#a2a/versions.js'
import type { JsonMap } from '#a2a/message/wire-spec.js'
import type { RequestSpec } from '../policy-test/test-model.js'

export interface RestTarget {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path below the interface's base. */
  readonly path: string
  readonly query: string
  /** Null when there is no body. */
  readonly body: JsonMap | null
}

type Named = NonNullable<RequestSpec['operation']>

/**
 * Builds the target.
 * @returns the target, or in words what the request object lacks
 */
export function restTarget (operation: Named, object: JsonMap, version: Version): RestTarget | string {
  const { method, segments, takes } = shapeOf(operation, version)
  const used = new Set<string>()
  const path: string[] = []
  for (const segment of segments) {
    if (typeof segment === 'string') {
      path.push(segment)
      continue
    }
    const key = segment.keys.find(name => typeof object[name] === 'string' && object[name] !== '')
    if (key === undefined) return `request.params needs ${segment.keys.join(' or ')}, which the path of ${operation} contains in HTTP+JSON`
    if (segment.drop) used.add(key)
    path.push(encodeURIComponent(object[key] as string) + segment.after)
  }
  const rest = Object.fromEntries(Object.entries(object).filter(([key]) => !used.has(key)))
  return {
    method,
    path: `/${path.join('/')}`,
    query: takes === 'query' ? queryOf(rest) : '',
    body: takes === 'body' ? rest : takes === 'some' && Object.keys(rest).length > 0 ? rest : null
  }
}

interface Id { readonly keys: readonly string[], readonly after: string, readonly drop: boolean }
/** The HTTP shape of an operation. takes `some`: the request has a body only when members are left after the path. */
interface Shape {
  readonly method: RestTarget['method']
  readonly segments: readonly (string | Id)[]
  readonly takes: 'body' | 'some' | 'query' | 'nothing'
}

function shapeOf (operation: Named, version: Version): Shape {
  const task = (after = '', drop = true): Id => ({ keys: ['id'], after, drop })
  const owner: Id = { keys: ['taskId', ...(version === '0.3' ? ['id'] : [])], after: '', drop: true }
  const config: Id = { keys: [version === '0.3' ? 'pushNotificationConfigId' : 'id'], after: '', drop: true }
  switch (operation) {
    case 'SendMessage':
      return { method: 'POST', segments: ['message:send'], takes: 'body' }
    case 'SendStreamingMessage':
      return { method: 'POST', segments: ['message:stream'], takes: 'body' }
    case 'GetTask':
      return { method: 'GET', segments: ['tasks', task()], takes: 'query' }
    case 'ListTasks':
      return { method: 'GET', segments: ['tasks'], takes: 'query' }
    case 'CancelTask':
      return { method: 'POST', segments: ['tasks', task(':cancel')], takes: 'some' }
    case 'SubscribeToTask':
      return { method: 'POST', segments: ['tasks', task(':subscribe')], takes: 'some' }
    case 'CreateTaskPushNotificationConfig':
      return { method: 'POST', segments: ['tasks', { ...owner, drop: false }, 'pushNotificationConfigs'], takes: 'body' }
    case 'GetTaskPushNotificationConfig':
      return { method: 'GET', segments: ['tasks', owner, 'pushNotificationConfigs', config], takes: 'nothing' }
    case 'ListTaskPushNotificationConfigs':
      return { method: 'GET', segments: ['tasks', owner, 'pushNotificationConfigs'], takes: 'query' }
    case 'DeleteTaskPushNotificationConfig':
      return { method: 'DELETE', segments: ['tasks', owner, 'pushNotificationConfigs', config], takes: 'nothing' }
    case 'GetExtendedAgentCard':
      return { method: 'GET', segments: [version === '0.3' ? 'card' : 'extendedAgentCard'], takes: 'query' }
  }
}

function queryOf (object: JsonMap): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(object)) {
    query.set(key, typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
