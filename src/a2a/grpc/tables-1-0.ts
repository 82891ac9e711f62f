/** Messages of A2A 1.0: requests and responses of `lf.a2a.v1.A2AService` (proto 1.0.0, 1.0.1 and the main branch of November 2026). */
import {
  bool,
  bytes,
  enumeration,
  int32,
  list,
  map,
  message,
  MessageTable,
  oneOf,
  optional,
  struct,
  text,
  timestamp,
  value
} from '#wire/protobuf/table.js'
import {
  AUTHORIZATION_CODE,
  EXTENSION,
  flowsWith,
  PROVIDER,
  ROLES,
  SCHEMES,
  securitySchemeWith,
  SIGNATURE,
  statesWith
} from './tables-shared.js'

const STATES = statesWith('TASK_STATE_CANCELED')

/** Closed: a fifth member of the oneof would win over the one that the rules have read. */
const PART = new MessageTable('Part', {
  text: oneOf('content', text(1)),
  raw: oneOf('content', bytes(2)),
  url: oneOf('content', text(3)),
  data: oneOf('content', value(4)),
  metadata: struct(5),
  filename: text(6),
  mediaType: text(7)
}, true)

const MESSAGE = new MessageTable('Message', {
  messageId: text(1),
  contextId: text(2),
  taskId: text(3),
  role: enumeration(4, ROLES),
  parts: list(message(5, PART)),
  metadata: struct(6),
  extensions: list(text(7)),
  referenceTaskIds: list(text(8))
})

const ARTIFACT = new MessageTable('Artifact', {
  artifactId: text(1),
  name: text(2),
  description: text(3),
  parts: list(message(4, PART)),
  metadata: struct(5),
  extensions: list(text(6))
})

const STATUS = new MessageTable('TaskStatus', {
  state: enumeration(1, STATES),
  message: message(2, MESSAGE),
  timestamp: timestamp(3)
})

export const TASK = new MessageTable('Task', {
  id: text(1),
  contextId: text(2),
  status: message(3, STATUS),
  artifacts: list(message(4, ARTIFACT)),
  history: list(message(5, MESSAGE)),
  metadata: struct(6)
})

const STATUS_UPDATE = new MessageTable('TaskStatusUpdateEvent', {
  taskId: text(1),
  contextId: text(2),
  status: message(3, STATUS),
  metadata: struct(4)
})

const ARTIFACT_UPDATE = new MessageTable('TaskArtifactUpdateEvent', {
  taskId: text(1),
  contextId: text(2),
  artifact: message(3, ARTIFACT),
  append: bool(4),
  lastChunk: bool(5),
  metadata: struct(6)
})

const AUTHENTICATION = new MessageTable('AuthenticationInfo', { scheme: text(1), credentials: text(2) })

export const PUSH_CONFIG = new MessageTable('TaskPushNotificationConfig', {
  tenant: text(1),
  id: text(2),
  taskId: text(3),
  url: text(4),
  token: text(5),
  authentication: message(6, AUTHENTICATION)
})

const CONFIGURATION = new MessageTable('SendMessageConfiguration', {
  acceptedOutputModes: list(text(1)),
  taskPushNotificationConfig: message(2, PUSH_CONFIG),
  historyLength: optional(int32(3)),
  returnImmediately: bool(4)
})

export const SEND_REQUEST = new MessageTable('SendMessageRequest', {
  tenant: text(1),
  message: message(2, MESSAGE),
  configuration: message(3, CONFIGURATION),
  metadata: struct(4)
})

export const SEND_RESPONSE = new MessageTable('SendMessageResponse', {
  task: oneOf('payload', message(1, TASK)),
  message: oneOf('payload', message(2, MESSAGE))
})

export const STREAM_RESPONSE = new MessageTable('StreamResponse', {
  task: oneOf('payload', message(1, TASK)),
  message: oneOf('payload', message(2, MESSAGE)),
  statusUpdate: oneOf('payload', message(3, STATUS_UPDATE)),
  artifactUpdate: oneOf('payload', message(4, ARTIFACT_UPDATE))
})

export const GET_TASK = new MessageTable('GetTaskRequest', { tenant: text(1), id: text(2), historyLength: optional(int32(3)) })
export const CANCEL_TASK = new MessageTable('CancelTaskRequest', { tenant: text(1), id: text(2), metadata: struct(3) })
export const SUBSCRIBE = new MessageTable('SubscribeToTaskRequest', { tenant: text(1), id: text(2) })

export const LIST_TASKS = new MessageTable('ListTasksRequest', {
  tenant: text(1),
  contextId: text(2),
  status: enumeration(3, STATES),
  pageSize: optional(int32(4)),
  pageToken: text(5),
  historyLength: optional(int32(6)),
  statusTimestampAfter: timestamp(7),
  includeArtifacts: optional(bool(8))
})

export const LIST_TASKS_RESPONSE = new MessageTable('ListTasksResponse', {
  tasks: list(message(1, TASK)),
  nextPageToken: text(2),
  pageSize: int32(3),
  totalSize: int32(4)
})

export const GET_PUSH_CONFIG = new MessageTable('GetTaskPushNotificationConfigRequest', { tenant: text(1), taskId: text(2), id: text(3) })
export const DELETE_PUSH_CONFIG = new MessageTable('DeleteTaskPushNotificationConfigRequest', {
  tenant: text(1),
  taskId: text(2),
  id: text(3)
})
export const LIST_PUSH_CONFIGS = new MessageTable('ListTaskPushNotificationConfigsRequest', {
  taskId: text(1),
  pageSize: int32(2),
  pageToken: text(3),
  tenant: text(4)
})
export const LIST_PUSH_CONFIGS_RESPONSE = new MessageTable('ListTaskPushNotificationConfigsResponse', {
  configs: list(message(1, PUSH_CONFIG)),
  nextPageToken: text(2)
})

export const GET_CARD = new MessageTable('GetExtendedAgentCardRequest', { tenant: text(1) })

const FLOWS = new MessageTable('OAuthFlows', {
  ...flowsWith(new MessageTable('AuthorizationCodeOAuthFlow', { ...AUTHORIZATION_CODE, pkceRequired: bool(5) })),
  deviceCode: oneOf('flow', message(5, new MessageTable('DeviceCodeOAuthFlow', {
    deviceAuthorizationUrl: text(1),
    tokenUrl: text(2),
    refreshUrl: text(3),
    scopes: map(text(4))
  })))
})

const REQUIREMENT = new MessageTable('SecurityRequirement', SCHEMES)

const SKILL = new MessageTable('AgentSkill', {
  id: text(1),
  name: text(2),
  description: text(3),
  tags: list(text(4)),
  examples: list(text(5)),
  inputModes: list(text(6)),
  outputModes: list(text(7)),
  securityRequirements: list(message(8, REQUIREMENT))
})

const INTERFACE = new MessageTable('AgentInterface', {
  url: text(1),
  protocolBinding: text(2),
  tenant: text(3),
  protocolVersion: text(4)
})

const CAPABILITIES = new MessageTable('AgentCapabilities', {
  streaming: optional(bool(1)),
  pushNotifications: optional(bool(2)),
  extensions: list(message(3, EXTENSION)),
  extendedAgentCard: optional(bool(4))
})

export const CARD = new MessageTable('AgentCard', {
  name: text(1),
  description: text(2),
  supportedInterfaces: list(message(3, INTERFACE)),
  provider: message(4, PROVIDER),
  version: text(5),
  documentationUrl: optional(text(6)),
  capabilities: message(7, CAPABILITIES),
  securitySchemes: map(message(8, securitySchemeWith(FLOWS))),
  securityRequirements: list(message(9, REQUIREMENT)),
  defaultInputModes: list(text(10)),
  defaultOutputModes: list(text(11)),
  skills: list(message(12, SKILL)),
  signatures: list(message(13, SIGNATURE)),
  iconUrl: optional(text(14))
})
