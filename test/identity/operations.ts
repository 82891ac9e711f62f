/** Each operation of A2A in each binding and version, as its client sends it to a card with interfaces at /rpc and /rest. */
import type { Operation } from '#a2a/operations.js'
import { methodOfOperation } from '#a2a/operations.js'
import type { Binding, Version } from '#a2a/versions.js'
import { MESSAGE, MESSAGE_03 } from '../helpers/http.js'

export interface OperationCall {
  readonly operation: Operation
  readonly binding: Binding
  readonly version: Version
  readonly method: string
  readonly path: string
  /** Flat list of names and values. */
  readonly headers: readonly string[]
  readonly body: string | null
}

const JSON_TYPE = ['content-type', 'application/json']
const OF_CONFIG = { id: 'c1', taskId: 't1', pushNotificationConfigId: 'c1' }
const CONFIG = { url: 'https://hooks.example.com/a' }

const PARAMS: Readonly<Partial<Record<Operation, object>>> = {
  GetTask: { id: 't1' },
  CancelTask: { id: 't1' },
  SubscribeToTask: { id: 't1' },
  CreateTaskPushNotificationConfig: { taskId: 't1', ...CONFIG },
  GetTaskPushNotificationConfig: OF_CONFIG,
  ListTaskPushNotificationConfigs: { taskId: 't1' },
  DeleteTaskPushNotificationConfig: OF_CONFIG
}
const PARAMS_03: Readonly<Partial<Record<Operation, object>>> = {
  ...PARAMS,
  CreateTaskPushNotificationConfig: { taskId: 't1', pushNotificationConfig: CONFIG },
  GetTaskPushNotificationConfig: { id: 't1', pushNotificationConfigId: 'c1' },
  ListTaskPushNotificationConfigs: { id: 't1' },
  DeleteTaskPushNotificationConfig: { id: 't1', pushNotificationConfigId: 'c1' }
}
const ROUTES: Readonly<Partial<Record<Operation, readonly [string, string]>>> = {
  SendMessage: ['POST', '/message:send'],
  SendStreamingMessage: ['POST', '/message:stream'],
  GetTask: ['GET', '/tasks/t1'],
  ListTasks: ['GET', '/tasks'],
  CancelTask: ['POST', '/tasks/t1:cancel'],
  SubscribeToTask: ['POST', '/tasks/t1:subscribe'],
  CreateTaskPushNotificationConfig: ['POST', '/tasks/t1/pushNotificationConfigs'],
  GetTaskPushNotificationConfig: ['GET', '/tasks/t1/pushNotificationConfigs/c1'],
  ListTaskPushNotificationConfigs: ['GET', '/tasks/t1/pushNotificationConfigs'],
  DeleteTaskPushNotificationConfig: ['DELETE', '/tasks/t1/pushNotificationConfigs/c1'],
  GetExtendedAgentCard: ['GET', '/extendedAgentCard']
}

export const ALL_OPERATIONS = Object.keys(ROUTES) as Operation[]

export const CALLS: readonly OperationCall[] = (['1.0', '0.3'] as const).flatMap(version => ALL_OPERATIONS.flatMap(operation => {
  const message = operation === 'SendMessage' || operation === 'SendStreamingMessage'
  const params = message ? { message: version === '1.0' ? MESSAGE : MESSAGE_03 } : (version === '1.0' ? PARAMS : PARAMS_03)[operation] ?? {}
  const stated = version === '1.0' ? ['a2a-version', '1.0'] : []
  const [method, route] = ROUTES[operation] as readonly [string, string]
  const path = version === '1.0' ? `/rest${route}` : `/rest/v1${route.replace('extendedAgentCard', 'card')}`
  const restBody = message
    ? { message: version === '1.0' ? MESSAGE : { messageId: 'm1', role: 'ROLE_USER', content: [{ text: 'hello' }] } }
    : operation === 'CreateTaskPushNotificationConfig' ? (version === '1.0' ? CONFIG : { config: { pushNotificationConfig: CONFIG } }) : null
  return [
    {
      operation,
      version,
      binding: 'JSONRPC' as const,
      method: 'POST',
      path: '/rpc',
      headers: [...JSON_TYPE, ...stated],
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: methodOfOperation(operation, version), params })
    },
    {
      operation,
      version,
      binding: 'HTTP+JSON' as const,
      method,
      path,
      headers: [...(restBody === null ? [] : JSON_TYPE), ...stated],
      body: restBody === null ? null : JSON.stringify(restBody)
    }
  ]
}))

export const nameOfCall = ({ operation, binding, version }: OperationCall): string => `${operation} ${binding} ${version}`
