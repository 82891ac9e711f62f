/** Every operation that names a task or a context, in both versions and bindings. */
import type { Operation } from '#a2a/operations.js'
import { methodOfOperation } from '#a2a/operations.js'
import type { Binding, Version } from '#a2a/versions.js'

export interface TaskCall {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface Names { readonly task?: string, readonly context?: string, readonly reference?: string }

/** Places in which a request names a task or a context. */
export const PLACES = [
  ['SendMessage', 'task'],
  ['SendMessage', 'context'],
  ['SendMessage', 'reference'],
  ['SendMessage', 'push'],
  ['SendStreamingMessage', 'task'],
  ['SendStreamingMessage', 'context'],
  ['SendStreamingMessage', 'reference'],
  ['GetTask', 'task'],
  ['CancelTask', 'task'],
  ['SubscribeToTask', 'task'],
  ['ListTasks', 'context'],
  ['CreateTaskPushNotificationConfig', 'task'],
  ['GetTaskPushNotificationConfig', 'task'],
  ['ListTaskPushNotificationConfigs', 'task'],
  ['DeleteTaskPushNotificationConfig', 'task']
] as const satisfies readonly (readonly [Operation, 'task' | 'context' | 'reference' | 'push'])[]

export type Place = typeof PLACES[number]

/** Nobody listens there. */
const HOOK = 'http://127.0.0.1:9/a2a'

/** @param id of the task, or of the context in a place for one */
export function callIn ([operation, where]: Place, id: string, version: Version, binding: Binding): TaskCall {
  const headers = { 'content-type': 'application/json', 'a2a-version': version }
  const message = {
    messageId: 'm',
    role: version === '1.0' || binding === 'HTTP+JSON' ? 'ROLE_USER' : 'user',
    ...(version === '0.3' && binding === 'HTTP+JSON' ? { content: [{ text: 'hello' }] } : { parts: [version === '1.0' ? { text: 'hello' } : { kind: 'text', text: 'hello' }] }),
    ...(version === '0.3' && binding === 'JSONRPC' ? { kind: 'message' } : {}),
    ...(where === 'task' ? { taskId: id } : where === 'context' ? { contextId: id } : where === 'reference' ? { referenceTaskIds: [id] } : {})
  }
  const configuration = where === 'push'
    ? { configuration: { [version === '1.0' ? 'taskPushNotificationConfig' : 'pushNotificationConfig']: { taskId: id, url: HOOK } } }
    : {}
  const sends = operation === 'SendMessage' || operation === 'SendStreamingMessage'
  if (binding === 'JSONRPC') {
    const params = sends ? { message, ...configuration } : paramsOf(operation, id, version)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: methodOfOperation(operation, version), params })
    return { method: 'POST', path: '/a2a/jsonrpc', headers, body }
  }
  const base = version === '1.0' ? '/a2a/rest' : '/a2a/rest/v1'
  const [verb, path] = restOf(operation, encodeURIComponent(id))
  const body = sends ? { message, ...configuration } : operation === 'CreateTaskPushNotificationConfig' ? restConfig(id, version) : {}
  return { method: verb, path: base + path, headers, body: verb === 'POST' ? JSON.stringify(body) : null }
}

function paramsOf (operation: Operation, id: string, version: Version): object {
  switch (operation) {
    case 'ListTasks': return { contextId: id }
    case 'CreateTaskPushNotificationConfig':
      return version === '1.0' ? { taskId: id, id: 'c', url: HOOK } : { taskId: id, pushNotificationConfig: { id: 'c', url: HOOK } }
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      return version === '1.0' ? { taskId: id, id: 'c' } : { id, pushNotificationConfigId: 'c' }
    case 'ListTaskPushNotificationConfigs': return version === '1.0' ? { taskId: id } : { id }
    default: return { id }
  }
}

function restConfig (id: string, version: Version): object {
  return version === '1.0'
    ? { id: 'c', url: HOOK }
    : { parent: `tasks/${id}`, configId: 'c', config: { name: `tasks/${id}/pushNotificationConfigs/c`, pushNotificationConfig: { id: 'c', url: HOOK } } }
}

function restOf (operation: Operation, id: string): [verb: string, path: string] {
  switch (operation) {
    case 'SendMessage': return ['POST', '/message:send']
    case 'SendStreamingMessage': return ['POST', '/message:stream']
    case 'ListTasks': return ['GET', `/tasks?contextId=${id}`]
    case 'CancelTask': return ['POST', `/tasks/${id}:cancel`]
    case 'SubscribeToTask': return ['GET', `/tasks/${id}:subscribe`]
    case 'CreateTaskPushNotificationConfig': return ['POST', `/tasks/${id}/pushNotificationConfigs`]
    case 'ListTaskPushNotificationConfigs': return ['GET', `/tasks/${id}/pushNotificationConfigs`]
    case 'GetTaskPushNotificationConfig': return ['GET', `/tasks/${id}/pushNotificationConfigs/c`]
    case 'DeleteTaskPushNotificationConfig': return ['DELETE', `/tasks/${id}/pushNotificationConfigs/c`]
    default: return ['GET', `/tasks/${id}`]
  }
}

/** The response as a client sees it, without the date. */
export interface Seen { readonly status: number, readonly headers: readonly (readonly [string, string])[], readonly text: string }

/** Milliseconds after which a stream counts as read: the agent ends the stream of a paused task later. */
const STREAM = 1_000

/** @param credentials headers of the caller */
export async function callAs (url: string, call: TaskCall, credentials: Readonly<Record<string, string>>): Promise<Seen> {
  const { method, path, headers, body } = call
  const ending = new AbortController()
  const response = await fetch(url + path, {
    method,
    headers: { ...headers, ...credentials },
    signal: ending.signal,
    ...(body === null ? {} : { body })
  })
  const stream = response.headers.get('content-type') === 'text/event-stream'
  const timer = stream ? setTimeout(() => { ending.abort() }, STREAM) : null
  let text = ''
  try {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString()
  } catch (error) {
    if (!ending.signal.aborted) throw error
  }
  clearTimeout(timer ?? undefined)
  return { status: response.status, headers: [...response.headers].filter(([name]) => name !== 'date'), text }
}
