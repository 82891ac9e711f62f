/**
 * A message in the wire form of one version and binding.
 * 0.3 JSON-RPC: types.ts 0.3.0. 0.3 HTTP+JSON: ProtoJSON of its proto, as the SDKs send it. 1.0: one form for both bindings.
 */
import type { Binding, Version } from '../versions.js'
import type { JsonMap, MessageSpec, PartSpec } from './wire-spec.js'

const MESSAGE_ID = 'a2a-gateway-test'

/**
 * Builds a message.
 * @param author role when the message names none
 */
export function wireMessage (spec: MessageSpec, version: Version, binding: Binding, author: 'user' | 'agent' = 'user'): JsonMap {
  const rpc03 = version === '0.3' && binding === 'JSONRPC'
  const { messageId = MESSAGE_ID, role = author, parts, ...rest } = spec
  return {
    ...(rpc03 ? { kind: 'message' } : {}),
    messageId,
    role: rpc03 ? role : `ROLE_${role.toUpperCase()}`,
    [version === '0.3' && !rpc03 ? 'content' : 'parts']: wireParts(parts, version, binding),
    ...rest
  }
}

export function wireParts (parts: readonly PartSpec[], version: Version, binding: Binding): JsonMap[] {
  return parts.map(part => version === '1.0' ? { ...part } : binding === 'JSONRPC' ? rpcPart(part) : protoPart(part))
}

/** `{kind, text|data|file, metadata}` */
function rpcPart (part: PartSpec): JsonMap {
  if ('data' in part) return { kind: 'data', data: part.data, ...tagged(part) }
  if (part.text !== undefined) return { kind: 'text', text: part.text, ...tagged(part) }
  const { raw, url, filename, mediaType, metadata } = part
  return {
    kind: 'file',
    file: defined({ name: filename, mimeType: mediaType, bytes: raw, uri: url }),
    ...defined({ metadata })
  }
}

/**
 * Builds a part: `{text}`, `{data: {data}}`, `{file: {fileWithUri|fileWithBytes}}`. The metadata has the place that it has in the Python
 * SDK's proto (the first proto had no metadata).
 */
function protoPart (part: PartSpec): JsonMap {
  if ('data' in part) return { data: { data: part.data }, ...tagged(part) }
  if (part.text !== undefined) return { text: part.text, ...tagged(part) }
  const { raw, url, filename, mediaType, metadata } = part
  return {
    file: defined({ fileWithUri: url, fileWithBytes: raw, mimeType: mediaType, name: filename }),
    ...defined({ metadata })
  }
}

/** Adds media type and metadata. Version 0.3 has no media type on a part; by convention it is in `metadata.mimeType`. */
function tagged ({ mediaType, metadata }: PartSpec): JsonMap {
  return mediaType === undefined ? defined({ metadata }) : { metadata: { ...metadata, mimeType: mediaType } }
}

/** Removes members that are undefined. */
export function defined (object: JsonMap): JsonMap {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}
