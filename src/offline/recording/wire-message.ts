/**
 * A message in the wire form of one version and binding.
 * 0.3 JSON-RPC: types.ts 0.3.0. 0.3 HTTP+JSON: ProtoJSON of its proto, as the SDKs send it. 1.0: one form for both bindings.
 */
import type { Binding, Version } from '../../a2a/versions.js'
import type { JsonMap, MessageSpec, PartSpec } from '../policy-test/test-model.js'

const MESSAGE_ID = 'a2a-gateway-test'

/** @param author where the message names no role */
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

/** `{text}`, `{data: {data}}`, `{file: {fileWithUri|fileWithBytes}}`; metadata where the Python SDK's proto has it (the first had none). */
function protoPart (part: PartSpec): JsonMap {
  if ('data' in part) return { data: { data: part.data }, ...tagged(part) }
  if (part.text !== undefined) return { text: part.text, ...tagged(part) }
  const { raw, url, filename, mediaType, metadata } = part
  return {
    file: defined({ fileWithUri: url, fileWithBytes: raw, mimeType: mediaType, name: filename }),
    ...defined({ metadata })
  }
}

/** 0.3 has no media type on a part: `metadata.mimeType` is its place by convention. */
function tagged ({ mediaType, metadata }: PartSpec): JsonMap {
  return mediaType === undefined ? defined({ metadata }) : { metadata: { ...metadata, mimeType: mediaType } }
}

/** Without members that are undefined. */
export function defined (object: JsonMap): JsonMap {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}
