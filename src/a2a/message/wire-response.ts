/**
 * The response of an agent in the wire form of one version and binding: the counterpart of `wire-message.ts`. 0.3 JSON-RPC: types.ts 0.3.0;
 * `kind` identifies the type. 0.3 HTTP+JSON: ProtoJSON of its proto, as the SDKs send it. 1.0: one form for both bindings.
 */
import { isTerminal, taskStateOf } from '../task-state.js'
import type {
  ArtifactSpec, ArtifactUpdateSpec, EventSpec, JsonMap, MessageSpec, StatusSpec, StatusUpdateSpec, TaskSpec, Variant
} from './wire-spec.js'
import { defined, wireMessage, wireParts } from './wire-message.js'

/** Default ids. The response to a request that names a task is about that task. */
export interface Ids { readonly task: string, readonly context: string }

const MESSAGE_ID = 'a2a-gateway-test-answer'
const ARTIFACT_ID = 'a2a-gateway-test-artifact'

export function wireTask ({ id, contextId, status, artifacts, history, metadata }: TaskSpec, variant: Variant, ids: Ids): JsonMap {
  return defined({
    ...(isRpc03(variant) ? { kind: 'task' } : {}),
    id: id ?? ids.task,
    contextId: contextId ?? ids.context,
    status: wireStatus(status ?? {}, variant, ids),
    artifacts: artifacts?.map(artifact => wireArtifact(artifact, variant)),
    history: history?.map(messageSpec => responseMessage(messageSpec, variant, ids)),
    metadata
  })
}

/** Builds the result of a send, or one event of a stream. */
export function wireEvent (spec: EventSpec, variant: Variant, ids: Ids): unknown {
  const { task, message, statusUpdate, artifactUpdate, result } = spec
  if (task !== undefined) return wrapped('task', wireTask(task, variant, ids), variant)
  if (message !== undefined) return wrapped('message', responseMessage(message, variant, ids), variant)
  if (statusUpdate !== undefined) return wrapped('statusUpdate', wireStatusUpdate(statusUpdate, variant, ids), variant)
  if (artifactUpdate !== undefined) return wrapped('artifactUpdate', wireArtifactUpdate(artifactUpdate, variant, ids), variant)
  return result
}

function isRpc03 ({ version, binding }: Variant): boolean {
  return version === '0.3' && binding === 'JSONRPC'
}

/** Wraps an object in a named member. 0.3 JSON-RPC has no such member. */
function wrapped (name: string, object: JsonMap, variant: Variant): JsonMap {
  return isRpc03(variant) ? object : { [name]: object }
}

/** Builds a message of the agent. The message belongs to the context. It belongs to a task only when the test says so. */
function responseMessage (spec: MessageSpec, { version, binding }: Variant, ids: Ids): JsonMap {
  return wireMessage({ messageId: MESSAGE_ID, contextId: ids.context, ...spec }, version, binding, 'agent')
}

function wireStatus ({ state = 'working', message, timestamp }: StatusSpec, variant: Variant, ids: Ids): JsonMap {
  return defined({
    state: wireState(state, variant),
    message: message === undefined ? undefined : responseMessage({ taskId: ids.task, ...message }, variant, ids),
    timestamp
  })
}

/** Returns the wire name of a state. An unknown state is sent unchanged. */
export function wireState (state: string, variant: Variant): string {
  const taskState = taskStateOf(state)
  if (taskState === null) return state
  if (isRpc03(variant)) return taskState
  if (taskState === 'unknown') return 'TASK_STATE_UNSPECIFIED'
  // The name in proto 0.3.0 has two Ls.
  if (taskState === 'canceled' && variant.version === '0.3') return 'TASK_STATE_CANCELLED'
  return `TASK_STATE_${taskState.toUpperCase().replaceAll('-', '_')}`
}

function wireArtifact ({ artifactId, parts, ...rest }: ArtifactSpec, { version, binding }: Variant): JsonMap {
  return { artifactId: artifactId ?? ARTIFACT_ID, parts: wireParts(parts, version, binding), ...rest }
}

/** Builds a status update. `final` exists only in 0.3: no event follows in this stream. ProtoJSON omits false values. */
function wireStatusUpdate ({ taskId, contextId, status = {}, metadata }: StatusUpdateSpec, variant: Variant, ids: Ids): JsonMap {
  const state = taskStateOf(status.state ?? 'working')
  const final = isTerminal(state) || state === 'input-required' || state === 'auth-required'
  return defined({
    ...(isRpc03(variant) ? { kind: 'status-update' } : {}),
    taskId: taskId ?? ids.task,
    contextId: contextId ?? ids.context,
    status: wireStatus(status, variant, ids),
    ...(isRpc03(variant) || (variant.version === '0.3' && final) ? { final } : {}),
    metadata
  })
}

function wireArtifactUpdate (
  { taskId, contextId, artifact, append, lastChunk, metadata }: ArtifactUpdateSpec,
  variant: Variant,
  ids: Ids
): JsonMap {
  const flags = isRpc03(variant)
    ? { append, lastChunk }
    : { append: append === true ? true : undefined, lastChunk: lastChunk === true ? true : undefined }
  return defined({
    ...(isRpc03(variant) ? { kind: 'artifact-update' } : {}),
    taskId: taskId ?? ids.task,
    contextId: contextId ?? ids.context,
    artifact: wireArtifact(artifact, variant),
    ...flags,
    metadata
  })
}
