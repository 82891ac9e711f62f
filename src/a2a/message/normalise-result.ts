/** One shape for results of both generations and bindings, for the `match` schemas of policies and for `select.event`. */
import type { Fields } from '../fields.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { ContentView } from './message.js'
import { normaliseMessage, normalisePart } from './normalise.js'
import type { NormalisedResult, ResultView } from './result.js'

/**
 * Returns `{type, taskId, contextId, state, append, metadata, status, message, artifacts}`. Members that the agent omitted are absent.
 *
 * - `type`: `task`, `message`, `statusUpdate` or `artifactUpdate`; always present.
 * - `taskId`, `contextId`: strings; for a Task, `taskId` is its `id`. Absent when null or empty.
 * - `state`: state of a Task or status update, by the names of 0.3: `submitted`, `working`, `input-required`, `auth-required`, `completed`,
 *   `canceled`, `failed`, `rejected`, `unknown`.
 * - `append`: true or false; present in every artifact update and nowhere else.
 * - `metadata`: the object on the Task or on the update itself. The metadata of a Message is in `message`.
 * - `status`: `{message}`, for a Task or status update whose status has a message of the agent.
 * - `message`: the Message that is the result. A message is `{role, taskId, contextId, metadata, extensions, parts}`, as in requests.
 *   Status messages whose role is the client's are absent.
 * - `artifacts`: the artifacts of a Task that has some, or the single artifact of an artifact update. Each is `{artifactId, name, metadata,
 *   extensions, parts}`.
 *
 * `extensions` and `parts` are always present, as empty lists at least. Parts have the shape of the parts of requests: `text`, `data`,
 * `url` or `raw`, and `mediaType`, `filename` and `metadata` when stated. `history` is absent.
 */
export function normaliseResult (view: ResultView): NormalisedResult {
  const { kind, taskId, contextId, state, fields, status, message, artifacts } = view
  const metadata = kind === 'message' ? undefined : fields.get('metadata')
  const out: Record<string, unknown> = { type: kind }
  if (taskId !== null) out.taskId = taskId
  if (contextId !== null) out.contextId = contextId
  if (state !== null) out.state = state
  if (kind === 'artifactUpdate') out.append = view.append
  if (isObject(metadata)) out.metadata = metadata
  if (status !== null) out.status = { message: normaliseMessage(status) }
  if (message !== null) out.message = normaliseMessage(message)
  if (artifacts.length > 0) out.artifacts = artifacts.map(normaliseArtifact)
  return out
}

function normaliseArtifact ({ fields, listed, parts }: ContentView): JsonObject {
  const out: Record<string, unknown> = {}
  addText(fields, 'artifactId', out)
  addText(fields, 'name', out)
  const metadata = fields.get('metadata')
  if (isObject(metadata)) out.metadata = metadata
  out.extensions = listed
  out.parts = parts.map(normalisePart)
  return out
}

function addText (fields: Fields, name: string, out: Record<string, unknown>): void {
  const value = fields.get(name)
  if (typeof value === 'string' && value !== '') out[name] = value
}
