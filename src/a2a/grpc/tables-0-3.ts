/**
 * Messages of A2A 0.3: requests and responses of `a2a.v1.A2AService` (proto 0.3.0). Three fields come from the protocol buffers of the
 * Python SDK, whose clients and agents use them: `Part.metadata`, `FilePart.name` (also in the Go SDK) and `AgentCard.iconUrl`.
 */
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
  struct,
  text,
  timestamp
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

const FILE = new MessageTable('FilePart', {
  fileWithUri: oneOf('file', text(1)),
  fileWithBytes: oneOf('file', bytes(2)),
  mimeType: text(3),
  name: text(4)
}, true)

const DATA = new MessageTable('DataPart', { data: struct(1) }, true)

/** Closed, with the parts in it: a fourth member of the oneof would win over the one that the rules have read. */
const PART = new MessageTable('Part', {
  text: oneOf('part', text(1)),
  file: oneOf('part', message(2, FILE)),
  data: oneOf('part', message(3, DATA)),
  metadata: struct(4)
}, true)

const MESSAGE = new MessageTable('Message', {
  messageId: text(1),
  contextId: text(2),
  taskId: text(3),
  role: enumeration(4, ROLES),
  content: list(message(5, PART)),
  metadata: struct(6),
  extensions: list(text(7))
})

const ARTIFACT = new MessageTable('Artifact', {
  artifactId: text(1),
  name: text(3),
  description: text(4),
  parts: list(message(5, PART)),
  metadata: struct(6),
  extensions: list(text(7))
})

const STATUS = new MessageTable('TaskStatus', {
  state: enumeration(1, statesWith('TASK_STATE_CANCELLED')),
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
  final: bool(4),
  metadata: struct(5)
})

const ARTIFACT_UPDATE = new MessageTable('TaskArtifactUpdateEvent', {
  taskId: text(1),
  contextId: text(2),
  artifact: message(3, ARTIFACT),
  append: bool(4),
  lastChunk: bool(5),
  metadata: struct(6)
})

const AUTHENTICATION = new MessageTable('AuthenticationInfo', { schemes: list(text(1)), credentials: text(2) })

const PUSH = new MessageTable('PushNotificationConfig', {
  id: text(1),
  url: text(2),
  token: text(3),
  authentication: message(4, AUTHENTICATION)
})

export const PUSH_CONFIG = new MessageTable('TaskPushNotificationConfig', { name: text(1), pushNotificationConfig: message(2, PUSH) })

const CONFIGURATION = new MessageTable('SendMessageConfiguration', {
  acceptedOutputModes: list(text(1)),
  pushNotification: message(2, PUSH),
  historyLength: int32(3),
  blocking: bool(4)
})

/** The `.proto` file names the field `request`, with json_name `message`. */
export const SEND_REQUEST = new MessageTable('SendMessageRequest', {
  message: message(1, MESSAGE),
  configuration: message(2, CONFIGURATION),
  metadata: struct(3)
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

export const GET_TASK = new MessageTable('GetTaskRequest', { name: text(1), historyLength: int32(2) })
export const CANCEL_TASK = new MessageTable('CancelTaskRequest', { name: text(1) })
export const SUBSCRIBE = new MessageTable('TaskSubscriptionRequest', { name: text(1) })
export const CREATE_PUSH_CONFIG = new MessageTable('CreateTaskPushNotificationConfigRequest', {
  parent: text(1),
  configId: text(2),
  config: message(3, PUSH_CONFIG)
})
export const GET_PUSH_CONFIG = new MessageTable('GetTaskPushNotificationConfigRequest', { name: text(1) })
export const DELETE_PUSH_CONFIG = new MessageTable('DeleteTaskPushNotificationConfigRequest', { name: text(1) })
export const LIST_PUSH_CONFIGS = new MessageTable('ListTaskPushNotificationConfigRequest', {
  parent: text(1),
  pageSize: int32(2),
  pageToken: text(3)
})
export const LIST_PUSH_CONFIGS_RESPONSE = new MessageTable('ListTaskPushNotificationConfigResponse', {
  configs: list(message(1, PUSH_CONFIG)),
  nextPageToken: text(2)
})

export const GET_CARD = new MessageTable('GetAgentCardRequest', {})

const FLOWS = new MessageTable('OAuthFlows', flowsWith(new MessageTable('AuthorizationCodeOAuthFlow', AUTHORIZATION_CODE)))

const REQUIREMENT = new MessageTable('Security', SCHEMES)

const SKILL = new MessageTable('AgentSkill', {
  id: text(1),
  name: text(2),
  description: text(3),
  tags: list(text(4)),
  examples: list(text(5)),
  inputModes: list(text(6)),
  outputModes: list(text(7)),
  security: list(message(8, REQUIREMENT))
})

const INTERFACE = new MessageTable('AgentInterface', { url: text(1), transport: text(2) })

const CAPABILITIES = new MessageTable('AgentCapabilities', {
  streaming: bool(1),
  pushNotifications: bool(2),
  extensions: list(message(3, EXTENSION))
})

export const CARD = new MessageTable('AgentCard', {
  name: text(1),
  description: text(2),
  url: text(3),
  provider: message(4, PROVIDER),
  version: text(5),
  documentationUrl: text(6),
  capabilities: message(7, CAPABILITIES),
  securitySchemes: map(message(8, securitySchemeWith(FLOWS))),
  security: list(message(9, REQUIREMENT)),
  defaultInputModes: list(text(10)),
  defaultOutputModes: list(text(11)),
  skills: list(message(12, SKILL)),
  supportsAuthenticatedExtendedCard: bool(13),
  preferredTransport: text(14),
  additionalInterfaces: list(message(15, INTERFACE)),
  protocolVersion: text(16),
  signatures: list(message(17, SIGNATURE)),
  iconUrl: text(18)
})
