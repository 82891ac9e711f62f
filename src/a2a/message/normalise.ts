/** One shape for requests of both generations and bindings, for the `match` schemas of policies. */
import type { Call } from './call.js'
import type { Fields } from '../fields.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { copyMember } from '#wire/json/unread-value.js'
import type { ContentView, PartView } from './message.js'
import { presence } from './message.js'

/**
 * Returns `{operation, version, message: {role, taskId, contextId, metadata, extensions, parts}, metadata}`. Members that the client
 * omitted are absent. Roles are `user` and `agent`. Ids that are null or empty are absent. A part has its `text`, `data`, `url` or `raw`,
 * and `mediaType`, `filename` and `metadata` when it states them.
 */
export function normalise (call: Call): JsonObject {
  const { view } = call
  const metadata = view === null ? (call.request === null ? undefined : own(call.request.object, 'metadata')) : view.fields.get('metadata')
  return {
    operation: call.operation,
    version: call.version,
    ...(view === null || view.message === null ? {} : { message: normaliseMessage(view.message) }),
    ...(isObject(metadata) ? { metadata } : {})
  }
}

/** Returns `{role, taskId, contextId, metadata, extensions, parts}` of a message in a request or a response. */
export function normaliseMessage (message: ContentView): JsonObject {
  const { fields } = message
  const out: Record<string, unknown> = {}
  const role = roleOf(fields)
  if (role !== null) out.role = role
  for (const name of ['taskId', 'contextId'] as const) if (presence(fields.get(name)) === 'present') out[name] = fields.get(name)
  const metadata = fields.get('metadata')
  if (isObject(metadata)) out.metadata = metadata
  out.extensions = message.listed
  out.parts = message.parts.map(normalisePart)
  return out
}

/** Returns `user` or `agent`, or any other string in the role; null for none. ProtoJSON accepts the numbers of an enum for its names. */
export function roleOf (message: Fields): string | null {
  const role = message.get('role')
  if (typeof role === 'string') return role === 'ROLE_USER' ? 'user' : role === 'ROLE_AGENT' ? 'agent' : role
  return role === 1 ? 'user' : role === 2 ? 'agent' : null
}

/** Returns `{text | data | url | raw, mediaType, filename, metadata}` of a part. A value that nobody has read stays unread. */
export function normalisePart (part: PartView): JsonObject {
  const { fields } = part
  const out: Record<string, unknown> = {}
  const file = fields.get('file')
  if (part.unread !== undefined) copyMember(fields.object, 'data', out, 'data')
  else if (part.isData) out.data = part.data
  else for (const member of ['text', 'url', 'raw'] as const) addText(fields, member, out)
  // 1.0 has no `file` member: the other members are then the content of the part.
  if (isObject(file) && Object.keys(out).length === 0) addFile(file, out)
  addText(fields, 'filename', out)
  const stated = part.mediaTypes[0]
  if (stated !== undefined) out.mediaType = stated.text
  else if (!part.isData) addText(fields, 'mediaType', out)
  const metadata = fields.get('metadata')
  if (isObject(metadata)) out.metadata = metadata
  return out
}

function addText (fields: Fields, name: string, out: Record<string, unknown>): void {
  const key = fields.key(name)
  if (key !== null) copyMember(fields.object, key, out, name)
}

const FILE_MEMBERS = [
  ['uri', 'url'],
  ['fileWithUri', 'url'],
  ['file_with_uri', 'url'],
  ['bytes', 'raw'],
  ['fileWithBytes', 'raw'],
  ['file_with_bytes', 'raw'],
  ['name', 'filename'],
  ['mimeType', 'mediaType'],
  ['mime_type', 'mediaType']
] as const

/** Adds the members of a 0.3 FilePart, which 1.0 moved to the part itself. */
function addFile (file: JsonObject, out: Record<string, unknown>): void {
  for (const [theirs, ours] of FILE_MEMBERS) {
    if (!Object.hasOwn(out, ours)) copyMember(file, theirs, out, ours)
  }
}
