/** Maps the request object of an operation to gRPC: the path of the method, and the message. Protos of A2A 0.3.0 and 1.0.1. */
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import type { JsonObject } from '#wire/json/object.js'
import type { JsonMap } from '#a2a/message/wire-spec.js'
import type { RequestSpec } from '../policy-test/test-model.js'
import type { JsonLimits } from '#wire/json/json-result.js'

export interface GrpcTarget {
  /** `/service/method` */
  readonly path: string
  /** The message, without its prefix. */
  readonly message: Buffer
}

type Named = NonNullable<RequestSpec['operation']>

/**
 * Builds the target.
 * @returns the target, or in words why the version has no such method, or why its message cannot have the object
 */
export function grpcTarget (operation: Named, object: JsonMap, version: Version): GrpcTarget | string {
  const method = grpcMethodFor(operation, version)
  if (method === null) return `gRPC of A2A ${version} has no ${operation}`
  const named = version === '0.3' ? withNames(operation, object) : object
  if (typeof named === 'string') return named
  const message = encoded(method.request, named)
  return typeof message === 'string' ? message : { path: method.path, message }
}

/** @returns the message, or in words which member does not fit */
export function encoded (table: GrpcMethod['request'], object: JsonMap): Buffer | string {
  try {
    return writeProtobuf(object as JsonObject, table)
  } catch (error) {
    if (error instanceof TypeError) return `the message cannot be written as protobuf: ${error.message}`
    throw error
  }
}

const READ: JsonLimits = { depth: Infinity, members: Infinity }

/** @returns the message as ProtoJSON; undefined for bytes that are none, and without a table */
export function messageObject (bytes: Buffer, table: GrpcMethod['request'] | undefined): unknown {
  if (table === undefined) return undefined
  const read = readProtobuf(bytes, table, READ, true)
  return read.ok ? read.value : undefined
}

/** Replaces the ids of an object by the resource names of proto 0.3.0: `tasks/{id}`, `tasks/{id}/pushNotificationConfigs/{id}`. */
function withNames (operation: Named, object: JsonMap): JsonMap | string {
  const { id, taskId, pushNotificationConfigId: config, pushNotificationConfig, ...rest } = object
  const task = taskId ?? id
  const lacks = (key: string): string => `request.params needs ${key}, which the message of ${operation} contains in gRPC of A2A 0.3`
  switch (operation) {
    case 'GetTask':
    case 'CancelTask':
    case 'SubscribeToTask':
      if (object.name !== undefined) return object
      return typeof id === 'string' ? { name: `tasks/${id}`, ...rest } : lacks('id')
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      if (object.name !== undefined) return object
      if (typeof task !== 'string') return lacks('taskId')
      return typeof config === 'string'
        ? { name: `tasks/${task}/pushNotificationConfigs/${config}`, ...rest }
        : lacks('pushNotificationConfigId')
    case 'ListTaskPushNotificationConfigs':
      if (object.parent !== undefined) return object
      return typeof task === 'string' ? { parent: `tasks/${task}`, ...rest } : lacks('taskId')
    case 'CreateTaskPushNotificationConfig':
      if (object.parent !== undefined) return object
      return typeof task === 'string'
        ? { parent: `tasks/${task}`, config: { pushNotificationConfig: pushNotificationConfig ?? {} }, ...rest }
        : lacks('taskId')
    default:
      return object
  }
}
