/** One shape for results of both generations and bindings, for the `match` schemas of policies and for `select.event`. */
import type { Fields, JsonObject } from '../fields.js'
import { isObject } from '../fields.js'
import type { ContentView } from './message.js'
import { normaliseMessage, normalisePart } from './normalise.js'
import type { NormalisedResult, ResultView } from './result.js'

/**
 * `{type, taskId, contextId, state, append, metadata, status, message, artifacts}`; what the agent left out is left out.
 *
 * - `type`: `task`, `message`, `statusUpdate` or `artifactUpdate`; always there.
 * - `taskId`, `contextId`: texts; of a Task `taskId` is its `id`. Not there where null or empty.
 * - `state`: of a Task or status update, by the names of 0.3: `submitted`, `working`, `input-required`, `auth-required`, `completed`, `canceled`,
 *   `failed`, `rejected`, `unknown`.
 * - `append`: true or false, in every artifact update and nowhere else.
 * - `metadata`: the object on the Task or on the update itself. That of a Message is in `message`.
 * - `status`: `{message}`, of a Task or status update whose status has a message of the agent.
 * - `message`: the Message that is the result. Messages are `{role, taskId, contextId, metadata, extensions, parts}`, as in requests. What the client
 *   wrote, by its role, is not there.
 * - `artifacts`: of a Task that has some; of an artifact update the one. Each is `{artifactId, name, metadata, extensions, parts}`.
 *
 * `extensions` and `parts` are always there, empty lists at least. Parts are those of requests: `text`, `data`, `url` or `raw`, and `mediaType`, `filename`
 * and `metadata` where stated. `history` is not there.
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
