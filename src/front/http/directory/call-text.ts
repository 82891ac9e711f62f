/** A first call of an agent as a curl command, from its entry in the directory. */
import type { SecurityScheme } from '#a2a/card/security.js'
import type { DirectoryEntry, DirectoryInterface } from './entry.js'

/** Bindings and versions that curl can call, the best one first. */
const CALLABLE = ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3']

/** @returns null for an agent without an interface for JSON over HTTP */
export function callText (entry: DirectoryEntry): string | null {
  const best = CALLABLE.map(one => entry.interfaces.find(({ binding, version }) => `${binding} ${version}` === one))
  const found = best.find(one => one !== undefined)
  if (found === undefined) return null
  const old = found.version === '0.3'
  const text = entry.skills.flatMap(({ examples }) => examples)[0] ?? 'Hello'
  const { url, body } = messageOf(found, text)
  const lines = [
    `curl ${quoted(url)}`,
    "-H 'Content-Type: application/json'",
    ...old ? [] : ["-H 'A2A-Version: 1.0'"],
    ...entry.extensions
      .filter(({ required }) => required)
      .map(({ uri }) => `-H ${quoted(`${old ? 'X-A2A-Extensions' : 'A2A-Extensions'}: ${uri}`)}`),
    ...credentialsOf(entry),
    `-d ${quoted(visible(JSON.stringify(body)))}`
  ]
  return lines.join(' \\\n  ')
}

function messageOf ({ binding, version, url, tenant }: DirectoryInterface, text: string): { readonly url: string, readonly body: object } {
  const old = version === '0.3'
  const within = tenant === null ? {} : { tenant }
  if (binding === 'JSONRPC') {
    const message = old
      ? { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'text', text }] }
      : { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }] }
    return { url, body: { jsonrpc: '2.0', id: 1, method: old ? 'message/send' : 'SendMessage', params: { ...within, message } } }
  }
  const base = url.replace(/\/$/, '')
  if (old) return { url: `${base}/v1/message:send`, body: { message: { messageId: 'm1', role: 'ROLE_USER', content: [{ text }] } } }
  const prefix = tenant === null ? '' : `/${encodeURIComponent(tenant)}`
  return { url: `${base}${prefix}/message:send`, body: { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }] } } }
}

/** Options of curl for the first alternative of the card, with variables of the shell for the secrets. */
function credentialsOf ({ security: { schemes, alternatives } }: DirectoryEntry): string[] {
  if (alternatives.some(names => names.length === 0)) return []
  return (alternatives[0] ?? []).flatMap(name => {
    const scheme = schemes[name]
    return scheme === undefined ? [] : optionsOf(scheme)
  })
}

function optionsOf (scheme: SecurityScheme): string[] {
  switch (scheme.kind) {
    case 'apiKey':
      if (!/^[\w-]{1,100}$/.test(scheme.name)) return []
      return scheme.in === 'header' ? [`-H "${scheme.name}: $API_KEY"`] : scheme.in === 'cookie' ? [`-b "${scheme.name}=$API_KEY"`] : []
    case 'http':
      return scheme.scheme === 'basic' ? ['-u "$USERNAME:$PASSWORD"'] : ['-H "Authorization: Bearer $TOKEN"']
    case 'mutualTLS':
      return ['--cert client.pem --key client.key']
    default:
      return ['-H "Authorization: Bearer $TOKEN"']
  }
}

/** A word of the shell. Texts of a card must not end the quotation. */
function quoted (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Escapes control characters, and characters that change the order or hide the presence of others. @param json text of JSON */
function visible (json: string): string {
  return json.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, one =>
    Array.from({ length: one.length }, (_, i) => `\\u${one.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''))
}
