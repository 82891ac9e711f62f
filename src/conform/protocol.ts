/** The operations of A2A in each binding and version: methods, routes, requests, and the response that the scripted agent gives. */
import { varint } from '#wire/protobuf/varint.js'
import { byteField, varintField } from '#wire/protobuf/write.js'
import type { CaseRequest, GrpcRequest, HttpRequest, Line, Script, Transport, Version } from './model.js'
import { CALL } from './model.js'

/** Names of ACTS. */
export const OPERATIONS = [
  'send_message', 'send_streaming_message', 'get_task', 'list_tasks', 'cancel_task', 'subscribe_to_task', 'create_push_config',
  'get_push_config', 'list_push_configs', 'delete_push_config', 'get_extended_agent_card'
] as const
export type Operation = (typeof OPERATIONS)[number]

interface Names {
  readonly method: string
  /** Null: JSON-RPC of 0.3 does not have the operation. */
  readonly method03: string | null
  readonly verb: string
  readonly path: string
  readonly path03: string
  readonly rpc: string
  readonly rpc03: string | null
}

const NAMES: Readonly<Record<Operation, Names>> = {
  send_message: {
    method: 'SendMessage', method03: 'message/send', verb: 'POST', path: '/message:send', path03: '/v1/message:send', rpc: 'SendMessage', rpc03: 'SendMessage'
  },
  send_streaming_message: {
    method: 'SendStreamingMessage', method03: 'message/stream', verb: 'POST', path: '/message:stream', path03: '/v1/message:stream', rpc: 'SendStreamingMessage', rpc03: 'SendStreamingMessage'
  },
  get_task: {
    method: 'GetTask',
    method03: 'tasks/get',
    verb: 'GET',
    path: `/tasks/${CALL}`,
    path03: `/v1/tasks/${CALL}`,
    rpc: 'GetTask',
    rpc03: 'GetTask'
  },
  list_tasks: {
    method: 'ListTasks', method03: null, verb: 'GET', path: `/tasks?contextId=${CALL}`, path03: `/v1/tasks?contextId=${CALL}`, rpc: 'ListTasks', rpc03: null
  },
  cancel_task: {
    method: 'CancelTask', method03: 'tasks/cancel', verb: 'POST', path: `/tasks/${CALL}:cancel`, path03: `/v1/tasks/${CALL}:cancel`, rpc: 'CancelTask', rpc03: 'CancelTask'
  },
  subscribe_to_task: {
    method: 'SubscribeToTask', method03: 'tasks/resubscribe', verb: 'POST', path: `/tasks/${CALL}:subscribe`, path03: `/v1/tasks/${CALL}:subscribe`, rpc: 'SubscribeToTask', rpc03: 'TaskSubscription'
  },
  create_push_config: {
    method: 'CreateTaskPushNotificationConfig',
    method03: 'tasks/pushNotificationConfig/set',
    verb: 'POST',
    path: `/tasks/${CALL}/pushNotificationConfigs`,
    path03: `/v1/tasks/${CALL}/pushNotificationConfigs`,
    rpc: 'CreateTaskPushNotificationConfig',
    rpc03: 'CreateTaskPushNotificationConfig'
  },
  get_push_config: {
    method: 'GetTaskPushNotificationConfig',
    method03: 'tasks/pushNotificationConfig/get',
    verb: 'GET',
    path: `/tasks/${CALL}/pushNotificationConfigs/c1`,
    path03: `/v1/tasks/${CALL}/pushNotificationConfigs/c1`,
    rpc: 'GetTaskPushNotificationConfig',
    rpc03: 'GetTaskPushNotificationConfig'
  },
  list_push_configs: {
    method: 'ListTaskPushNotificationConfigs',
    method03: 'tasks/pushNotificationConfig/list',
    verb: 'GET',
    path: `/tasks/${CALL}/pushNotificationConfigs`,
    path03: `/v1/tasks/${CALL}/pushNotificationConfigs`,
    rpc: 'ListTaskPushNotificationConfigs',
    rpc03: 'ListTaskPushNotificationConfig'
  },
  delete_push_config: {
    method: 'DeleteTaskPushNotificationConfig',
    method03: 'tasks/pushNotificationConfig/delete',
    verb: 'DELETE',
    path: `/tasks/${CALL}/pushNotificationConfigs/c1`,
    path03: `/v1/tasks/${CALL}/pushNotificationConfigs/c1`,
    rpc: 'DeleteTaskPushNotificationConfig',
    rpc03: 'DeleteTaskPushNotificationConfig'
  },
  get_extended_agent_card: {
    method: 'GetExtendedAgentCard', method03: 'agent/getAuthenticatedExtendedCard', verb: 'GET', path: '/extendedAgentCard', path03: '/v1/card', rpc: 'GetExtendedAgentCard', rpc03: 'GetAgentCard'
  }
}

/** The webhook of push configurations. No test sends anything there. */
export const WEBHOOK = 'https://webhook.example.com/a2a'

/** True when the operation exists in the binding and version. */
export function hasOperation (operation: Operation, transport: Transport, version: Version): boolean {
  if (version === '1.0') return true
  const { method03, rpc03 } = NAMES[operation]
  return transport === 'jsonrpc' ? method03 !== null : transport === 'grpc' ? rpc03 !== null : true
}

/** The HTTP header that names the version. Clients of 0.3 send none. */
export function versionLines (version: Version): Line[] {
  return version === '1.0' ? [['A2A-Version', '1.0']] : []
}

/** The client's message: `extra` are further members, as JSON text that begins with a comma. */
export function messageText (version: Version, transport: Transport, text = 'Hello', extra = ''): string {
  const string = JSON.stringify(text)
  if (version === '1.0') return `{"messageId":"${CALL}","role":"ROLE_USER","parts":[{"text":${string}}]${extra}}`
  return transport === 'rest'
    ? `{"messageId":"${CALL}","role":"ROLE_USER","content":[{"text":${string}}]${extra}}`
    : `{"kind":"message","messageId":"${CALL}","role":"user","parts":[{"kind":"text","text":${string}}]${extra}}`
}

/** The parameters of an operation in JSON-RPC, or the body in HTTP+JSON, as text. Null: none. */
export function parametersText (operation: Operation, transport: Transport, version: Version): string | null {
  const id = version === '1.0' ? `"taskId":"${CALL}"` : `"id":"${CALL}"`
  const config = version === '1.0' ? '"id":"c1"' : '"pushNotificationConfigId":"c1"'
  switch (operation) {
    case 'send_message':
    case 'send_streaming_message': return `{"message":${messageText(version, transport)}}`
    case 'list_tasks': return `{"contextId":"${CALL}"}`
    case 'create_push_config': {
      if (version === '1.0') return `{"taskId":"${CALL}","id":"c1","url":"${WEBHOOK}"}`
      return transport === 'rest'
        ? `{"config":{"name":"tasks/${CALL}/pushNotificationConfigs/c1","pushNotificationConfig":{"id":"c1","url":"${WEBHOOK}"}}}`
        : `{"taskId":"${CALL}","pushNotificationConfig":{"id":"c1","url":"${WEBHOOK}"}}`
    }
    case 'get_push_config':
    case 'delete_push_config': return `{${id},${config}}`
    case 'list_push_configs': return `{${id}}`
    case 'get_extended_agent_card': return null
    default: return `{"id":"${CALL}"}`
  }
}

/** Headers of a call without a body that names it: the agent finds the call by them. */
const NAMED: Line = ['Conform-Call', CALL]

/** The request of an operation, as an ordinary client sends it. */
export function requestOf (operation: Operation, transport: Transport, version: Version): CaseRequest {
  return transport === 'grpc' ? grpcRequest(operation, version) : httpRequest(operation, transport, version)
}

export function httpRequest (operation: Operation, transport: Transport, version: Version): HttpRequest {
  const names = NAMES[operation]
  const parameters = parametersText(operation, transport, version)
  const streams = operation === 'send_streaming_message' || operation === 'subscribe_to_task'
  const accept: Line = ['Accept', streams ? 'text/event-stream' : 'application/json']
  if (transport === 'jsonrpc') {
    const method = version === '1.0' ? names.method : names.method03 as string
    const body = `{"jsonrpc":"2.0","id":"${CALL}","method":"${method}"${parameters === null ? '' : `,"params":${parameters}`}}`
    return {
      kind: 'http', method: 'POST', target: '', headers: [['Content-Type', 'application/json'], accept, ...versionLines(version)], body
    }
  }
  const hasBody = operation.startsWith('send') || operation === 'create_push_config'
  const type: Line[] = hasBody ? [['Content-Type', version === '1.0' ? 'application/a2a+json' : 'application/json']] : []
  const named = operation === 'get_extended_agent_card' ? [NAMED] : []
  return {
    kind: 'http',
    method: names.verb,
    target: version === '1.0' ? names.path : names.path03,
    headers: [...type, accept, ...versionLines(version), ...named],
    body: hasBody ? parameters : null
  }
}

/** The message of a result, as the agent sends it. */
export function taskText (version: Version, transport: Transport, extra = ''): string {
  const proto = version === '1.0' || transport === 'rest'
  const head = `"id":"${CALL}","contextId":"context-1","status":{"state":"${proto ? 'TASK_STATE_COMPLETED' : 'completed'}"}`
  return proto ? `{${head}${extra}}` : `{"kind":"task",${head}${extra}}`
}

/** Wraps a result as the binding does. */
export function resultText (transport: Transport, result: string): string {
  return transport === 'jsonrpc' ? `{"jsonrpc":"2.0","id":"${CALL}","result":${result}}` : result
}

export function jsonType (transport: Transport, version: Version): string {
  return transport === 'rest' && version === '1.0' ? 'application/a2a+json' : 'application/json'
}

/** The events of a stream, each with its blank line. */
export function eventTexts (transport: Transport, version: Version): string[] {
  return eventData(transport, version).map(data => `data: ${resultText(transport, data)}\n\n`)
}

function eventData (transport: Transport, version: Version): string[] {
  const ids = `"taskId":"${CALL}","contextId":"context-1"`
  if (version === '1.0' || transport === 'rest') {
    return [
      `{"task":{"id":"${CALL}","contextId":"context-1","status":{"state":"TASK_STATE_WORKING"}}}`,
      `{"artifactUpdate":{${ids},"artifact":{"artifactId":"a1","${version === '1.0' ? 'parts":[{"text":"one"}]' : 'parts":[{"text":"one"}]'}}}}`,
      `{"statusUpdate":{${ids},"status":{"state":"TASK_STATE_COMPLETED"}${version === '1.0' ? '' : ',"final":true'}}}`
    ]
  }
  return [
    `{"kind":"task","id":"${CALL}","contextId":"context-1","status":{"state":"working"}}`,
    `{"kind":"artifact-update",${ids},"artifact":{"artifactId":"a1","parts":[{"kind":"text","text":"one"}]}}`,
    `{"kind":"status-update",${ids},"status":{"state":"completed"},"final":true}`
  ]
}

/** What the agent sends for an operation. `card` is the text of the extended card. */
export function responseOf (operation: Operation, transport: Transport, version: Version, card = '{}'): Script {
  if (transport === 'grpc') return grpcResponse(operation, version)
  if (operation === 'send_streaming_message' || operation === 'subscribe_to_task') {
    return {
      status: 200, headers: [['Content-Type', 'text/event-stream'], ['Cache-Control', 'no-cache']], pieces: eventTexts(transport, version)
    }
  }
  const result = resultOf(operation, transport, version, card)
  return { status: 200, headers: [['Content-Type', jsonType(transport, version)]], pieces: [resultText(transport, result)] }
}

function resultOf (operation: Operation, transport: Transport, version: Version, card: string): string {
  const task = taskText(version, transport)
  const config = version === '1.0'
    ? `{"taskId":"${CALL}","id":"c1","url":"${WEBHOOK}"}`
    : transport === 'rest'
      ? `{"name":"tasks/${CALL}/pushNotificationConfigs/c1","pushNotificationConfig":{"id":"c1","url":"${WEBHOOK}"}}`
      : `{"taskId":"${CALL}","pushNotificationConfig":{"id":"c1","url":"${WEBHOOK}"}}`
  switch (operation) {
    case 'send_message': return version === '1.0' || transport === 'rest' ? `{"task":${task}}` : task
    case 'list_tasks': return `{"tasks":[${task}],"nextPageToken":"","pageSize":1,"totalSize":1}`
    case 'create_push_config':
    case 'get_push_config': return config
    case 'list_push_configs': return version === '1.0' || transport === 'rest' ? `{"configs":[${config}]}` : `[${config}]`
    case 'delete_push_config': return transport === 'rest' || version === '1.0' ? '{}' : 'null'
    case 'get_extended_agent_card': return card
    default: return task
  }
}

/** A message of protocol buffers: fields with their numbers. */
export function pb (...fields: ReadonlyArray<readonly [number: number, value: string | number | Buffer]>): Buffer {
  return Buffer.concat(fields.map(([number, value]) => typeof value === 'number' ? varintField(number, value) : byteField(number, value)))
}

/** A field with a number that no message of A2A has. */
export const UNKNOWN_FIELD = Buffer.concat([varint(1_999 * 8), varint(7)])

const SERVICE: Readonly<Record<Version, string>> = { '1.0': 'lf.a2a.v1.A2AService', 0.3: 'a2a.v1.A2AService' }
const base64 = (bytes: Buffer): string => bytes.toString('base64')

/** The path of an operation in gRPC. */
export function grpcPath (operation: Operation, version: Version): string {
  const { rpc, rpc03 } = NAMES[operation]
  return `/${SERVICE[version]}/${version === '1.0' ? rpc : rpc03 ?? rpc}`
}

/** `Message` of either version: the numbers are the same. */
export const grpcMessage = (text = 'Hello'): Buffer => pb([1, CALL], [4, 1], [5, pb([1, text])])

export function grpcRequest (operation: Operation, version: Version): GrpcRequest {
  const named: Line[] = operation === 'get_extended_agent_card' ? [['conform-call', CALL]] : []
  return {
    kind: 'grpc',
    path: grpcPath(operation, version),
    metadata: [...version === '1.0' ? [['a2a-version', '1.0'] as const] : [], ...named],
    messages: [base64(grpcParameters(operation, version))]
  }
}

function grpcParameters (operation: Operation, version: Version): Buffer {
  const task = `tasks/${CALL}`
  const config = `${task}/pushNotificationConfigs/c1`
  switch (operation) {
    case 'send_message':
    case 'send_streaming_message': return version === '1.0' ? pb([2, grpcMessage()]) : pb([1, grpcMessage()])
    case 'list_tasks': return pb([2, CALL])
    case 'create_push_config': return version === '1.0'
      ? pb([2, 'c1'], [3, CALL], [4, WEBHOOK])
      : pb([1, task], [2, 'c1'], [3, pb([1, config], [2, pb([1, 'c1'], [2, WEBHOOK])])])
    case 'get_push_config':
    case 'delete_push_config': return version === '1.0' ? pb([2, CALL], [3, 'c1']) : pb([1, config])
    case 'list_push_configs': return version === '1.0' ? pb([1, CALL]) : pb([1, task])
    case 'get_extended_agent_card': return Buffer.alloc(0)
    default: return version === '1.0' ? pb([2, CALL]) : pb([1, task])
  }
}

/** `Task` with a state: 2 working, 3 completed. */
export const grpcTask = (state = 3): Buffer => pb([1, CALL], [2, 'context-1'], [3, pb([1, state])])

function grpcResponse (operation: Operation, version: Version): Script {
  const config = version === '1.0'
    ? pb([2, 'c1'], [3, CALL], [4, WEBHOOK])
    : pb([1, `tasks/${CALL}/pushNotificationConfigs/c1`], [2, pb([1, 'c1'], [2, WEBHOOK])])
  const of = (...messages: Buffer[]): Script => ({ pieces: messages.map(base64), trailers: [['grpc-status', '0']] })
  switch (operation) {
    case 'send_message': return of(pb([1, grpcTask()]))
    case 'send_streaming_message':
    case 'subscribe_to_task': return of(
      pb([1, grpcTask(2)]),
      pb([4, pb([1, CALL], [2, 'context-1'], [3, pb([1, 'a1'], [version === '1.0' ? 4 : 5, pb([1, 'one'])])])]),
      pb([3, pb([1, CALL], [2, 'context-1'], [3, pb([1, 3])], ...version === '1.0' ? [] : [[4, 1] as const])])
    )
    case 'list_tasks': return of(pb([1, grpcTask()], [3, 1], [4, 1]))
    case 'create_push_config':
    case 'get_push_config': return of(config)
    case 'list_push_configs': return of(pb([1, config]))
    case 'delete_push_config': return of(Buffer.alloc(0))
    case 'get_extended_agent_card': return of(pb([1, 'Conformance agent'], [2, 'A scripted agent'], [5, '1']))
    default: return of(grpcTask())
  }
}

interface OperationPlace { readonly operation: Operation, readonly transport: Transport, readonly version: Version }

/** The operation of a request that no script belongs to, or null. */
export function operationOf (method: string, target: string, body: string): OperationPlace | null {
  const [path = ''] = target.split('?')
  for (const operation of OPERATIONS) {
    const names = NAMES[operation]
    const version: Version = /"method"\s*:\s*"[a-z]/.test(body) || path.includes('/v1/') || path.startsWith('/a2a.v1.') ? '0.3' : '1.0'
    if (path === grpcPath(operation, version)) return { operation, transport: 'grpc', version }
    const rpc = version === '1.0' ? names.method : names.method03
    if (
      rpc !== null &&
      path === '/jsonrpc' &&
      new RegExp(`"method"\\s*:\\s*"${rpc}"`).test(body)
    ) return { operation, transport: 'jsonrpc', version }
    const pattern = (version === '1.0' ? names.path : names.path03).split('?')[0]?.replace(CALL, '[^/:]+').replace(/\/c1$/, '/[^/]+')
    if (method === names.verb && new RegExp(`^/rest${pattern ?? ''}$`).test(path)) return { operation, transport: 'rest', version }
  }
  return null
}
