/** Builds a message in the form of a protocol version, in the envelope of a binding. */

/**
 * Builds the body of a call.
 * @param {{version: string, binding: string, operation: string}} call
 * @param {{text: string, parts: {data: unknown, mediaType: string | null}[], messageMetadata: object, metadata: object}} content
 */
export function bodyFor ({ version, binding, operation }, { text, parts, messageMetadata, metadata }) {
  const old = version === '0.3'
  const texts = text === '' ? [] : [old ? { kind: 'text', text } : { text }]
  const datas = parts.map(({ data, mediaType }) => old
    ? { kind: 'data', data, ...(mediaType === null ? {} : { metadata: { mimeType: mediaType } }) }
    : { data, ...(mediaType === null ? {} : { mediaType }) })
  const message = {
    ...(old ? { kind: 'message' } : {}),
    messageId: 'console-1',
    role: old ? 'user' : 'ROLE_USER',
    parts: [...texts, ...datas],
    ...(Object.keys(messageMetadata).length === 0 ? {} : { metadata: messageMetadata })
  }
  const params = { message, ...(Object.keys(metadata).length === 0 ? {} : { metadata }) }
  if (binding !== 'JSONRPC') return params
  const method = old
    ? operation === 'send'
      ? 'message/send'
      : 'message/stream'
    : operation === 'send'
      ? 'SendMessage'
      : 'SendStreamingMessage'
  return { jsonrpc: '2.0', id: 1, method, params }
}
