/** Requests about push notification configurations, in both versions and bindings. */
import { randomUUID } from 'node:crypto'
import type { Binding, Version } from '#a2a/versions.js'
import type { Seen, TaskCall } from './task-calls.js'
import { callAs } from './task-calls.js'

export interface PushForm { readonly binding: Binding, readonly version: Version }

export const PUSH_FORMS: readonly PushForm[] = [
  { binding: 'JSONRPC', version: '1.0' },
  { binding: 'JSONRPC', version: '0.3' },
  { binding: 'HTTP+JSON', version: '1.0' },
  { binding: 'HTTP+JSON', version: '0.3' }
]

export interface SentConfig { readonly id?: string, readonly url: string }

export function setConfig ({ binding, version }: PushForm, taskId: string, config: SentConfig): TaskCall {
  const old = version === '0.3'
  if (binding === 'JSONRPC') {
    return old
      ? rpc(version, 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig: config })
      : rpc(version, 'CreateTaskPushNotificationConfig', { taskId, ...config })
  }
  const name = `tasks/${taskId}/pushNotificationConfigs/${config.id ?? ''}`
  const body = old ? { name, pushNotificationConfig: config } : config
  return rest(version, 'POST', `/tasks/${taskId}/pushNotificationConfigs`, body)
}

export function deleteConfig ({ binding, version }: PushForm, taskId: string, id: string): TaskCall {
  const old = version === '0.3'
  if (binding !== 'JSONRPC') return rest(version, 'DELETE', `/tasks/${taskId}/pushNotificationConfigs/${id}`, null)
  return old
    ? rpc(version, 'tasks/pushNotificationConfig/delete', { id: taskId, pushNotificationConfigId: id })
    : rpc(version, 'DeleteTaskPushNotificationConfig', { taskId, id })
}

/** @param taskId null starts a task */
export function sendWith ({ binding, version }: PushForm, taskId: string | null, config: SentConfig, text = 'pause', stream = false): TaskCall {
  const old = version === '0.3'
  const rpcForm = binding === 'JSONRPC'
  const message = {
    messageId: randomUUID(),
    role: old && rpcForm ? 'user' : 'ROLE_USER',
    ...(old && rpcForm ? { kind: 'message', parts: [{ kind: 'text', text }] } : old ? { content: [{ text }] } : { parts: [{ text }] }),
    ...(taskId === null ? {} : { taskId })
  }
  const configuration = { [old ? 'pushNotificationConfig' : 'taskPushNotificationConfig']: config }
  const method = old ? (stream ? 'message/stream' : 'message/send') : stream ? 'SendStreamingMessage' : 'SendMessage'
  const body = { message, configuration }
  return rpcForm ? rpc(version, method, body) : rest(version, 'POST', stream ? '/message:stream' : '/message:send', body)
}

/** Sends without credentials. */
export function call (url: string, one: TaskCall): Promise<Seen> {
  return callAs(url, one, {})
}

function rpc (version: Version, method: string, params: object): TaskCall {
  return { method: 'POST', path: '/a2a/jsonrpc', headers: headersOf(version), body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
}

function rest (version: Version, method: string, path: string, body: object | null): TaskCall {
  const base = version === '0.3' ? '/a2a/rest/v1' : '/a2a/rest'
  return { method, path: base + path, headers: headersOf(version), body: body === null ? null : JSON.stringify(body) }
}

function headersOf (version: Version): TaskCall['headers'] {
  return { 'content-type': 'application/json', 'a2a-version': version }
}
