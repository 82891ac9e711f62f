/** The gRPC services of A2A: proto 1.0.1 `lf.a2a.v1.A2AService`, and proto 0.3.0 `a2a.v1.A2AService`. */
import type { MessageTable } from '#wire/protobuf/table.js'
import type { Operation } from '../operations.js'
import type { Version } from '../versions.js'
import * as old from './tables-0-3.js'
import * as current from './tables-1-0.js'
import { EMPTY_MESSAGE } from './tables-shared.js'

export interface GrpcMethod {
  readonly version: Version
  readonly operation: Operation
  /** Value of `:path`, as `/lf.a2a.v1.A2AService/SendMessage`. */
  readonly path: string
  readonly request: MessageTable
  /** Table of the response message, or of each message of a stream. */
  readonly response: MessageTable
  /** True when the response is a stream. No request is a stream. */
  readonly streaming: boolean
}

/** Full names of the services. The service is the version: agents do not compare it with `a2a-version`. */
export const GRPC_SERVICES: Readonly<Record<Version, string>> = { 0.3: 'a2a.v1.A2AService', '1.0': 'lf.a2a.v1.A2AService' }

const STREAMS: ReadonlySet<Operation> = new Set<Operation>(['SendStreamingMessage', 'SubscribeToTask'])

type Row = readonly [operation: Operation, request: MessageTable, response: MessageTable, name?: string]

const METHODS_1_0: readonly Row[] = [
  ['SendMessage', current.SEND_REQUEST, current.SEND_RESPONSE],
  ['SendStreamingMessage', current.SEND_REQUEST, current.STREAM_RESPONSE],
  ['GetTask', current.GET_TASK, current.TASK],
  ['ListTasks', current.LIST_TASKS, current.LIST_TASKS_RESPONSE],
  ['CancelTask', current.CANCEL_TASK, current.TASK],
  ['SubscribeToTask', current.SUBSCRIBE, current.STREAM_RESPONSE],
  ['CreateTaskPushNotificationConfig', current.PUSH_CONFIG, current.PUSH_CONFIG],
  ['GetTaskPushNotificationConfig', current.GET_PUSH_CONFIG, current.PUSH_CONFIG],
  ['ListTaskPushNotificationConfigs', current.LIST_PUSH_CONFIGS, current.LIST_PUSH_CONFIGS_RESPONSE],
  ['DeleteTaskPushNotificationConfig', current.DELETE_PUSH_CONFIG, EMPTY_MESSAGE],
  ['GetExtendedAgentCard', current.GET_CARD, current.CARD]
]

const METHODS_0_3: readonly Row[] = [
  ['SendMessage', old.SEND_REQUEST, old.SEND_RESPONSE],
  ['SendStreamingMessage', old.SEND_REQUEST, old.STREAM_RESPONSE],
  ['GetTask', old.GET_TASK, old.TASK],
  ['CancelTask', old.CANCEL_TASK, old.TASK],
  ['SubscribeToTask', old.SUBSCRIBE, old.STREAM_RESPONSE, 'TaskSubscription'],
  ['CreateTaskPushNotificationConfig', old.CREATE_PUSH_CONFIG, old.PUSH_CONFIG],
  ['GetTaskPushNotificationConfig', old.GET_PUSH_CONFIG, old.PUSH_CONFIG],
  ['ListTaskPushNotificationConfigs', old.LIST_PUSH_CONFIGS, old.LIST_PUSH_CONFIGS_RESPONSE, 'ListTaskPushNotificationConfig'],
  ['DeleteTaskPushNotificationConfig', old.DELETE_PUSH_CONFIG, EMPTY_MESSAGE],
  ['GetExtendedAgentCard', old.GET_CARD, old.CARD, 'GetAgentCard']
]

function methodsOf (version: Version, rows: readonly Row[]): readonly GrpcMethod[] {
  return rows.map(([operation, request, response, name = operation]) => ({
    version,
    operation,
    path: `/${GRPC_SERVICES[version]}/${name}`,
    request,
    response,
    streaming: STREAMS.has(operation)
  }))
}

const METHODS: Readonly<Record<Version, readonly GrpcMethod[]>> = {
  0.3: methodsOf('0.3', METHODS_0_3),
  '1.0': methodsOf('1.0', METHODS_1_0)
}

const BY_PATH: ReadonlyMap<string, GrpcMethod> = new Map([...METHODS['1.0'], ...METHODS['0.3']].map(method => [method.path, method]))
const BY_OPERATION: Readonly<Record<Version, ReadonlyMap<Operation, GrpcMethod>>> = {
  0.3: new Map(METHODS['0.3'].map(method => [method.operation, method])),
  '1.0': new Map(METHODS['1.0'].map(method => [method.operation, method]))
}

/** @param path value of `:path`, compared exactly: no query, no other letter case, no percent-encoding */
export function grpcMethodOf (path: string): GrpcMethod | null {
  return BY_PATH.get(path) ?? null
}

/** @returns null when the version has no such method: 0.3 has no ListTasks */
export function grpcMethodFor (operation: Operation, version: Version): GrpcMethod | null {
  return BY_OPERATION[version].get(operation) ?? null
}
