/**
 * The members of requests and responses that the gateway or a rule may read, with the JSON types that A2A defines: one table for both
 * versions and bindings. A member of another type is a problem of its object (`Fields.read`). The gateway rejects requests with such a
 * member, and responses where `responses` is `enforce`.
 *
 * Sources: types.ts 0.3.0; proto 0.3.0 and 1.0.1 with the ProtoJSON mapping: an enum is its name or its number, and an integer may be
 * written as a string.
 */
import { FieldSet } from './fields.js'
import type { MemberTable } from './fields.js'
import { ANY, BOOLEAN, DIGITS, INTEGER, LIST, OBJECT, OBJECTS, STRING, STRINGS } from './json-types.js'
import type { Binding, Version } from './versions.js'

/** Members of the JSON-RPC envelope. Other code compares `jsonrpc` with "2.0" and reads `result`. */
export const RPC_REQUEST = new FieldSet({ jsonrpc: ANY, id: STRING | INTEGER, method: STRING, params: OBJECT })
export const RPC_RESPONSE = new FieldSet({ jsonrpc: ANY, id: STRING | INTEGER, result: ANY, error: OBJECT })

/** The kinds of objects in one version and binding. */
export interface Members {
  readonly version: Version
  /** Request of SendMessage and SendStreamingMessage. */
  readonly sendRequest: FieldSet
  /** Request of a method or route that an extension adds: only a message in it belongs to A2A, when it is an object. */
  readonly extensionRequest: FieldSet
  /** Request of all other operations. */
  readonly taskRequest: FieldSet
  readonly message: FieldSet
  readonly part: FieldSet
  readonly partMetadata: FieldSet
  readonly file: FieldSet
  /** HTTP+JSON 0.3: the DataPart in a part. `data` holds the document; its other members have no meaning. */
  readonly dataPart: FieldSet
  /** SendMessageResponse and StreamResponse. */
  readonly wrapper: FieldSet
  readonly taskList: FieldSet
  readonly task: FieldSet
  readonly status: FieldSet
  /** A status update or an artifact update. */
  readonly update: FieldSet
  readonly artifact: FieldSet
}

/** Types and conditions that differ by version and binding. */
interface Dialect {
  readonly old: boolean
  readonly proto: boolean
  readonly integer: number
  readonly enumeration: number
  /** A member that only 0.3 defines is free for extensions in 1.0. */
  readonly only03: (types: number) => number
  /** A member that only 1.0 defines is free for extensions in 0.3. */
  readonly only10: (types: number) => number
}

function membersFor (version: Version, binding: Binding): Members {
  const old = version === '0.3'
  const proto = !old || binding !== 'JSONRPC'
  const dialect: Dialect = {
    old,
    proto,
    integer: proto ? INTEGER | DIGITS : INTEGER,
    enumeration: proto ? STRING | INTEGER : STRING,
    only03: types => old ? types : ANY,
    only10: types => old ? ANY : types
  }
  return { version, ...requestMembers(dialect), ...contentMembers(dialect), ...resultMembers(dialect) }
}

function requestMembers ({ old, proto, integer, enumeration, only10 }: Dialect): Pick<Members, 'sendRequest' | 'extensionRequest' | 'taskRequest'> {
  const authentication = new FieldSet({ schemes: STRINGS, scheme: STRING, credentials: STRING })
  const push = { id: STRING, url: STRING, token: STRING, authentication }
  const pushConfig = new FieldSet({ ...push, taskId: STRING, tenant: STRING })
  const configuration = new FieldSet({
    acceptedOutputModes: STRINGS,
    historyLength: integer,
    blocking: BOOLEAN,
    returnImmediately: BOOLEAN,
    pushNotificationConfig: pushConfig,
    pushNotification: pushConfig,
    taskPushNotificationConfig: pushConfig
  })
  const send: MemberTable = {
    message: OBJECT,
    request: old && proto ? OBJECT : ANY,
    configuration,
    metadata: OBJECT,
    tenant: only10(STRING)
  }
  return {
    sendRequest: new FieldSet(send),
    extensionRequest: new FieldSet(anyOf(send)),
    taskRequest: new FieldSet({
      ...push,
      taskId: STRING,
      contextId: STRING,
      tenant: STRING,
      name: STRING,
      parent: STRING,
      metadata: OBJECT,
      historyLength: integer,
      pageSize: integer,
      pageToken: STRING,
      status: enumeration,
      statusTimestampAfter: STRING,
      includeArtifacts: BOOLEAN,
      pushNotificationConfigId: STRING,
      pushNotificationConfig: pushConfig,
      configId: STRING,
      config: old ? new FieldSet({ name: STRING, pushNotificationConfig: pushConfig }) : ANY
    })
  }
}

function contentMembers ({ enumeration, only03 }: Dialect): Pick<Members, 'message' | 'part' | 'partMetadata' | 'file' | 'dataPart'> {
  return {
    message: new FieldSet({
      messageId: STRING,
      role: enumeration,
      parts: OBJECTS,
      content: only03(OBJECTS),
      contextId: STRING,
      taskId: STRING,
      referenceTaskIds: STRINGS,
      extensions: STRINGS,
      metadata: OBJECT,
      kind: only03(STRING)
    }),
    part: new FieldSet({
      text: STRING,
      raw: STRING,
      url: STRING,
      // Any JSON value is allowed and evaluated as it is. 0.3 defines objects only, but its agents also receive lists (A2UI 0.10).
      data: ANY,
      file: OBJECT,
      kind: only03(STRING),
      metadata: OBJECT,
      filename: STRING,
      mediaType: STRING
    }),
    partMetadata: new FieldSet({ mediaType: STRING, mimeType: STRING }),
    file: new FieldSet({ mimeType: STRING, name: STRING, uri: STRING, bytes: STRING, fileWithUri: STRING, fileWithBytes: STRING }),
    // The JavaScript SDKs read a list as an object, and any other value as no data.
    dataPart: new FieldSet({ data: OBJECT | LIST })
  }
}

function resultMembers (
  { old, proto, enumeration, only03 }: Dialect
): Pick<Members, 'wrapper' | 'taskList' | 'task' | 'status' | 'update' | 'artifact'> {
  const results: MemberTable = { task: OBJECT, message: OBJECT, statusUpdate: OBJECT, artifactUpdate: OBJECT }
  return {
    // proto 0.3.0 names the message `msg`, with json_name `message`.
    wrapper: new FieldSet(old ? { ...results, msg: OBJECT } : results),
    taskList: new FieldSet({ tasks: OBJECTS }),
    task: new FieldSet({
      id: STRING,
      contextId: STRING,
      status: OBJECT,
      artifacts: OBJECTS,
      history: OBJECTS,
      metadata: OBJECT,
      kind: only03(STRING)
    }),
    // proto 0.3.0 names the message `update`, with json_name `message`. ProtoJSON parsers read both names.
    status: new FieldSet({ state: enumeration, message: OBJECT, timestamp: STRING, ...(old && proto ? { update: OBJECT } : {}) }),
    update: new FieldSet({
      taskId: STRING,
      contextId: STRING,
      status: OBJECT,
      artifact: OBJECT,
      append: BOOLEAN,
      lastChunk: BOOLEAN,
      final: only03(BOOLEAN),
      metadata: OBJECT,
      kind: only03(STRING)
    }),
    artifact: new FieldSet({ artifactId: STRING, name: STRING, description: STRING, parts: OBJECTS, extensions: STRINGS, metadata: OBJECT })
  }
}

function anyOf (table: MemberTable): MemberTable {
  return Object.fromEntries(Object.keys(table).map(field => [field, ANY]))
}

const RPC_1_0 = membersFor('1.0', 'JSONRPC')
const REST_1_0 = membersFor('1.0', 'HTTP+JSON')
const RPC_0_3 = membersFor('0.3', 'JSONRPC')
const REST_0_3 = membersFor('0.3', 'HTTP+JSON')

export function membersOf (version: Version, binding: Binding): Members {
  if (version === '1.0') return binding === 'JSONRPC' ? RPC_1_0 : REST_1_0
  return binding === 'JSONRPC' ? RPC_0_3 : REST_0_3
}
